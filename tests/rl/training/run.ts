/** A small training run on the fake policy, and its events without timings. */
import { expect } from 'vitest'
import { grpo } from '#rl/algorithms/grpo.ts'
import type { ConfiguredAlgorithm, Experience, LearningRow } from '#rl/algorithms/types.ts'
import { eachSample, type RewardSpec } from '#rl/rewards.ts'
import type { DataRow } from '#rl/rollout/prompts.ts'
import type { RunCode, Schedule, TrainDependencies, TrainedModel } from '#rl/training/dependencies.ts'
import { train } from '#rl/training/train.ts'
import type { RunEvent, TrainerState } from '#shared/events.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { fakePolicy, type FakePolicy, fakeTokenizer, stopId } from '../fakePolicy.ts'

/** One sixth per letter c; six letters is the longest completion. */
export const likesC: RewardSpec = {
  name: 'c',
  weight: 1,
  function: {
    id: 'c',
    description: 'Letters c, of six.',
    score: eachSample(({ completion }) => completion.split('').filter((letter) => letter === 'c').length / 6),
  },
}

export interface RunOptions
  extends Partial<Omit<TrainedModel, 'policy'>>, Partial<RunCode>, Partial<Schedule> {
  readonly trainRows?: readonly DataRow[]
  readonly heldOutRows?: readonly DataRow[]
  readonly policy?: FakePolicy
  readonly settings?: Readonly<Record<string, unknown>>
  readonly rollout?: Readonly<Record<string, unknown>>
  readonly optimization?: Readonly<Record<string, unknown>>
  readonly config?: Readonly<Record<string, unknown>>
}

/** A row that every kind of algorithm can learn from. */
const withAnswers = (prompt: string) => ({
  prompt,
  completion: 'cccccc',
  chosen: 'cccccc',
  rejected: 'hcfhae',
})

export function dependenciesOf(options: RunOptions = {}): TrainDependencies {
  const { settings, rollout, optimization, config, policy = fakePolicy(), ...rest } = options
  const given = <Name extends keyof typeof rest>(...names: readonly Name[]) =>
    Object.fromEntries(names.flatMap((name) => (name in rest ? [[name, rest[name]]] : []))) as Pick<
      typeof rest,
      Name
    >
  const { trainRows = 'abdefgh'.split('').map(withAnswers), heldOutRows = ['ab', 'ba'].map(withAnswers) } =
    rest
  return {
    config: parseRunConfig({
      model: 'fake',
      data: { train: 'train', heldOut: 'held-out' },
      rewards: [{ function: 'c' }],
      rollout: { promptsPerStep: 4, maxNewTokens: 6, ...rollout },
      optimization: { maxGradNorm: null, ...optimization },
      steps: 6,
      ...(rest.algorithm?.needs.teacher ? { reference: { model: 'teacher' } } : {}),
      ...config,
    }),
    model: {
      policy,
      tokenizer: fakeTokenizer,
      chatTemplate: null,
      stopIds: [stopId],
      ...given('device', 'tokenizer', 'chatTemplate', 'stopIds', 'teacher', 'rolloutMetrics'),
    },
    data: { train: trainRows, heldOut: heldOutRows },
    code: {
      algorithm: grpo.configure({ klCoefficient: 0, ...settings }),
      rewards: [likesC],
      ...given('algorithm', 'rewards', 'rewardMetrics', 'script', 'environment', 'workflow'),
    },
    schedule: {
      learningRatesAt: () => ({ actor: 8, critic: 1 }),
      ...given(
        'learningRatesAt',
        'state',
        'isFork',
        'stage',
        'signal',
        'until',
        'pause',
        'change',
        'onPhase',
      ),
    },
  }
}

export async function collect(
  dependencies: TrainDependencies,
  each?: (event: RunEvent) => void,
): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of train(dependencies)) {
    each?.(event)
    events.push(event)
  }
  return events
}

const isTiming = (name: string): boolean => /(^|_)time$|^time\/|per_second$/.test(name)

/** Everything but the measured seconds. */
export const withoutTimings = (events: readonly RunEvent[]): unknown[] =>
  events.map((event) =>
    'metrics' in event
      ? {
          ...event,
          metrics: Object.fromEntries(Object.entries(event.metrics).filter(([name]) => !isTiming(name))),
        }
      : event,
  )

export const steps = (events: readonly RunEvent[]) => events.filter((event) => event.type === 'step')
export const evaluations = (events: readonly RunEvent[]) =>
  events.filter((event) => event.type === 'evaluation')

/** The algorithm, and all it was ever shown. */
export function watched(algorithm: ConfiguredAlgorithm) {
  const [batches, minibatches]: [(readonly Experience[])[], (readonly LearningRow[])[]] = [[], []]
  const watching: ConfiguredAlgorithm = {
    ...algorithm,
    advantages(batch) {
      batches.push(batch)
      return algorithm.advantages(batch)
    },
    minibatchLoss(minibatch) {
      minibatches.push(minibatch)
      return algorithm.minibatchLoss(minibatch)
    },
  }
  return { algorithm: watching, batches, minibatches }
}

/** Scores a completion by its prompt and itself. */
export const rewardOf = (score: (prompt: string, completion: string) => number): RewardSpec[] => [
  {
    ...likesC,
    function: {
      ...likesC.function,
      score: eachSample(({ prompt, completion }) => score(prompt, completion)),
    },
  },
]

/** Every prefix of a run, taken up again from its checkpoint, says and learns the same. */
export async function expectExactResume(options: RunOptions): Promise<void> {
  const config = { steps: 4, ...options.config, checkpoints: { every: 1 } }
  const whole = fakePolicy()
  const kept: { state: TrainerState; policy: ReturnType<typeof fakePolicy>; at: number }[] = []
  let at = 0
  const all = await collect(dependenciesOf({ ...options, config, policy: whole }), (event) => {
    at++
    if (event.type !== 'checkpoint-due' || event.reason === 'finished') return
    const { table, critic, reference } = whole
    const copy = { table: table.slice(), critic: critic.slice(), reference: reference.slice() }
    kept.push({ state: structuredClone(event.state), policy: fakePolicy(copy), at })
  })
  expect(kept.length).toBeGreaterThan(2)
  for (const { state, policy, at: position } of kept) {
    const resumed = await collect(dependenciesOf({ ...options, config, policy, state }))
    expect(withoutTimings(resumed.slice(1))).toEqual(withoutTimings(all.slice(position)))
    expect([policy.table, policy.critic, policy.reference]).toEqual([
      whole.table,
      whole.critic,
      whole.reference,
    ])
  }
}
