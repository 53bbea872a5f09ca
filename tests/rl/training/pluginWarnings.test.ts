/** Every number of an algorithm, a built-in reward or a built-in environment: absurd values are refused, warned of, or harmless. */
import { describe, expect, test } from 'vitest'
import { algorithms } from '#rl/algorithms/registry.ts'
import { builtInRewards } from '#rl/environments/registry.ts'
import { builtInEnvironments } from '#rl/environments/tasks/registry.ts'
import { configWarnings, teacherWarnings } from '#rl/training/configWarnings.ts'
import { requireFitting } from '#rl/training/conflicts.ts'
import { fieldsOf } from '#shared/config/fields.ts'
import { parseSettings } from '#shared/config/settings.ts'
import { problemSentence } from '#shared/errors.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { collect, dependenciesOf, steps } from './run.ts'

const absurd = [1e10, 1e5, -1, Number('1e999'), 0, 0.5]

const base = {
  model: 'fake',
  data: { train: 'train', heldOut: 'held-out' },
  rewards: [{ function: 'c' }],
  steps: 2,
  reference: { model: 'teacher' },
  rollout: { promptsPerStep: 2, maxNewTokens: 6 },
}

const algorithmOf = ({ algorithm: { id, settings } }: RunConfig) => {
  const found = algorithms.find((each) => each.id === id)
  if (found === undefined) throw new Error(`Expected ${id}.`)
  return found.configure(settings)
}

/** null: nothing is said against it. */
function saidOf(changes: object, check: (config: RunConfig) => void = () => undefined): string | null {
  try {
    const config = parseRunConfig({ ...base, ...changes })
    const algorithm = algorithmOf(config)
    check(config)
    requireFitting(config, algorithm)
    const [first] = configWarnings(config, algorithm, null)
    return first === undefined ? null : problemSentence(first)
  } catch (error) {
    expect(error).toMatchObject({ code: 'config/invalid' })
    return (error as Error).message
  }
}

const numbersOf = (settings: Readonly<Record<string, unknown>>) =>
  Object.keys(settings).filter((name) => typeof settings[name] === 'number')

const ofAlgorithms = algorithms.flatMap(({ id, settings }) =>
  fieldsOf(settings, '')
    .filter(({ control: { kind } }) => kind === 'number' || kind === 'number-or-pair')
    .map(({ key }) => [id, key.slice(1)] as const),
)

test('nothing is said against defaults', () => {
  for (const { id, settings } of algorithms) {
    const initial = parseSettings(settings, {}, '')
    expect(saidOf({ algorithm: { id, settings: initial } })).toBeNull()
  }
  for (const { id, settings } of builtInRewards)
    expect(saidOf({ rewards: [{ function: id, settings }] })).toBeNull()
  for (const { id, settings } of builtInEnvironments)
    expect(saidOf({ environment: { function: id, settings } })).toBeNull()
})

describe('settings of algorithms', () => {
  test.each(ofAlgorithms)('%s %s', async (id, name) => {
    for (const value of absurd) {
      const algorithm = { id, settings: { [name]: value } }
      const said = saidOf({ algorithm })
      if (said !== null) {
        expect(said).toContain(name)
        continue
      }
      expect(Math.abs(value), 'beyond 1000 something is said').toBeLessThan(1000)
      const config = { ...base, algorithm }
      const events = await collect(dependenciesOf({ config, algorithm: algorithmOf(parseRunConfig(config)) }))
      expect(steps(events).length).toBe(2)
      for (const { metrics } of steps(events))
        expect(Object.values(metrics), `${name} = ${value}`).not.toContain(NaN)
    }
  })

  test('a number is refused with its limits', () => {
    const refusal = (settings: object) => saidOf({ algorithm: { id: 'grpo', settings } })
    expect(refusal({ klCoefficient: 1e10 })).toContain(
      'klCoefficient: expected at most 1000000, got 10000000000',
    )
    expect(refusal({ ratioLimit: 1e7 })).toContain('ratioLimit: expected at most 1000000, got 10000000')
    expect(refusal({ advantageClipRange: 0 })).toContain('advantageClipRange: expected more than 0, got 0')
    expect(refusal({ clipCoefficient: [2, 1] })).toContain('expected a pair [low, high] with low ≤ high')
    expect(refusal({ clipCoefficient: [0.8, 1e7] })).toContain('clipCoefficient[1]: expected at most 1000000')
  })

  test('a penalty for length that holds for every token is named with the length', () => {
    expect(saidOf({ algorithm: { id: 'grpo', settings: { overlongBuffer: 6 } } })).toContain(
      'overlongBuffer: 6, and a completion has at most 6 tokens',
    )
  })
})

const ofRewards = builtInRewards.flatMap(({ id, settings }) =>
  numbersOf(settings).map((name) => [id, name] as const),
)

describe('settings of built-in rewards', () => {
  test.each(ofRewards)('%s %s', async (id, name) => {
    const reward = builtInRewards.find((each) => each.id === id)
    if (reward === undefined) throw new Error(`Expected ${id}.`)
    for (const value of absurd) {
      const settings = { [name]: value }
      const said = saidOf({ rewards: [{ function: id, settings }] }, () => reward.create(settings))
      if (said !== null) {
        expect(said).toMatch(id === 'length-penalty' ? /free|limit/ : name)
        continue
      }
      const samples = ['', '4', 'four '.repeat(400)].map((completion) => ({
        prompt: '2+2',
        completion,
        row: { answer: '4' },
        stopReason: 'stop-id' as const,
        tokens: 1,
      }))
      for (const score of await reward.create(settings).score(samples as never))
        expect(JSON.stringify(score)).not.toMatch(/NaN|Infinity|e\+/)
    }
  })
})

const ofEnvironments = builtInEnvironments.flatMap(({ id, settings }) =>
  numbersOf(settings).map((name) => [id, name] as const),
)
const services = { retrieve: () => Promise.resolve([]) }

describe('settings of built-in environments', () => {
  test.each(ofEnvironments)('%s %s', async (id, name) => {
    const environment = builtInEnvironments.find((each) => each.id === id)
    if (environment === undefined) throw new Error(`Expected ${id}.`)
    for (const value of absurd) {
      const settings = { ...(id === 'search' ? { url: 'http://127.0.0.1:1/' } : {}), [name]: value }
      const said = saidOf({ environment: { function: id, settings } }, () =>
        environment.create(settings, services),
      )
      if (said !== null) continue
      const world = environment.create(settings, services)
      expect(world.maxTurns).toBeLessThanOrEqual(1000)
      const row = { question: '2+2', answer: '4' }
      const [start] = await world.reset([{ row, seed: 1 }])
      if (start === undefined || 'failure' in start) throw new Error('Expected an episode.')
      const [turn] = await world.step([{ row, seed: 1, state: start.state, action: '<answer>1</answer>' }])
      expect(turn).toHaveProperty('terminated')
      expect(JSON.stringify(turn)).not.toMatch(/NaN|Infinity|e\+/)
    }
  })
})

test.each([
  [
    { settings: { jsdBeta: 0.2 } },
    ['algorithm.settings.jsdBeta: 0.2, which has no effect: only `compares: top-k`'],
  ],
  [{ settings: { topK: 8 } }, ['algorithm.settings.topK: 8, which has no effect: only `compares: top-k`']],
  [{ settings: { topK: 64, jsdBeta: 0.5 } }, []],
  [{ settings: { compares: 'top-k', topK: 8, jsdBeta: 0 } }, []],
  [
    { settings: { compares: 'top-k', clipCoefficient: 0.3 } },
    ['algorithm.settings.clipCoefficient: 0.3, which has no effect: only `compares: sampled`'],
  ],
])('settings of distillation that the other comparison reads have no effect: %j', (algorithm, expected) => {
  const config = parseRunConfig({ ...base, rewards: [], algorithm: { id: 'distillation', ...algorithm } })
  const told = configWarnings(config, algorithmOf(config), null).map(problemSentence)
  expect(told).toEqual(expected.map((start) => expect.stringContaining(start) as string))
})

test.each([
  ['grpo', 'completions of a group are nearly identical'],
  [
    'distillation',
    'distributions are compared at this temperature, where one token has nearly all probability',
  ],
])('a low temperature is warned of in terms of what %s learns from', (id, words) => {
  expect(saidOf({ algorithm: { id }, rollout: { ...base.rollout, temperature: 0.05 } })).toContain(words)
})

const server = { kind: 'vllm', url: 'http://127.0.0.1:8000' }

test.each([
  ['reference.model', { model: 'teacher' }],
  ['reference.server', { server }],
])('a teacher has no effect where nothing reads the reference: %s', (path, reference) => {
  const stageOf = (settings: object, teacher: object = reference) => {
    const config = parseRunConfig({ ...base, reference: teacher, algorithm: { id: 'grpo', settings } })
    return { config, algorithm: algorithmOf(config) }
  }
  const [unread, read] = [stageOf({ klCoefficient: 0 }), stageOf({ klCoefficient: 0.1 })]
  const told = (...stages: Parameters<typeof teacherWarnings>[1]) =>
    stages.map((stage) => teacherWarnings(stage, stages).map((problem) => problem.path))
  expect(told(unread)).toEqual([[path]])
  expect(told(read)).toEqual([[]])
  // It is named for the run, and one of its stages reads it.
  expect(told(unread, read)).toEqual([[], []])
  expect(told(unread, stageOf({ klCoefficient: 0.1 }, { model: 'other' }))).toEqual([[path], []])
})
