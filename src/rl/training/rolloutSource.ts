/** Generates the trajectories of a step: drawn prompts, rewards, greedy baselines, replaced groups. */
import type { PhaseProgress, TrainerState } from '#shared/events.ts'
import type { Metrics } from '#shared/metrics.ts'
import { groupsOf } from '../algorithms/terms/groups.ts'
import type { Needs } from '../algorithms/types.ts'
import { rewardTrajectories } from '../rollout/trajectoryRewards.ts'
import type { Prompt } from '../rollout/prompts.ts'
import type { DrawRows } from '../rollout/rowOrder.ts'
import type { Trajectory, UnscoredTrajectory } from '../rollout/trajectory.ts'
import { evaluateRollouts } from './evaluate.ts'
import type { TrainDependencies, Collected, ExperienceSource } from './dependencies.ts'
import type { RollOut, RollOutRequest } from './rollOut.ts'
import { promptMetrics } from './promptMetrics.ts'
import { replayMetrics, replaysOf, unsolvedAfter } from './replay.ts'
import { rolloutMetrics } from './stepMetrics.ts'
import { stopwatch } from './packing.ts'

export interface RolloutPlan {
  readonly prompts: readonly Prompt[]
  readonly draw: DrawRows<Prompt>
  readonly heldOut: readonly Prompt[]
  readonly tooLong: number
  readonly groupSize: number
  readonly rollOut: RollOut
  /** The largest number of tokens that the policy can choose in a trajectory. */
  readonly tokenLimit: number
}

/** One round of prompts with their trajectories. */
interface Round {
  readonly trajectories: readonly Trajectory[]
  /** Rewards of the greedy answers, if requested. */
  readonly baselines: readonly number[]
}

export function rolloutSource(dependencies: TrainDependencies, plan: RolloutPlan): ExperienceSource {
  const { promptsPerStep, temperature } = dependencies.config.rollout
  return {
    size: plan.prompts.length,
    tooLong: plan.tooLong,
    trajectoriesPerStep: promptsPerStep * plan.groupSize,
    temperature,
    collect: (before) => collectStep(dependencies, plan, before),
    evaluate: (step) => evaluateRollouts(dependencies, plan, step),
  }
}

/** State that the prompts of a step follow from. */
type Before = Pick<TrainerState, 'step' | 'promptsDrawn' | 'unsolved'>

/**
 * The trajectories of the step after `before`, by a policy that has learned from `version` steps.
 *
 * One round of prompts; if the algorithm rejects groups, further rounds with as many prompts as are missing. Rejected
 * groups are reported, but not learned from.
 */
export async function collectStep(
  dependencies: TrainDependencies,
  plan: RolloutPlan,
  before: Before,
  version = before.step,
): Promise<Collected> {
  const {
    config,
    code: { algorithm },
  } = dependencies
  const rounds = algorithm.acceptance?.rounds ?? 0
  const drawing = drawer(dependencies, plan, before, version)
  const times = { rollout: 0, reward: 0 }
  const played: Round[] = []
  let accepted: Trajectory[] = []
  let missing = config.rollout.promptsPerStep
  let turnedDown = 0
  for (let round = 0; round <= rounds && missing > 0; round++) {
    const result = await playRound(dependencies, plan, drawing.next(missing), times)
    const groups = groupsOf(result.trajectories).map((group) => group.filter(takesPart(algorithm.needs)))
    const taken = groups.filter((group) => algorithm.acceptance?.accepts(group) ?? true)
    played.push(result)
    accepted = [...accepted, ...taken.flat()]
    turnedDown += groups.length - taken.length
    missing = algorithm.acceptance === null ? 0 : groups.length - taken.length
  }
  const trajectories = played.flatMap((round) => round.trajectories)
  const unsolved = unsolvedAfter(before.unsolved, trajectories, config.rollout)
  return {
    trajectories,
    candidates: accepted,
    drawn: drawing.drawn(),
    ...(unsolved === undefined ? {} : { unsolved }),
    metrics: {
      ...rolloutMetrics(trajectories),
      ...promptMetrics(trajectories, dependencies),
      ...baselineMetrics(played),
      ...(algorithm.acceptance === null ? {} : { 'rollout/groups_turned_down': turnedDown }),
      ...(unsolved === undefined ? {} : replayMetrics(drawing.replayed(), unsolved)),
    },
    times,
  }
}

/** Tells whether a trajectory has what is learned from: reward and baseline, or without these a token. */
export const takesPart =
  ({ rewards, greedyBaseline }: Needs) =>
  ({ reward, baselineReward, completionTokens }: Trajectory): boolean =>
    (rewards ? reward.total !== null : completionTokens > 0) && !(greedyBaseline && baselineReward === null)

interface Drawn {
  readonly prompts: readonly Prompt[]
  readonly request: RollOutRequest
  readonly firstGroup: number
}

/**
 * Hands out the prompts of one step, round by round; the first ends with rows that come again. A row that occurs again in the
 * step gets samples of its own.
 */
function drawer(
  { config }: TrainDependencies,
  plan: RolloutPlan,
  { step, promptsDrawn, unsolved = [] }: Before,
  version: number,
) {
  const earlier = new Map<number, number>()
  const byRow = new Map(unsolved.length === 0 ? [] : plan.prompts.map((prompt) => [prompt.row, prompt]))
  // A changed data set may lack some of the rows.
  const again = unsolved.flatMap(({ row }) => byRow.get(row) ?? []).slice(0, replaysOf(config.rollout))
  let [drawn, handedOut] = [0, 0]
  return {
    drawn: () => drawn,
    replayed: () => again.length,
    next(count: number): Drawn {
      const replays = handedOut === 0 ? again : []
      const fresh = plan.draw(promptsDrawn + drawn, count - replays.length)
      const prompts = [...fresh, ...replays]
      const request = {
        groupSize: plan.groupSize,
        step: step + 1,
        version,
        source: 'training' as const,
        earlier: new Map(earlier),
      }
      const firstGroup = handedOut
      drawn += fresh.length
      handedOut += prompts.length
      for (const { row } of prompts) earlier.set(row, (earlier.get(row) ?? 0) + 1)
      return { prompts, request, firstGroup }
    },
  }
}

async function playRound(
  dependencies: TrainDependencies,
  { rollOut, tokenLimit }: RolloutPlan,
  { prompts, request, firstGroup }: Drawn,
  times: { rollout: number; reward: number },
): Promise<Round> {
  const { config, model, code, schedule } = dependencies
  const { onPhase } = schedule
  const { rewards, algorithm } = code
  const { tokenizer } = model
  const options = { rewards, onFailure: config.rewardFailures, step: request.step, tokenizer }
  const watch = stopwatch()
  const onProgress = (done: PhaseProgress) => onPhase?.('generating', done)
  const answers = await rollOut(prompts, { ...request, onProgress })
  const needsBaseline = algorithm.needs.greedyBaseline && answers.some(isCompared)
  const greedy = needsBaseline ? await rollOut(prompts, { ...request, groupSize: 1, isGreedy: true }) : []
  times.rollout += watch.lap()
  onPhase?.('scoring')
  const scored = await rewardTrajectories(answers, options)
  const baselines = await rewardTrajectories(greedy, options)
  times.reward += watch.lap()
  const earned = new Map(baselines.map(({ group, reward }) => [group, reward.total]))
  const { version, step } = request
  const isOlder = version !== undefined && version < step - 1
  const trajectories = scored.map((trajectory) => ({
    ...trajectory,
    ...(isOlder ? { version } : {}),
    tokenLimit: Math.max(tokenLimit, trajectory.tokenLimit ?? 0),
    group: firstGroup + trajectory.group + (trajectory.subgroup ?? 0) * groupNumbers,
    baselineReward: trajectory.baselineReward ?? earned.get(trajectory.group) ?? null,
  }))
  const known = [...answers.map(({ baselineReward }) => baselineReward), ...earned.values()]
  return { trajectories, baselines: known.filter((reward) => reward !== null) }
}

/** Larger than the number of prompts in any step. */
const groupNumbers = 2 ** 32

/** Tells whether the greedy answer is still needed; a workflow may have generated it. */
const isCompared = ({ baselineReward, workflow }: UnscoredTrajectory): boolean =>
  baselineReward === null && (workflow === undefined || workflow.end === 'returned')

function baselineMetrics(rounds: readonly Round[]): Metrics {
  const rewards = rounds.flatMap(({ baselines }) => baselines)
  if (rewards.length === 0) return {}
  return { 'reward/greedy_baseline': rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length }
}
