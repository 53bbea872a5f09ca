/** Running a probe: a tiny policy learns a tiny world, and is asked before and after how often it is right. */
import type { Policy } from '#engine/policy.ts'
import { AppError } from '#shared/errors.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import type { Algorithm } from '../algorithms/define.ts'
import type { Probe, ProbeTraining } from '../environments/probes/registry.ts'
import { builtInEnvironment } from '../environments/tasks/registry.ts'
import { planTraining, type TrainDependencies, type TrainPlan } from './plan.ts'
import { train } from './train.ts'

export interface ProbeRequest {
  readonly probe: Probe
  readonly algorithm: Algorithm
  readonly policy: Policy
  /** Of single digits. */
  readonly tokenizer: TrainDependencies['tokenizer']
  readonly stopIds: readonly number[]
  readonly seed: number
  /** The probe's own budget if absent. */
  readonly steps?: number
  /** Told after every step. */
  readonly onStep?: (step: number, steps: number, reward: number) => void
}

export interface Accuracies {
  /** Share of episodes solved by the most probable actions. */
  readonly greedyAccuracy: number
  /** Share of episodes solved by sampled actions, at the temperature of training. */
  readonly sampledAccuracy: number
}

export interface ProbeResult extends Accuracies {
  readonly before: Accuracies
  readonly steps: number
  readonly threshold: number
  readonly measure: Probe['measure']
  readonly passed: boolean
}

/** Errors: `usage/invalid` for an algorithm that does not learn from rollouts; as `train`. */
export async function runProbe(request: ProbeRequest): Promise<ProbeResult> {
  const { probe, onStep } = request
  const dependencies = probeDependencies(request)
  const plan = planTraining(dependencies)
  const before = await accuracies(dependencies, plan, probe)
  for await (const event of train(dependencies)) {
    if (event.type === 'step') onStep?.(event.step, event.steps, event.metrics.reward ?? 0)
  }
  const after = await accuracies(dependencies, plan, probe)
  const { measure, threshold } = probe
  const counted = measure === 'greedy' ? after.greedyAccuracy : after.sampledAccuracy
  return { ...after, before, steps: plan.steps, threshold, measure, passed: counted >= threshold }
}

function probeDependencies(request: ProbeRequest): TrainDependencies {
  const { probe, algorithm, policy, tokenizer, stopIds } = request
  if (algorithm.experience !== 'rollout') {
    throw new AppError(
      'usage/invalid',
      `${algorithm.title} learns from given answers, not by trying: no probe fits it.`,
    )
  }
  const config = probeConfig(request)
  const { learningRate } = config.optimization
  return {
    config,
    policy,
    algorithm: algorithm.configure(config.algorithm.settings),
    rewards: [],
    environment: builtInEnvironment(probe.environment),
    trainRows: Array.from({ length: config.rollout.promptsPerStep }, () => ({})),
    heldOutRows: [],
    tokenizer,
    chatTemplate: null,
    stopIds,
    learningRateAt: () => ({ actor: learningRate, critic: learningRate }),
  }
}

/** One token per turn and no divergence term. */
function probeConfig({ probe, algorithm, seed, steps }: ProbeRequest): RunConfig {
  const training = trainingOf(probe, algorithm)
  const { promptsPerStep, groupSize, temperature, learningRate, epochs, minibatchSize } = training
  return parseRunConfig({
    model: 'probe',
    data: { train: { episodes: promptsPerStep }, shuffle: false },
    environment: { function: probe.environment, applyChatTemplate: false },
    algorithm: {
      id: algorithm.id,
      settings: 'klCoefficient' in algorithm.settings ? { klCoefficient: 0 } : {},
    },
    rollout: { promptsPerStep, groupSize, temperature, maxNewTokens: 1 },
    optimization: { learningRate, epochs, minibatchSize, maxGradNorm: 1, weightDecay: 0 },
    steps: steps ?? training.steps,
    shownTrajectories: 0,
    seed,
  })
}

/** The settings for algorithms of its kind. */
export const trainingOf = (probe: Probe, { groupSize }: Pick<Algorithm, 'groupSize'>): ProbeTraining =>
  groupSize.minimum > 1 || groupSize.default > 1 ? probe.grouped : probe.single

/** Sampled episodes, at least. */
const sampledEpisodes = 128

async function accuracies(
  dependencies: TrainDependencies,
  plan: TrainPlan,
  { episodes }: Probe,
): Promise<Accuracies> {
  const rows = episodes.map((columns, row) => ({ row, columns, text: '', ids: new Int32Array(0) }))
  const groupSize = Math.ceil(sampledEpisodes / rows.length)
  const greedy = await plan.rollOut(rows, { groupSize: 1, step: 0, source: 'evaluation' })
  const sampled = await plan.rollOut(rows, { groupSize, step: 0, source: 'training' })
  const solved = (played: typeof greedy) =>
    played.filter(({ episode }) => (episode?.metrics['correct'] ?? 0) > 0).length / played.length
  return { greedyAccuracy: solved(greedy), sampledAccuracy: solved(sampled) }
}
