/** Workflows in the library, and episodes that are played on one row. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { InputOf, OutputOf } from '#shared/api/contract.ts'
import { unpackFloats, unpackInts } from '#shared/packedArray.ts'
import { dataFolders, resourcesDirectory } from '#host/dataDirectory.ts'
import { createHostFixture } from '../api/hostFixture.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

const fixture = createHostFixture()
const { client } = fixture
afterAll(async () => {
  expect(fixture.faults).toEqual([])
  await fixture[Symbol.asyncDispose]()
})

type Request = InputOf<Api, 'workflows.try'>
type Item = OutputOf<Api, 'workflows.try'>

const gallery = (id: string) => ({
  language: 'ts' as const,
  code: readFileSync(path.join(resourcesDirectory, 'workflows', `${id}.ts`), 'utf8'),
})
const written = (body: string) => ({
  language: 'js' as const,
  code: `export default defineWorkflow({\n  async episode({ prompt, row, engine, tools, log }) {\n    ${body}\n  } })`,
})

const usual = {
  candidate: { model: 'starter' },
  on: { row: { prompt: 'Add 3 and 4.', answer: '7' } },
  config: {
    data: { prompt: { column: 'prompt' } },
    rewards: [{ function: 'starter-correct' }],
    rollout: { maxNewTokens: 8 },
    device: { threads: 1 },
  },
}

async function played(request: Partial<Request> & Pick<Request, 'code'>): Promise<Item[]> {
  const items: Item[] = []
  for await (const item of client.stream('workflows.try', { ...usual, ...request })) items.push(item)
  return items
}

const of = <Type extends Item['type']>(items: readonly Item[], type: Type) =>
  items.filter((item): item is Extract<Item, { type: Type }> => item.type === type)

const endOf = (items: readonly Item[]) => of(items, 'end')[0]!

describe('the library', () => {
  const kept = 'has the gallery, keeps copies with versions, and knows the runs that use them'
  test.runIf(isWhole)(wholeTitle(kept), async () => {
    const entries = (await client.call('rewards.gallery')).filter(({ kind }) => kind === 'workflow')
    expect(entries).toHaveLength(7)
    const { id, language, code } = entries.find(({ id }) => id === 'single-turn')!
    const own = await client.call('rewards.create', { kind: 'workflow', name: 'Mine' })
    const save = (text: string) =>
      client.call('rewards.save', { rewardId: own.id, language: language!, code: text })
    const first = await save(code!)
    await save(`${code!}// changed\n`)
    expect(await client.call('rewards.versions', { rewardId: own.id })).toHaveLength(2)
    expect(await client.call('rewards.list', { kind: 'workflow' })).toMatchObject([
      { name: 'Mine', versions: 2 },
    ])
    expect(await client.call('rewards.list', { kind: 'reward' })).toEqual([])
    expect(await client.call('rewards.usedBy', { rewardId: own.id })).toEqual([])
    const runId = await fixture.start({
      rollout: { workflow: { function: first.file }, promptsPerStep: 2, groupSize: 2, maxNewTokens: 4 },
      steps: 1,
    })
    const staged = await fixture.start({
      rollout: { promptsPerStep: 2, groupSize: 2, maxNewTokens: 4 },
      stages: [{ steps: 1, rollout: { workflow: { function: first.file } } }],
      steps: null,
    })
    await fixture.reached(runId, 'finished')
    await fixture.reached(staged, 'finished')
    const uses = await client.call('rewards.usedBy', { rewardId: own.id })
    expect(uses).toHaveLength(2)
    expect(uses).toEqual(
      expect.arrayContaining([runId, staged].map((run) => ({ runId: run, version: first.hash }))),
    )
    expect(id).toBe('single-turn')
    await fixture.left()
  })

  test('tells what code is', async () => {
    const check = (code: Request['code']) => client.call('rewards.check', { code })
    expect(await check(gallery('tree'))).toMatchObject({
      kind: 'workflow',
      settings: { branches: 2, depth: 2 },
    })
    expect(await check(written('return'))).toMatchObject({ kind: 'workflow', settings: {} })
    expect(await check({ language: 'js', code: 'export default (' })).toMatchObject({ problem: { line: 1 } })
  })
})

describe('an episode is told request by request', () => {
  test('what the policy reads, what it answers with which log-probabilities, and the trajectory', async () => {
    const items = await played({ code: gallery('single-turn') })
    expect(items.map(({ type }) => type)).toEqual(['request', 'prompt', 'completions', 'end'])
    const [request] = of(items, 'request')
    expect(request).toMatchObject({ number: 0, round: 1, kind: 'generate', said: {} })
    const [prompt] = of(items, 'prompt')
    expect(prompt!.tokens.texts.join('')).toBe('Add 3 and 4.')
    expect(prompt!.sampling).toMatchObject({ greedy: false, maxNewTokens: 8 })
    const [completion] = of(items, 'completions')[0]!.completions
    const [ids, logprobs] = [unpackInts(completion!.tokens.ids), unpackFloats(completion!.logprobs)]
    expect(ids.length).toBeGreaterThan(0)
    expect(logprobs).toHaveLength(ids.length)
    expect(logprobs.every((each) => each <= 0)).toBe(true)
    const { end, failure, rounds, requests, trajectories } = endOf(items)
    expect({ end, failure, rounds, requests }).toEqual({
      end: 'returned',
      failure: null,
      rounds: 1,
      requests: 1,
    })
    const [trajectory] = trajectories
    expect(trajectory!.arrays.texts.join('')).toBe('Add 3 and 4.' + completion!.tokens.texts.join(''))
    const mask = unpackFloats(trajectory!.arrays.actionMask)
    expect(mask.reduce((sum, each) => sum + each, 0)).toBe(ids.length)
    const recorded = unpackFloats(trajectory!.arrays.behaviorLogprobs!).filter((_, t) => mask[t] === 1)
    expect([...recorded]).toEqual([...logprobs])
    // Nobody but the reward function judged it.
    expect(trajectory!.parts).toHaveProperty('starter-correct')
    expect(trajectory!.reward).toBe(trajectory!.parts['starter-correct'])
    const rewards = unpackFloats(trajectory!.arrays.rewards!)
    expect([...rewards]).toEqual([...mask].map((on) => on * trajectory!.reward!))
  })

  const together = 'requests of a round together, tools with their answers, rewards by turn, groups'
  test.runIf(isWhole)(wholeTitle(together), async () => {
    const items = await played({ code: gallery('tree') })
    const requests = of(items, 'request')
    expect(requests.map(({ kind, round }) => `${kind} ${String(round)}`)).toEqual([
      ...['generate 1', 'reply 2', 'reply 2', 'generate 3', 'generate 3'],
      ...Array.from({ length: 4 }, () => 'rewards 4'),
    ])
    const [reply] = of(items, 'answer')
    expect(reply!.tokens!.texts.join('')).toContain('Are you sure? Answer again.')
    expect(requests[1]!.tokens!.texts.join('')).toMatch(/^Add 3 and 4\./)
    const { trajectories } = endOf(items)
    expect(trajectories.map(({ group }) => group)).toEqual([1, 1, 2, 2])
    const settled = await played({ code: gallery('tree'), settings: { branches: 3, depth: 1 } })
    expect(endOf(settled).trajectories).toHaveLength(3)
  })

  test.runIf(isWhole)(wholeTitle('token and turn rewards are laid on the tokens'), async () => {
    const turns = await played({
      code: written(`const a = await engine.generate({ ids: prompt.ids, maxNewTokens: 2 })
        const next = await tools.reply(a.allIds, 'Again')
        const b = await engine.generate({ ids: next.ids, maxNewTokens: 2 })
        return { ids: b.allIds, turnRewards: [0.25, -1],
          actions: [[prompt.ids.length, a.allIds.length], [next.ids.length, b.allIds.length]] }`),
    })
    const rewards = unpackFloats(endOf(turns).trajectories[0]!.arrays.rewards!)
    expect(new Set(rewards)).toEqual(new Set([0.25, 0, -1]))
    expect(endOf(turns).trajectories[0]).toMatchObject({ reward: -0.75, turnRewards: [0.25, -1] })
    const tokens = await played({
      code: written(`const a = await engine.generate({ ids: prompt.ids })
        return { ids: a.allIds, actions: a.actionMask, tokenRewards: a.actionMask.map((on, i) => on * i) }`),
    })
    const [own] = endOf(tokens).trajectories
    const mask = unpackFloats(own!.arrays.actionMask)
    expect([...unpackFloats(own!.arrays.rewards!)]).toEqual([...mask].map((on, t) => on * (t + 1)))
  })

  test('prints, columns, metrics, settings of the sampler, and evaluation', async () => {
    const code = written(`console.log('first')
      const a = await engine.generate({ messages: [{ role: 'user', content: row.prompt }], temperature: 0.5 })
      console.log('then', a.text.length)
      log.column('said', a.text); log.metric('size', 2)
      return { ids: a.allIds, actions: a.actionMask, reward: 1, baseline: 0.5 }`)
    const items = await played({ code })
    // Every run of the code prints again what it printed before; that is told once.
    expect(of(items, 'printed').map(({ lines }) => lines)).toEqual([
      ['first'],
      [expect.stringMatching(/^then \d/)],
    ])
    const [request] = of(items, 'request')
    expect(request!.said).toMatchObject({
      messages: [{ role: 'user', content: 'Add 3 and 4.' }],
      temperature: 0.5,
    })
    expect(of(items, 'prompt')[0]!.tokens.texts.join('')).toContain('<|user|>')
    expect(of(items, 'prompt')[0]!.sampling).toMatchObject({ temperature: 0.5 })
    expect(endOf(items).trajectories).toMatchObject([{ reward: 1, baseline: 0.5, metrics: { size: 2 } }])
    const greedy = await played({ code: gallery('single-turn'), isEvaluation: true })
    expect(of(greedy, 'prompt')[0]!.sampling).toMatchObject({ greedy: true })
  })

  test('an environment is played', async () => {
    const config = { ...usual.config, rewards: [], environment: { function: 'number-guessing' } }
    const items = await played({ code: gallery('environment'), on: { row: {} }, config })
    const kinds = of(items, 'request').map(({ kind }) => kind)
    expect(kinds.slice(0, 3)).toEqual(['reset', 'generate', 'step'])
    expect(endOf(items).trajectories[0]!.turnRewards.length).toBeGreaterThan(0)
  })
})

describe('the same input is the same episode', () => {
  test('with its seed, and another one with another', async () => {
    const [one, again] = [
      await played({ code: gallery('best-of-n') }),
      await played({ code: gallery('best-of-n') }),
    ]
    expect(again).toEqual(one)
    const config = { ...usual.config, seed: 7 }
    expect(await played({ code: gallery('best-of-n'), config })).not.toEqual(one)
  })

  test.runIf(isWhole)(wholeTitle('as training plays it in its first step'), async () => {
    const file = fixture.write('rows.jsonl', '{"prompt": "Add 3 and 4.", "answer": "7"}\n')
    const code = gallery('single-turn')
    const own = await client.call('rewards.create', { kind: 'workflow', name: 'One turn' })
    const version = await client.call('rewards.save', { rewardId: own.id, ...code })
    const rollout = { maxNewTokens: 8, promptsPerStep: 1, groupSize: 4, workflow: { function: version.file } }
    const runId = await fixture.start({
      data: { train: file, heldOut: null, prompt: { column: 'prompt' } },
      rollout,
      steps: 1,
      seed: 42,
      evaluation: { every: 0 },
    })
    await fixture.reached(runId, 'finished')
    const samples = await client.call('samples.list', { runId, source: 'rollout' })
    const first = samples.find(({ position }) => position === 0)
    const items = await played({ code: { rewardId: own.id, version: version.hash } })
    expect(of(items, 'completions')[0]!.completions[0]!.text).toBe(first!.completion)
    await fixture.left()
  })
})

describe('what goes wrong is a sentence', () => {
  const failure = async (body: string) => endOf(await played({ code: written(body) }))

  test('of the episode, with the requests before it', async () => {
    const items = await played({
      code: written(
        `const ids = tools.encode('a'); if (tools.decode(ids) !== 'a') return null; await tools.rewards([{ completion: 'a' }])\n    await engine.generate({ ids: prompt.ids }); null.x`,
      ),
    })
    expect(of(items, 'request')).toHaveLength(2)
    expect(of(items, 'failed')).toMatchObject([{ line: 4 }])
    expect(endOf(items)).toMatchObject({ end: 'failed', trajectories: [] })
    expect(endOf(items).failure).toMatch(/\(line 4\)$/)
    expect((await failure('for (;;);')).failure).toContain('1000 ms')
    expect((await failure('return { ids: [5, 6], actions: [0, 1] }')).failure).toContain(
      'did not generate them',
    )
    expect((await failure('await tools.environment.reset()')).end).toBe('failed')
    expect(await failure('return null')).toMatchObject({ end: 'rejected', failure: null })
  })

  test('of the code, the row, the model and the settings', async () => {
    const refused = (request: Partial<Request>) => played({ code: gallery('single-turn'), ...request })
    await expect(refused({ code: { language: 'js', code: 'export default () => 1' } })).rejects.toThrow(
      'not a workflow',
    )
    await expect(refused({ on: { row: {} } })).rejects.toThrow('column “prompt”')
    await expect(refused({ candidate: { model: 'nobody' } })).rejects.toThrow('There is no model “nobody”')
    await expect(refused({ code: gallery('tree'), settings: { depht: 2 } })).rejects.toThrow('depht')
    await expect(refused({ config: { ...usual.config, rollout: { temperatur: 1 } } })).rejects.toThrow(
      'temperatur',
    )
    await expect(
      refused({ config: { ...usual.config, rewards: [{ function: 'no-such-reward' }] } }),
    ).rejects.toThrow('no-such-reward')
  })
})

test('leaving ends an episode that would go on for long, and leaves nothing behind', async () => {
  const controller = new AbortController()
  const endless = written(`for (let ids = prompt.ids;;) {
      const a = await engine.generate({ ids, maxNewTokens: 1 }); ids = prompt.ids }`)
  let seen = 0
  const reading = (async () => {
    const request = { ...usual, code: endless }
    for await (const _ of client.stream('workflows.try', request, { signal: controller.signal }))
      if (++seen === 6) controller.abort()
  })()
  await expect(reading).rejects.toThrow()
  expect(seen).toBeLessThan(20)
  const leftovers = () =>
    readdirSync(dataFolders(fixture.directory).cache).filter((name) => name.includes('workflow'))
  await expect.poll(leftovers).toEqual([])
})
