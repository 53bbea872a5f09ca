import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { readEvents } from '#host/workFolder/eventLog.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { until } from './runFixture.ts'
import { collect, createHostFixture, nextOf, smallConfig } from '../api/hostFixture.ts'

const fixture = createHostFixture()
const { client } = fixture
let runId: string
const followed: OutputOf<Api, 'runs.follow'>[] = []
const measured: OutputOf<Api, 'metrics.follow'>[] = []
const watched: OutputOf<Api, 'runs.watch'>[] = []

/** The run that most tests look at, followed from its first moment. */
beforeAll(async () => {
  const over = new AbortController()
  const watching = (async () => {
    for await (const item of client.follow('runs.watch', undefined, { signal: over.signal }))
      watched.push(item)
  })().catch(() => undefined)
  runId = await fixture.start({ name: 'followed' })
  const measuring = (async () => {
    for await (const item of client.follow('metrics.follow', { runIds: [runId] }, { signal: over.signal }))
      measured.push(item)
  })().catch(() => undefined)
  for await (const item of client.follow('runs.follow', { runId })) {
    followed.push(item)
    if (item.run.status === 'finished') break
  }
  const hasLeft = () => watched.at(-1)?.workers.length === 0
  const isMeasured = () => measured.some(({ columns }) => columns.some(({ steps }) => steps.includes(4)))
  await until(() => hasLeft() && isMeasured())
  over.abort()
  await Promise.all([watching, measuring])
})

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

const logOf = (run: { readonly directory: string }) => readEvents(runPaths(run.directory).events)

describe('a run that is followed live', () => {
  test('tells every event of its log once, in order, and the steps that have samples', async () => {
    const run = await client.call('runs.get', { runId })
    const own = logOf(run).filter(({ type }) => !['step', 'evaluation', 'samples'].includes(type))
    expect(followed.flatMap(({ events }) => events.map(({ event }) => event))).toEqual(own)
    expect(followed.length).toBeGreaterThan(1)
    expect(new Set(followed.flatMap(({ sampleSteps }) => sampleSteps))).toEqual(new Set([0, 1, 2, 3, 4]))
    expect(run).toMatchObject({ status: 'finished', step: 4, steps: 4, name: 'followed' })
    expect(run).toMatchObject({ algorithm: 'grpo', algorithmTitle: 'GRPO' })
  })

  test('is seen by whoever watches all of them', async () => {
    expect(watched[0]).toMatchObject({ isWhole: true, removed: [] })
    const seen = watched.flatMap(({ runs }) => runs).filter(({ id }) => id === runId)
    expect(seen[0]).toMatchObject({ step: 0 })
    expect(seen.at(-1)).toMatchObject({ status: 'finished' })
    expect(watched.some(({ workers }) => workers.some((worker) => worker.runId === runId))).toBe(true)
    expect(watched.at(-1)?.workers).toEqual([])
  })

  test('has the same numbers in its log, series, table and for followers', async () => {
    const log = logOf(await client.call('runs.get', { runId })).filter(({ type }) => type === 'step')
    const rewards = log.map(({ metrics }) => (metrics as Record<string, number>)['reward'])
    const { runs } = await client.call('metrics.series', { runIds: [runId], metric: 'reward' })
    expect(runs[0]?.points.map(({ last }) => last)).toEqual(rewards)
    const table = await client.call('metrics.table', { runId, fromStep: 1 })
    const column = table.metrics.indexOf('reward')
    expect(table.rows.map(({ values }) => values[column])).toEqual(rewards)
    const page = await client.call('metrics.table', { runId, fromStep: 1, limit: 3 })
    expect(page).toMatchObject({ nextStep: 4 })
    const told = measured.flatMap(({ columns }) => columns).filter(({ metric }) => metric === 'reward')
    expect(told.flatMap(({ steps }) => steps)).toEqual([1, 2, 3, 4])
    expect(told.flatMap(({ values }) => values)).toEqual(rewards)
    expect(await client.call('metrics.names', { runIds: [runId] })).toContain('eval_reward')
    expect(await client.call('metrics.latest', { runId })).toMatchObject({ reward: { step: 4 } })
  })

  test('is told on from a cursor, nothing twice', async () => {
    const middle = followed[Math.floor(followed.length / 2)]
    const last = followed.at(-1)
    const again = client.follow('runs.follow', { runId }, { from: middle?.cursor ?? null })
    const value = await nextOf(again)
    await again.return?.()
    const rest = followed.slice(Math.floor(followed.length / 2) + 1).flatMap(({ events }) => events)
    expect(value).toMatchObject({ cursor: last?.cursor, events: rest })
  })

  test('keeps samples with their arrays and texts', async () => {
    const samples = await client.call('samples.list', { runId, source: 'rollout', step: 2 })
    expect(samples).toHaveLength(2)
    const [sample] = samples
    if (sample === undefined) throw new Error('Expected a sample.')
    expect(await client.call('samples.get', { sampleId: sample.id })).toEqual(sample)
    const { texts, ids, logprobs } = await client.call('samples.arrays', { sampleId: sample.id })
    expect(texts.join('')).toContain(sample.completion)
    expect(Buffer.from(ids, 'base64').length).toBe(4 * texts.length)
    expect(Buffer.from(logprobs ?? '', 'base64').length).toBe(4 * (texts.length - 1))

    const { row, messages } = await client.call('samples.origin', { sampleId: sample.id })
    expect(messages).toEqual([{ role: 'user', content: row['prompt'] }])
    const scored = await client.call('samples.scoreText', {
      sampleId: sample.id,
      completion: sample.completion,
    })
    expect(scored).toEqual({ reward: sample.reward, parts: sample.parts, failures: [] })
    const steps = await client.call('samples.steps', { runId, source: 'evaluation' })
    expect(steps.map(({ step }) => step)).toEqual([0, 2, 4])
    const found = await client.call('samples.list', { runId, text: sample.prompt.slice(3, 12).toUpperCase() })
    expect(found.map(({ id }) => id)).toContain(sample.id)
    const high = await client.call('samples.list', { runId, minReward: 0.5, hasFailures: false })
    expect(high.every(({ reward }) => (reward ?? 0) >= 0.5)).toBe(true)
    await expect(client.call('samples.get', { sampleId: 999_999 })).rejects.toThrow(
      'This sample does not exist',
    )
  })

  test('has checkpoints that can be verified, exported, forked and deleted', async () => {
    const list = await client.call('checkpoints.list', { runId })
    expect(list.map(({ step }) => step)).toEqual([2, 4])
    expect(list.filter(({ isBest }) => isBest)).toHaveLength(1)
    expect(await client.call('checkpoints.verify', { runId, step: 4 })).toMatchObject({ problem: null })
    const formats = await client.call('checkpoints.formats', { runId, step: 4 })
    expect(formats.map(({ format, problem }) => [format, problem])).toEqual([
      ['peft', null],
      ['merged', null],
      ['gguf', null],
      ['gguf-model', null],
      ['onnx', null],
    ])
    const out = path.join(fixture.directory, 'exports', 'first')
    const asked = { runId, step: 4, format: 'peft', out } as const
    const hubId = 'someone/base'
    const nowhere = { ...asked, out: path.dirname(path.dirname(import.meta.filename)), hubId }
    await expect(collect(client.stream('checkpoints.export', nowhere))).rejects.toThrow('is not empty')
    expect(await client.call('checkpoints.baseId', { runId, step: 4 })).toBe(null)
    const items = await collect(client.stream('checkpoints.export', { ...asked, hubId }))
    expect(await client.call('checkpoints.baseId', { runId, step: 4 })).toBe(hubId)
    expect(readFileSync(path.join(out, 'README.md'), 'utf8')).toContain(hubId)
    expect(items.at(-1)).toMatchObject({ result: { directory: out, parity: [{ measured: 0 }, {}, {}, {}] } })
    const report = items.at(-1)
    if (report === undefined || !('result' in report)) throw new Error('Expected a report.')
    expect(report.result.parity.map(({ passed }) => passed)).toEqual([true, true, true, true])
    expect(items.slice(0, -1).every((item) => 'progress' in item)).toBe(true)
    await expect(collect(client.stream('checkpoints.export', asked))).rejects.toThrow('is not empty')
    const elsewhere = {
      ...asked,
      out: path.join(fixture.directory, 'exports', 'second'),
      adapterInputs: true,
    }
    await expect(collect(client.stream('checkpoints.export', elsewhere))).rejects.toThrow(
      'Only an ONNX export',
    )

    const { runId: forkId } = await client.call('runs.fork', {
      runId,
      step: 2,
      changes: { 'optimization.learningRate': 0.001 },
    })
    const forked = await fixture.reached(forkId, 'finished', 'failed')
    expect(forked).toMatchObject({ status: 'finished', parentRunId: runId, parentCheckpointStep: 2, step: 4 })
    const family = await client.call('runs.family', { runId: forkId })
    expect(family.map(({ id }) => id)).toEqual([runId, forkId])

    await client.call('checkpoints.delete', { runId, step: 2 })
    expect((await client.call('checkpoints.list', { runId })).map(({ step }) => step)).toEqual([4])
    await expect(client.call('runs.fork', { runId, step: 2 })).rejects.toMatchObject({
      code: 'run/not-found',
    })
    await client.call('runs.delete', { runId: forkId })
    expect(existsSync(forked.directory)).toBe(false)
    await expect(client.call('runs.get', { runId: forkId })).rejects.toMatchObject({ code: 'run/not-found' })
  })

  test('shows the code that a fork or an evaluation of it would read', async () => {
    const file = fixture.write('tools.json', '{"mcpServers":{"far":{"url":"https://far.example/mcp"}}}')
    const environment = { function: file }
    const subject = { runId, step: 4 }
    for (const asked of [
      { fork: { ...subject, changes: { environment } } },
      { evaluation: { subject, config: { environment } } },
    ])
      expect(await client.call('python.review', asked)).toMatchObject([
        { interpreter: 'https://far.example' },
      ])
    for (const asked of [{ fork: { ...subject, changes: { seed: 1 } } }, { evaluation: { subject } }])
      expect(await client.call('python.review', asked)).toEqual([])
  })

  test('can be described, found and taken along as one file', async () => {
    await client.call('runs.setTags', { runId, tags: ['good', 'first'] })
    await client.call('runs.setNotes', { runId, notes: 'It learned.' })
    await client.call('runs.rename', { runId, name: 'renamed' })
    expect(await client.call('runs.tags')).toEqual([
      { tag: 'first', runs: 1 },
      { tag: 'good', runs: 1 },
    ])
    const found = await client.call('runs.list', { text: 'LEARNED', tag: 'good' })
    expect(found).toMatchObject([{ id: runId, name: 'renamed' }])
    const file = path.join(fixture.directory, 'exports', 'bundle.json')
    await client.call('runs.exportBundle', { runId, path: file })
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      run: { id: runId, notes: 'It learned.' },
      config: { seed: 7 },
      manifest: { app: expect.stringContaining('turnwise') as string },
      metrics: { rows: expect.any(Array) as unknown },
    })

    // Taken into the history of another machine.
    await using other = createHostFixture()
    const source = { path: file }
    expect(await other.client.call('runs.importBundle', { source })).toEqual({ runId })
    const [imported, original] = await Promise.all(
      [other.client, client].map((at) => at.call('runs.get', { runId })),
    )
    const { step, steps, reward, rewardBefore, rewardAfter, name, notes, createdAt, config } = original ?? {}
    const same = { step, steps, reward, rewardBefore, rewardAfter, name, notes, createdAt }
    expect(imported).toMatchObject({ ...same, status: 'finished', tags: ['first', 'good', 'imported'] })
    expect(JSON.parse(imported?.config ?? '')).toEqual(JSON.parse(config ?? ''))
    const tables = await Promise.all([other.client, client].map((at) => at.call('metrics.table', { runId })))
    expect(tables[0]).toEqual(tables[1])
    expect(tables[0]?.rows.length).toBe(5)
    expect(await other.client.call('checkpoints.list', { runId })).toEqual([])
    // That they were written is part of the history; so is that they are not here.
    const told = (await other.client.call('runs.events', { runId })).map(({ event }) => event)
    const saved = told.flatMap(({ type, directory }) => (type === 'checkpoint-saved' ? [directory] : []))
    expect(saved.length).toBeGreaterThan(0)
    expect(told.findLast(({ type }) => type === 'checkpoints-removed')?.['directories']).toEqual(saved)
    await expect(other.client.call('runs.resume', { runId })).rejects.toMatchObject({ code: 'api/refused' })
    await expect(other.client.call('runs.importBundle', { source })).rejects.toMatchObject({
      code: 'api/refused',
    })
    const wrong = other.write('wrong.json', '{"format":"turnwise-run-1","run":{"id":"../../x"}}')
    await expect(other.client.call('runs.importBundle', { source: { path: wrong } })).rejects.toMatchObject({
      code: 'data/invalid',
    })
    await other.client.call('runs.delete', { runId })
    expect(await other.client.call('runs.list', {})).toEqual([])
    expect(other.faults).toEqual([])

    const files = await client.call('runs.files', { runId })
    expect(files.map((each) => path.basename(each.path))).toContain('events.jsonl')
    expect(await client.call('runs.log', { runId })).toBe('')
    await expect(client.call('runs.resume', { runId })).rejects.toMatchObject({ code: 'api/refused' })
  })
})

test('a run is paused, goes on, is stopped, killed and resumed, and ends with the same numbers', async () => {
  const run = await fixture.start({ steps: 6, checkpoints: { every: 3 } })
  await client.call('runs.pause', { runId: run })
  const paused = await fixture.reached(run, 'paused')
  await setTimeout(300)
  expect(await client.call('runs.get', { runId: run })).toMatchObject({ status: 'paused', step: paused.step })
  expect(await client.call('runs.workers')).toMatchObject([{ runId: run, activity: 'paused' }])
  await expect(client.call('runs.delete', { runId: run })).rejects.toMatchObject({ code: 'run/busy' })
  await expect(client.call('runs.resume', { runId: run })).rejects.toMatchObject({ code: 'run/busy' })
  await client.call('runs.unpause', { runId: run })
  await client.call('runs.stop', { runId: run })
  const stopped = await client.call('runs.get', { runId: run })
  expect(stopped).toMatchObject({ status: 'stopped' })
  expect(stopped.step).toBeLessThan(6)
  expect(await client.call('runs.resume', { runId: run })).toEqual({ step: stopped.step, fallBack: null })
  await fixture.reached(run, 'running')
  await client.call('runs.kill', { runId: run })
  expect(await client.call('runs.get', { runId: run })).toMatchObject({ status: 'interrupted' })
  await client.call('runs.resume', { runId: run })
  expect(await fixture.reached(run, 'finished', 'failed')).toMatchObject({ status: 'finished', step: 6 })
  const { rows, metrics } = await client.call('metrics.table', { runId: run })
  expect(rows.map(({ step }) => step)).toEqual([0, 1, 2, 3, 4, 5, 6])
  expect(metrics).toContain('grad_norm')
})

test('settings are checked without starting anything', async () => {
  const before = await client.call('runs.list', {})
  expect(await client.call('runs.check', { config: smallConfig })).toMatchObject({
    config: { seed: 7, passes: 1 },
    steps: 4,
  })
  expect(await client.call('runs.check', { config: { ...smallConfig, steps: 0 } })).toMatchObject({
    problems: [{ path: 'steps', code: 'range', message: 'expected at least 1, got 0.', stage: null }],
  })
  const wrong = { ...smallConfig, rewards: [{ function: 'no-such' }] }
  await expect(client.call('runs.start', { config: wrong })).rejects.toMatchObject({ code: 'config/invalid' })
  expect(await client.call('runs.list', {})).toHaveLength(before.length)
})

test('the run that comes with the program can be started as it is and told from the others', async () => {
  const { config, tag } = await client.call('runs.sample')
  expect(await client.call('runs.check', { config })).toMatchObject({ steps: 30, config: { seed: 1 } })
  const { runId: sample } = await client.call('runs.start', { config: { ...config, steps: 1 }, tags: [tag] })
  await fixture.reached(sample, 'finished')
  const tagged = await client.call('runs.list', { tag })
  expect(tagged).toMatchObject([
    { id: sample, name: 'Demo', tags: ['sample'], rewardAfter: expect.any(Number) as number },
  ])
  await client.call('runs.delete', { runId: sample })
  expect(await client.call('runs.list', { tag })).toEqual([])
})

test('no service answered otherwise than its contract says', () => {
  expect(fixture.faults).toEqual([])
})
