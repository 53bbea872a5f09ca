/** Evaluations by a workflow: of a run that was trained with one, and of a model alone. */
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Api } from '#shared/api/api.ts'
import type { InputOf, OutputOf } from '#shared/api/contract.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { createHostFixture, smallConfig } from '../api/hostFixture.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

const fixture = createHostFixture()
const { client } = fixture

afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
  expect(fixture.faults).toEqual([])
})

type Request = InputOf<Api, 'evaluations.start'>
type Entry = OutputOf<Api, 'evaluations.get'>

async function evaluated(request: Request): Promise<Entry> {
  const { id } = await client.call('evaluations.start', request)
  for await (const _ of client.follow('evaluations.watch')) {
    const entry = await client.call('evaluations.get', { id })
    if (entry.status !== 'waiting' && entry.status !== 'running') return entry
  }
  throw new Error('The feed ended.')
}

const promptsOf = async ({ id }: Entry) => (await client.call('evaluations.prompts', { id })).prompts

const gallery = (name: string) => path.join(resourcesDirectory, 'workflows', `${name}.ts`)

const by = (file: string, settings: Record<string, number> = {}) => ({
  rollout: { ...smallConfig.rollout, workflow: { function: file, settings } },
})

/** Two completions of a prompt, each a trajectory that earns so much. */
const paying = (reward: number) => `export default defineWorkflow({
  settings: { more: 0 },
  async episode({ prompt, engine, settings }) {
    const answers = await engine.generate({ ids: prompt.ids, samples: 2 })
    return answers.map(({ allIds, actionMask }) => ({
      ids: allIds, actions: actionMask, reward: ${reward} + settings.more, metrics: { length: allIds.length },
    }))
  },
})`

const started = async (config: Parameters<typeof fixture.start>[0]) => {
  const runId = await fixture.start({ steps: 1, evaluation: { every: 1 }, ...config })
  const { rewardAfter, error } = await fixture.reached(runId, 'finished', 'failed')
  expect(error).toBeNull()
  return { runId, rewardAfter }
}

test('a checkpoint is played by the workflow that its run learned with, as the run measured it', async () => {
  const { runId, rewardAfter } = await started(by(gallery('single-turn')))
  const own = await evaluated({ subject: { runId, step: 1 } })
  expect(own).toMatchObject({ status: 'finished', greedy: true, error: null })
  expect(own.config.rollout.workflow?.function).toBe(gallery('single-turn'))
  expect(own.summary?.reward?.value).toBeCloseTo(rewardAfter ?? NaN, 9)
  const prompts = await promptsOf(own)
  expect(prompts.flatMap(({ samples }) => samples.map(({ turns }) => turns))).toEqual(prompts.map(() => 1))

  // Answering without it comes to the same completions, but is another evaluation.
  const plain = await evaluated({
    subject: { runId, step: 1 },
    config: { rollout: { ...smallConfig.rollout, workflow: null } },
  })
  expect(plain.judge).not.toBe(own.judge)
  const compared = await client.call('evaluations.compare', { a: plain.id, b: own.id })
  expect(compared).toMatchObject({ verdict: 'refused' })
  expect(compared.words).toContain('workflows')
})

test('every trajectory of an episode is a sample, with what it earned and logged', async () => {
  const file = fixture.write('paying.js', paying(0.25))
  const rows = fixture.write(
    'sums.jsonl',
    '{"prompt":"Please add 1 and 2"}\n{"prompt":"Please add 3 and 4"}\n',
  )
  const request: Request = {
    subject: { model: 'starter', adapter: null },
    config: {
      data: { train: rows },
      ...by(file, { more: 0.5 }),
    },
    samples: 3,
    passAt: 0.75,
  }
  const first = await evaluated(request)
  expect(first).toMatchObject({ status: 'finished', error: null, done: 2 })
  expect(first.summary).toMatchObject({ prompts: 2, samples: 12, turns: 1, passRule: 0.75 })
  expect(first.summary?.reward).toEqual({ value: 0.75, interval: null })
  expect(first.summary?.pass.map(({ k, value }) => [k, value])).toEqual([
    [1, 1],
    [2, 1],
    [3, 1],
  ])
  const prompts = await promptsOf(first)
  const lengths = prompts.flatMap(({ samples }) => samples.map(({ metrics }) => metrics?.['length'] ?? NaN))
  expect(lengths).toHaveLength(12)
  const mean = lengths.reduce((sum, length) => sum + length, 0) / 12
  expect(first.summary?.metrics?.['length']).toBeCloseTo(mean, 9)

  const again = await evaluated(request)
  expect(await promptsOf(again)).toEqual(prompts)
  expect(await client.call('evaluations.compare', { a: first.id, b: again.id })).toMatchObject({
    verdict: 'alike',
    method: 'paired',
    difference: 0,
    prompts: 2,
  })
})

const stages = 'each stage has its own, and its own copy of the code, whatever became of the files'
test.runIf(isWhole)(wholeTitle(stages), async () => {
  const files = ['one.js', 'two.js'].map((name, i) => fixture.write(name, paying(i + 1)))
  const [one, two] = files.map((file) => by(file))
  const { runId } = await started({
    steps: null,
    stages: [
      { steps: 1, ...one },
      { steps: 1, ...two },
    ],
  })
  for (const name of ['one.js', 'two.js']) fixture.write(name, paying(9))
  const rewardAt = async (step: number, config: Request['config'] = {}) =>
    (await evaluated({ subject: { runId, step }, limit: 2, config })).summary?.reward?.value
  expect(await rewardAt(1)).toBe(1)
  expect(await rewardAt(2)).toBe(2)
  expect(await rewardAt(2, one)).toBe(1)
  // With settings that no stage has, it is what the file says now.
  expect(await rewardAt(2, by(files[0] ?? '', { more: 1 }))).toBe(10)
})

test('settings of the environment come from the rows, so that episodes differ in length, by a workflow too', async () => {
  const world = fixture.write(
    'swept.js',
    `export const settings = { pay: 0, maxTurns: 4 }
export default {
  reset: ({ settings }) => ({ state: 0, observation: 'Turn ' + settings.pay }),
  step: ({ state, settings }) => ({ state: state + 1, observation: 'On', reward: settings.pay, terminated: false }),
}`,
  )
  const turns = [1, 3, 2, 3]
  const rows = fixture.write(
    'swept.jsonl',
    turns.map((most, i) => JSON.stringify({ most, worth: i + 1 })).join('\n'),
  )
  const config = {
    data: { train: rows },
    environment: { function: world, settingsFromRow: { maxTurns: 'most', pay: 'worth' } },
    rollout: { ...smallConfig.rollout, maxNewTokens: 2 },
  }
  const workflow = { function: gallery('environment') }
  for (const rollout of [config.rollout, { ...config.rollout, workflow }]) {
    const subject = { model: 'starter', adapter: null }
    const entry = await evaluated({ subject, config: { ...config, rollout }, samples: 2 })
    expect(entry).toMatchObject({ status: 'finished', error: null })
    const samples = (await promptsOf(entry)).map((prompt) => prompt.samples)
    expect(samples.map((each) => each.map((sample) => sample.turns))).toEqual(
      turns.map((most) => [most, most]),
    )
    expect(samples.map((each) => each.map(({ reward }) => reward))).toEqual(
      turns.map((most, i) => [most * (i + 1), most * (i + 1)]),
    )
  }
})

test('what cannot work is told before, and an episode that fails when it does', async () => {
  const failing = fixture.write(
    'failing.js',
    `export default defineWorkflow({
  async episode({ row, prompt, engine }) {
    const { allIds, actionMask } = await engine.generate({ ids: prompt.ids })
    if (row.fails) throw new Error('out of ideas')
    if (row.rejects) return null
    return { ids: allIds, actions: actionMask, reward: 1 }
  },
})`,
  )
  const rows = fixture.write(
    'fates.jsonl',
    '{"prompt":"a"}\n{"prompt":"b","fails":true}\n{"prompt":"c","rejects":true}\n',
  )
  const config = { data: { train: rows }, ...by(failing) }
  const subject = { model: 'starter', adapter: null }
  const { summary, status } = await evaluated({ subject, config })
  expect(status).toBe('finished')
  expect(summary).toMatchObject({ prompts: 1, samples: 3, unscored: 2, failures: 1 })
  expect(summary?.failure).toBe('workflow: Error: out of ideas (line 4)')

  const reward = fixture.write('reward.js', 'export default () => 1')
  const wrong = { ...config, ...by(reward) }
  await expect(client.call('evaluations.start', { subject, config: wrong })).rejects.toThrow('not a workflow')
  const unjudged = { data: { train: rows } }
  await expect(client.call('evaluations.start', { subject, config: unjudged })).rejects.toThrow(
    'no reward, no environment and no workflow',
  )
})
