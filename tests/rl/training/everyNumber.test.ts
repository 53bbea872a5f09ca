import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { problemSentence } from '#shared/errors.ts'
import { parseRunConfig, runConfigSchema } from '#shared/runConfig.ts'
import { configWarnings } from '#rl/training/configWarnings.ts'
import { requireFitting } from '#rl/training/conflicts.ts'
import { collect, dependenciesOf, steps } from './run.ts'

type Schema = {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
}

/** Dotted paths of every setting that holds a number; of lists the first entry. */
function numbersIn(schema: Schema, at: readonly string[] = []): string[] {
  const own = schema.type === 'number' || schema.type === 'integer' ? [at.join('.')] : []
  const inside = Object.entries(schema.properties ?? {}).flatMap(([name, each]) =>
    numbersIn(each, [...at, name]),
  )
  const either = (schema.anyOf ?? []).flatMap((each) => numbersIn(each, at))
  const entries = schema.items === undefined ? [] : numbersIn(schema.items, [...at, '0'])
  return [...new Set([...own, ...inside, ...either, ...entries])]
}

const schema = z.toJSONSchema(runConfigSchema, { io: 'input', unrepresentable: 'any' }) as Schema
const paths = numbersIn(schema).filter((path) => !path.startsWith('stages.'))

/** What a setting needs around it. */
const around: Readonly<Record<string, object>> = {
  'data.heldOut.share': { data: { train: 'train', heldOut: { share: 0.5 } } },
  'data.heldOut.rows': { data: { train: 'train', heldOut: { rows: 1 } } },
  'data.heldOut.seed': { data: { train: 'train', heldOut: { rows: 1 } } },
  'data.train.episodes': { data: { train: { episodes: 3 } }, environment: { function: 'number-guessing' } },
  environment: { environment: { function: 'number-guessing' } },
  'rollout.server': {
    rollout: {
      server: { kind: 'vllm', url: 'http://127.0.0.1:8000', adapterFolder: '/adapters' },
      promptsPerStep: 2,
      groupSize: 2,
      maxNewTokens: 6,
    },
  },
  'reference.server': { reference: { server: { kind: 'vllm', url: 'http://127.0.0.1:8000' } } },
  'reference.mixing': { reference: { refreshSteps: 1 } },
}

const base = {
  model: 'fake',
  data: { train: 'train', heldOut: 'held-out' },
  rewards: [{ function: 'c' }],
  steps: 2,
  rollout: { promptsPerStep: 2, groupSize: 2, maxNewTokens: 6 },
}

function withNumber(path: string, value: number): Record<string, unknown> {
  const surrounding = Object.entries(around).find(([key]) => path === key || path.startsWith(`${key}.`))?.[1]
  const config = structuredClone({ ...base, ...surrounding }) as Record<string, unknown>
  if (path === 'passes') config['steps'] = null
  const parts = path.split('.')
  const last = parts.pop() ?? ''
  let at = config
  for (const part of parts) {
    if (typeof at[part] !== 'object' || at[part] === null) at[part] = {}
    at = at[part] as Record<string, unknown>
  }
  at[last] = value
  return config
}

const model = { contextLength: 32, hiddenSize: 64, experts: null }
const { algorithm: own } = dependenciesOf().code
// So that numbers of a teacher count.
const algorithm = { ...own, needs: { ...own.needs, reference: true } }

/** null: nothing is said against it. */
function saidOf(given: Record<string, unknown>): string | null {
  try {
    const config = parseRunConfig(given)
    requireFitting(config, algorithm, model)
    const [first] = configWarnings(config, algorithm, model)
    return first === undefined ? null : problemSentence(first)
  } catch (error) {
    expect(error).toMatchObject({ code: 'config/invalid' })
    return (error as Error).message
  }
}

const values = [1e10, -1, Number('1e999'), 0, 0.5]

describe('every number of a run config', () => {
  test('is found', () => {
    for (const path of ['optimization.learningRate', 'rewards.0.weight', 'rollout.server.retries', 'steps'])
      expect(paths).toContain(path)
    expect(paths.length).toBeGreaterThan(50)
  })

  test('nothing is said against usual settings', () => {
    expect(saidOf(base)).toBeNull()
  })

  test.each(paths)('%s: absurd values are refused, warned of, or train', async (path) => {
    for (const value of values) {
      const given = withNumber(path, value)
      const said = saidOf(given)
      if (said !== null) {
        expect(said).toContain(path.split('.').at(-1))
        continue
      }
      // Episodes and servers have tests of their own, with what they need.
      if (
        path.startsWith('environment.') ||
        path.startsWith('rollout.server.') ||
        path === 'data.train.episodes'
      )
        continue
      const events = await collect(dependenciesOf({ config: given }))
      expect(steps(events).length, `${path} = ${value}`).toBeGreaterThan(0)
      for (const { metrics } of steps(events))
        expect(Object.values(metrics), `${path} = ${value}`).not.toContain(NaN)
      expect(events.at(-1)).toMatchObject({ type: 'status', phase: 'finished' })
    }
  })
})

describe('impossible and unwise settings are named with their limit', () => {
  test.each([
    [{ rollout: { maxNewTokens: 9_999_999_999 } }, 'rollout.maxNewTokens: expected at most 10000000'],
    [{ rollout: { maxNewTokens: 32 } }, 'the model reads 32 tokens including the prompt: at most 31'],
    [{ adapter: { rank: 65 } }, "adapter.rank: 65, but the model's hidden size is 64"],
    [{ optimization: { learningRate: 1000 } }, 'optimization.learningRate: expected at most 1, got 1000'],
    [{ optimization: { learningRate: 0.1 } }, 'optimization.learningRate: 0.1, and above 0.01'],
    [{ steps: 9_999_999_999 }, 'steps: expected at most 10000000'],
    [{ rollout: { groupSize: 9_999_999_999 } }, 'rollout.groupSize: expected at most 10000'],
    [{ rollout: { groupSize: 10_000, promptsPerStep: 1000 } }, 'the maximum is 1000000'],
    [{ optimization: { learningRate: Infinity } }, 'got a number too large to be represented'],
    [{ optimization: { beta2: 1 } }, 'optimization.beta2: expected less than 1, got 1'],
    [{ optimization: { criticLearningRate: 0.1 } }, 'optimization.criticLearningRate: 0.1, and above 0.01'],
    [{ optimization: { learningRate: 1e-10 } }, 'too little to change anything in f32'],
    [{ optimization: { weightDecay: 2 } }, 'optimization.weightDecay: 2; 0 to 0.1 is usual'],
    [{ optimization: { epsilon: 0.1 } }, 'optimization.epsilon: 0.1, which outweighs small gradients'],
    [{ optimization: { epochs: 17 } }, 'optimization.epochs: 17; the last ones learn from completions'],
    [{ optimization: { warmupProportion: 1 } }, 'reached only at the last update'],
    [{ optimization: { tokenBudget: 2_000_000 } }, 'optimization.tokenBudget: 2000000; the memory'],
    [{ adapter: { rank: 2, alpha: 130 } }, 'adapter.alpha: 130, 65 times `adapter.rank`'],
    [{ rewards: [{ function: 'c', weight: -1001 }] }, 'rewards[0].weight: -1001; other rewards hardly'],
    [
      { device: { kind: 'webgpu' }, rollout: { precision: 'int8', maxNewTokens: 6 } },
      'rollout.precision: int8, which has no effect on WebGPU',
    ],
    [
      { rollout: { routerReplay: true, maxNewTokens: 6 } },
      'rollout.routerReplay: true, which has no effect: the model has no experts',
    ],
    [{ rollout: { groupSize: 257, maxNewTokens: 6 } }, 'rollout.groupSize: 257; 4 to 64 is usual'],
    [{ rollout: { promptsPerStep: 1025, maxNewTokens: 6 } }, 'rollout.promptsPerStep: 1025; a step is'],
    [{ shownTrajectories: 1001 }, 'shownTrajectories: 1001; every step logs'],
    [{ device: { threads: 257 } }, 'device.threads: 257; more threads than processors'],
    [{ rollout: { temperature: 2.5, maxNewTokens: 6 } }, 'rollout.temperature: 2.5; completions are close'],
    [{ rollout: { temperature: 0.05, maxNewTokens: 6 } }, 'completions of a group are nearly identical'],
    [{ rollout: { repetitionPenalty: 3, maxNewTokens: 6 } }, 'above 1.5 text falls apart'],
    [{ rollout: { mismatchCap: 101, maxNewTokens: 6 } }, 'weights are almost never capped'],
    [{ steps: 100_001 }, 'steps: 100001; a run of more than 100000 steps'],
    [{ steps: null, passes: 101 }, 'passes: 101; more than a few overfit the rows'],
    [{ steps: 1001, evaluation: { every: 1002 } }, 'evaluation.every: 1002, and the run has 1001 steps'],
    [{ steps: 1001, checkpoints: { every: 1002 } }, 'checkpoints.every: 1002, and the run has 1001 steps'],
    [
      { data: { train: 'train', maxPromptTokens: 27 } },
      'data.maxPromptTokens: 27, but of the model’s 32 tokens only 26 are left',
    ],
    [
      { environment: { function: 'number-guessing', contextLength: 33 } },
      'environment.contextLength: 33, but the model reads 32 tokens',
    ],
  ])('%j', (changes, words) => {
    expect(saidOf({ ...base, rollout: { maxNewTokens: 6 }, ...changes })).toContain(words)
  })
})
