/** Real runs of an engine that computes wrongly: nothing unsound is written, and what was sound goes on. */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { constant, outputOf, type OpNode, type Value, type VjpRule } from '#engine/graph/value.ts'
import { mul, sub } from '#engine/ops/arithmetic.ts'
import { inputOf, onlyCotangent } from '#engine/ops/define.ts'
import { rmsNormOp } from '#engine/ops/normalization.ts'
import { meanLastAxis } from '#engine/ops/reduce.ts'
import type { TokenSequence } from '#engine/policy.ts'
import { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import type { AppError } from '#shared/errors.ts'
import { importAdapter, listAdapters } from '#host/models/adapters.ts'
import { readState, writeState } from '#host/workFolder/checkpointState.ts'
import { loadCheckpoint } from '#host/models/checkpoints.ts'
import { createRunFolder, runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import { proveDevice } from '#host/training/runDevice.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { forkRun } from '#host/runs/runLifecycle.ts'
import { createHostFixture } from '../api/hostFixture.ts'
import { historyOf, learnedBy, starterConfig, tensorsOf } from '../runs/runFixture.ts'
import { eachOf, isWhole, wholeTitle } from '../../sweeps.ts'

const fixture = createHostFixture()
const { host, directory, client } = fixture
const right = rmsNormOp.vjp
const plant = (vjp: typeof right) => Object.assign(rmsNormOp, { vjp })

afterEach(() => void plant(right))
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

/** On a device whose kernel yields the mean where 1/σ belongs. */
const withMean: VjpRule<OpNode> = ({ node, cotangents }) => {
  const dy = onlyCotangent(cotangents)
  const [x, weight] = [inputOf(node, 0), inputOf(node, 1)]
  const wrong = meanLastAxis(x)
  const perRow = mul(mul(wrong, wrong), meanLastAxis(mul(dy, outputOf(node))))
  return [sub(mul(mul(dy, weight), wrong), mul(x, perRow)), mul(dy, mul(x, wrong))]
}

const withNaN: VjpRule<OpNode> = (walk) =>
  (right as VjpRule<OpNode>)(walk).map(
    (gradient: Value | null) => gradient && mul(gradient, constant([NaN], [1], 'float32')),
  )

const config = {
  ...starterConfig,
  steps: 4,
  evaluation: { every: 0, rows: 1 },
  checkpoints: { every: 2, keepLast: 9 },
  device: { threads: 1 },
}

async function train(run: RunFolder, { from = null as string | null, stopAt = Infinity } = {}) {
  const control = createControl()
  const { cache: cacheDirectory } = dataFolders(directory)
  let error: unknown = null
  try {
    const request = { runDirectory: run.directory, cacheDirectory, resumeFrom: from }
    for await (const event of runTraining(request, control))
      if (event.type === 'step' && event.step === stopAt) control.stop()
  } catch (thrown) {
    error = thrown
  }
  host.history.ingest(host.history.add(run))
  return { error, entry: host.store.runs.get(run.id) }
}

const newRun = (changes: object = {}) => createRunFolder(directory, { ...config, ...changes })

/** In the last number of the file. */
function plantNaN(file: string): void {
  const bytes = readFileSync(file)
  bytes.writeFloatLE(NaN, bytes.length - 4)
  writeFileSync(file, bytes)
}

/** Every file of a run that holds tensors. */
const tensorFiles = (run: RunFolder): string[] =>
  readdirSync(run.directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.safetensors'),
  )

/** Learns from another first token than the sampler saw, as a fault of the program would. */
function plantOtherBeginning(): Disposable {
  const changed = (sequences: readonly TokenSequence[]) =>
    sequences.map((sequence) => ({ ...sequence, ids: sequence.ids.with(0, (sequence.ids[0] ?? 0) + 7) }))
  const right = Object.getOwnPropertyDescriptor(OrtPolicy.prototype, 'score')?.value as OrtPolicy['score']
  const planted = vi.spyOn(OrtPolicy.prototype, 'score').mockImplementation(function (
    this: OrtPolicy,
    sequences,
    options,
  ) {
    return right.call(this, changed(sequences), options)
  })
  return {
    [Symbol.dispose]() {
      planted.mockRestore()
    },
  }
}

test('a first token that sampler and learner do not share ends the run, and the device is not said to be the cause', async () => {
  using _planted = plantOtherBeginning()
  const { error } = await train(newRun({ steps: 1 }))
  expect(error).toMatchObject({
    code: 'run/unsound',
    message: expect.stringContaining('sampler and learner disagreed by') as string,
    hint: expect.stringMatching(
      /Either the device computes wrongly or this is a fault in Turnwise/,
    ) as string,
  })
  expect(String((error as AppError).hint)).not.toMatch(/cannot/)
})

describe('a normalisation that yields the mean where 1/σ belongs', () => {
  test('fails the self-test that a device has to pass', async () => {
    plant(withMean)
    const { failures } = await proveDevice({ kind: 'cpu', threads: 1, deviceId: 0 }, directory)
    expect(failures.map(({ name }) => name)).toContain('operators/RmsNorm')
  })

  const runs: readonly (readonly [string, object])[] = [
    ['grpo', {}],
    ['ppo', { algorithm: { id: 'ppo' } }],
    ['sft', { algorithm: { id: 'sft' }, rollout: { promptsPerStep: 8 } }],
  ]
  const isAlways = ([id]: (typeof runs)[number]) => id === 'ppo'
  const ends = '%s: ends the run where nobody asked for the self-test, and writes no adapter'
  eachOf(test, { rows: runs, isAlways }, ends, async (_, changes) => {
    plant(withMean)
    const run = newRun(changes)
    const { error, entry } = await train(run)
    expect(error).toMatchObject({
      code: 'run/unsound',
      message: expect.stringMatching(
        /^In step 1 the .*gradient norm became \d\.\de\+\d\d, more than/,
      ) as string,
    })
    expect(tensorFiles(run)).toEqual([])
    expect(historyOf(run, 'step')).toEqual([])
    expect(entry).toMatchObject({ status: 'failed', error: { code: 'run/unsound' } })
    const { findings } = await client.call('runs.diagnosis', { runId: run.id })
    expect(findings[0]).toMatchObject({
      id: 'diverged',
      words: expect.stringContaining('the update was not applied') as string,
      proposals: [{ lookAt: { kind: 'selftest' } }, { from: 'start' }],
    })
  })

  const sound = 'leaves the last sound checkpoint, from which a right computation goes on to the same bytes'
  test.runIf(isWhole)(wholeTitle(sound), async () => {
    const whole = newRun()
    expect((await train(whole)).error).toBeNull()
    const run = newRun()
    await train(run, { stopAt: 2 })
    const kept = tensorsOf(run, 2)
    const from = resolveResume(directory, run.id).checkpoint!.directory
    plant(withMean)
    expect((await train(run, { from })).error).toMatchObject({
      code: 'run/unsound',
      message: expect.stringMatching(/^In step 3 .* is usual in this run/) as string,
    })
    expect(tensorsOf(run, 2)).toEqual(kept)
    const { findings } = await client.call('runs.diagnosis', { runId: run.id })
    expect(findings[0]?.proposals.at(-1)).toMatchObject({ from: 2 })
    plant(right)
    expect(resolveResume(directory, run.id).checkpoint!.directory).toBe(from)
    expect((await train(run, { from })).error).toBeNull()
    expect(tensorsOf(run, 4)).toEqual(tensorsOf(whole, 4))
    expect(learnedBy(run)).toEqual(learnedBy(whole))
  })
})

describe('NaN', () => {
  test('in every gradient: with skip the adapter stays what it was, and the run says so', async () => {
    plant(withNaN)
    const run = newRun({ optimization: { ...config.optimization, unsoundUpdates: 'skip' } })
    const { error, entry } = await train(run)
    expect(error).toBeNull()
    const [first, last] = [2, 4].map((step) =>
      loadCheckpoint(path.join(runPaths(run.directory).checkpoints, `step-00000${step}`)),
    )
    expect(last!.actor).toEqual(first!.actor)
    expect(last!.optimizer).toMatchObject({ step: 0 })
    expect(last!.trainer).toMatchObject({ updates: 8, updateHistory: { skipped: 8 } })
    expect(historyOf(run, 'warning').map(({ message }) => message)).toContain(
      '2 of 2 updates of step 4 were skipped, and the adapter left unchanged: the gradient became infinite or not a number.',
    )
    expect(entry.finding).toMatchObject({ id: 'updates-skipped', severity: 'problem' })
  })

  test('in an adapter or a checkpoint to begin from is refused before anything is made of it', async () => {
    const parent = newRun({ steps: 2 })
    expect((await train(parent)).error).toBeNull()
    const checkpoint = resolveResume(directory, parent.id).checkpoint!.directory
    const adapter = path.join(directory, 'with-nan')
    cpSync(path.join(checkpoint, 'actor'), adapter, { recursive: true })
    plantNaN(path.join(adapter, 'adapter_model.safetensors'))
    for (const changes of [{ adapter: { initial: adapter } }, { reference: { adapter } }]) {
      const run = newRun(changes)
      expect((await train(run)).error).toMatchObject({
        code: 'adapter/invalid',
        message: expect.stringContaining('that is not a finite number') as string,
      })
      expect(tensorFiles(run)).toEqual([])
    }
    await expect(importAdapter(adapter, 'broken', directory)).rejects.toMatchObject({
      code: 'adapter/invalid',
    })
    expect(listAdapters(directory)).toEqual([])

    const { trainer, optimizerStep, events, reward, metrics } = readState(checkpoint)
    plantNaN(path.join(checkpoint, 'optimizer.safetensors'))
    rmSync(path.join(checkpoint, 'state.json'))
    writeState(checkpoint, { trainer, optimizerStep, events, reward, metrics })
    const fork = { dataDirectory: directory, checkpoint, changes: { steps: 4 }, baseDirectory: directory }
    const before = readdirSync(path.join(directory, 'runs'))
    expect(() => forkRun(fork)).toThrow('optimizer.safetensors holds a value in')
    expect(readdirSync(path.join(directory, 'runs'))).toEqual(before)
    expect((await train(parent, { from: checkpoint })).error).toMatchObject({ code: 'checkpoint/invalid' })
  })

  test('in the answers of a reward is left out; what is written is finite', async () => {
    const file = path.join(directory, 'broken.js')
    writeFileSync(
      file,
      'export default ({ completion }) => (completion.length % 2 ? NaN : completion.length / 6)',
    )
    const run = newRun({ rewards: [{ function: file }], steps: 2 })
    expect((await train(run)).error).toBeNull()
    expect(historyOf(run, 'warning')[0]?.['message']).toMatch(/The reward function “broken” failed on/)
    loadCheckpoint(resolveResume(directory, run.id).checkpoint!.directory)
  })
})
