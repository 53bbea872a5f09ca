/** Runs a probe: a tiny policy learns a tiny task, and its accuracy is measured before and after. */
import type { Policy } from '#engine/policy.ts'
import { usageError } from '#shared/errors.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import type { Algorithm } from '../algorithms/define.ts'
import type { Probe, ProbeTraining } from '../environments/probes/registry.ts'
import { builtInEnvironment } from '../environments/tasks/registry.ts'
import { mean } from '../algorithms/terms/groups.ts'
import type { UnscoredTrajectory } from '../rollout/trajectory.ts'
import type { TrainDependencies, TrainedModel } from './dependencies.ts'
import { planTraining, type TrainPlan } from './plan.ts'
import { train } from './train.ts'

export interface ProbeRequest {
  readonly probe: Probe
  readonly algorithm: Algorithm
  readonly policy: Policy
  /** Tokenizer of single digits. */
  readonly tokenizer: TrainedModel['tokenizer']
  readonly stopIds: readonly number[]
  readonly seed: number
  /** The probe's own budget if absent. */
  readonly steps?: number
  readonly onStep?: (step: number, steps: number, reward: number) => void
}

export interface ProbeState {
  /** Share of episodes solved by the most probable actions. */
  readonly greedyAccuracy: number
  /** Share of episodes solved by sampled actions, at the temperature of training. */
  readonly sampledAccuracy: number
  /** Distance of the critic's mean value, before the last token of an episode, from 1; null without a critic. */
  readonly valueError: number | null
}

export interface ProbeResult extends ProbeState {
  readonly before: ProbeState
  readonly steps: number
  readonly threshold: number
  readonly measure: Probe['measure']
  readonly passed: boolean
}

/** Errors: `usage/invalid` for an algorithm the probe does not fit; as `train`. */
export async function runProbe(request: ProbeRequest): Promise<ProbeResult> {
  const { probe, onStep } = request
  const dependencies = probeDependencies(request)
  const plan = planTraining(dependencies)
  const before = await stateOf(dependencies, plan, probe)
  for await (const event of train(dependencies)) {
    if (event.type === 'step') onStep?.(event.step, event.steps, event.metrics.reward ?? 0)
  }
  const after = await stateOf(dependencies, plan, probe)
  const { measure, threshold } = probe
  return { ...after, before, steps: plan.steps, threshold, measure, passed: hasPassed(probe, after) }
}

function hasPassed({ measure, threshold }: Probe, state: ProbeState): boolean {
  if (measure === 'value') return state.valueError !== null && state.valueError < threshold
  return (measure === 'greedy' ? state.greedyAccuracy : state.sampledAccuracy) >= threshold
}

function probeDependencies(request: ProbeRequest): TrainDependencies {
  const { probe, algorithm, policy, tokenizer, stopIds } = request
  if (algorithm.experience !== 'rollout') {
    throw usageError(
      `${algorithm.title} learns from given answers, not from rewards: there is no probe for it.`,
    )
  }
  const config = probeConfig(request)
  const configured = algorithm.configure(config.algorithm.settings)
  if (probe.measure === 'value' && !configured.needs.values) {
    throw usageError(`The probe “${probe.name}” is for critics; ${algorithm.title} has none.`)
  }
  const { learningRate } = config.optimization
  return {
    config,
    model: { policy, tokenizer, chatTemplate: null, stopIds },
    data: { train: Array.from({ length: config.rollout.promptsPerStep }, () => ({})), heldOut: [] },
    code: { algorithm: configured, rewards: [], environment: builtInEnvironment(probe.environment) },
    schedule: { learningRatesAt: () => ({ actor: learningRate, critic: learningRate }) },
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
      settings: settingsOf(algorithm, { klCoefficient: 0, ...training.settings }),
    },
    rollout: { promptsPerStep, groupSize, temperature, maxNewTokens: 1 },
    optimization: { learningRate, epochs, minibatchSize, maxGradNorm: 1, weightDecay: 0 },
    steps: steps ?? training.steps,
    shownTrajectories: 0,
    seed,
  })
}

/** Returns those of the settings that the algorithm has. */
const settingsOf = ({ settings: known }: Algorithm, wanted: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(wanted).filter(([name]) => name in known))

/** The settings for algorithms of its kind. */
export const trainingOf = (probe: Probe, { groupSize }: Pick<Algorithm, 'groupSize'>): ProbeTraining =>
  groupSize.minimum > 1 || groupSize.default > 1 ? probe.grouped : probe.single

/** Sampled episodes, at least. */
const sampledEpisodes = 128

async function stateOf(
  dependencies: TrainDependencies,
  plan: TrainPlan,
  { episodes }: Probe,
): Promise<ProbeState> {
  const rows = episodes.map((columns, row) => ({ row, columns, text: '', ids: new Int32Array(0) }))
  const groupSize = Math.ceil(sampledEpisodes / rows.length)
  const greedy = await plan.rollOut(rows, { groupSize: 1, step: 0, source: 'evaluation' })
  const sampled = await plan.rollOut(rows, { groupSize, step: 0, source: 'training' })
  return {
    greedyAccuracy: mean(greedy.map(isSolved)),
    sampledAccuracy: mean(sampled.map(isSolved)),
    valueError: dependencies.code.algorithm.needs.values ? await valueError(dependencies, sampled) : null,
  }
}

const isSolved = ({ episode }: UnscoredTrajectory): number => Number((episode?.metrics['correct'] ?? 0) > 0)

async function valueError(
  { model: { policy }, config }: TrainDependencies,
  trajectories: readonly UnscoredTrajectory[],
): Promise<number> {
  const heads = await policy.score(trajectories, { role: 'critic', temperature: config.rollout.temperature })
  const values = trajectories.map(({ actionMask }, i) => heads[i]?.values?.[actionMask.lastIndexOf(1)] ?? NaN)
  return Math.abs(mean(values) - 1)
}
