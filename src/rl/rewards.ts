/**
 * Rewards: what a trajectory is worth. Several named functions score each completion; their weighted sum is the
 * reward the algorithm sees, and every part stays visible under its own name.
 *
 * A function answers `null` where it does not apply: that part is left out of the sum. A completion no function
 * applies to has no reward at all (total `null`) and takes no part in learning (the contract of TRL's reward functions).
 */
import { AppError } from '#shared/errors.ts'
import type {
  EpisodeOutcome,
  Reward,
  RewardFailure,
  Trajectory,
  UnscoredTrajectory,
} from './rollout/trajectory.ts'

/** What a reward function may look at. `row` is the data set row of the prompt, every column of it. */
export interface RewardInput {
  readonly prompt: string
  readonly completion: string
  readonly row: Readonly<Record<string, unknown>>
  /** Step of the run the completion was generated in; 0 where there is none. */
  readonly step: number
}

/** What a function says about one completion: higher is better, `null` = does not apply; or why it can say nothing. */
export type RewardAnswer =
  | {
      readonly value: number | null
      /** What it logged to look at. */
      readonly columns?: Readonly<Record<string, unknown>>
      /** What it logged to chart. */
      readonly metrics?: Readonly<Record<string, number>>
    }
  | RewardFault

export interface RewardFault {
  readonly failure: {
    readonly message: string
    /** Position in user-written code, from 1; null or absent where it is not known. */
    readonly line?: number | null
    readonly column?: number | null
  }
}

/** Scores completions together, in order. What goes wrong with one of them is its answer. */
export interface RewardFunction {
  readonly id: string
  readonly description: string
  score(inputs: readonly RewardInput[]): readonly RewardAnswer[] | Promise<readonly RewardAnswer[]>
}

/** One completion's score. */
export type SampleScore = (input: RewardInput) => number | null

/** Makes a batch function of one for single completions; what it throws is that completion's answer. */
export const eachSample =
  (score: SampleScore) =>
  (inputs: readonly RewardInput[]): RewardAnswer[] =>
    inputs.map((input) => {
      try {
        return { value: score(input) }
      } catch (error) {
        return faultOf(error)
      }
    })

/** A reward function in a run: the name it is charted under and its weight in the sum. */
export interface RewardSpec {
  readonly function: RewardFunction
  readonly weight: number
  readonly name: string
}

/** What becomes of a part whose function failed: left out, counted as 0, or the run ends. */
export type RewardFailurePolicy = 'null' | 'zero' | 'fail'

/**
 * Scores a batch, in order. Throws `reward/failed` under the policy `fail`, and what keeps a function from working at
 * all (an AppError of its own).
 */
export async function scoreRewards(
  specs: readonly RewardSpec[],
  inputs: readonly RewardInput[],
  onFailure: RewardFailurePolicy,
): Promise<Reward[]> {
  const answers = await Promise.all(specs.map((spec) => askFunction(spec, inputs)))
  return inputs.map((_, i) =>
    combinedReward(
      specs.map((spec, k) => ({ spec, answer: answers[k]?.[i] })),
      onFailure,
    ),
  )
}

export interface Answered {
  readonly spec: Pick<RewardSpec, 'name' | 'weight'>
  readonly answer: RewardAnswer | undefined
}

/** One completion's reward from the answers of all functions. Errors as scoreRewards. */
export function combinedReward(answers: readonly Answered[], onFailure: RewardFailurePolicy): Reward {
  const parts: Record<string, number | null> = {}
  const failures: RewardFailure[] = []
  const [logged, metrics]: [Record<string, unknown>, Record<string, number>] = [{}, {}]
  let total: number | null = null
  for (const { spec, answer: given } of answers) {
    const answer = checked(given, spec.weight)
    let part: number | null
    if ('failure' in answer) {
      const message = placed(answer)
      if (onFailure === 'fail') throw rewardFailed(spec.name, message)
      failures.push({ name: spec.name, message })
      part = onFailure === 'zero' ? 0 : null
    } else {
      part = answer.value
      Object.assign(logged, ownNames(spec.name, answer.columns, logged))
      Object.assign(metrics, ownNames(spec.name, answer.metrics, metrics))
    }
    parts[spec.name] = part
    if (part !== null) total = (total ?? 0) + spec.weight * part
  }
  return {
    parts,
    total,
    failures,
    ...(Object.keys(logged).length === 0 ? {} : { logged }),
    ...(Object.keys(metrics).length === 0 ? {} : { metrics }),
  }
}

/** Where two functions log under one name, the second's gets its function's name in front. */
function ownNames<T>(
  name: string,
  logged: Readonly<Record<string, T>> | undefined,
  taken: Readonly<Record<string, T>>,
): Record<string, T> {
  const entries = Object.entries(logged ?? {})
  return Object.fromEntries(
    entries.map(([key, value]) => [Object.hasOwn(taken, key) ? `${name}.${key}` : key, value]),
  )
}

/** One answer per input; a function that throws gives none of them any. */
async function askFunction(
  spec: RewardSpec,
  inputs: readonly RewardInput[],
): Promise<readonly RewardAnswer[]> {
  try {
    return await spec.function.score(inputs)
  } catch (error) {
    if (error instanceof AppError) throw error
    return inputs.map(() => faultOf(error))
  }
}

/** Means, and the squares of a standard deviation, over a batch of such rewards are numbers still. */
const largestReward = 1e100

/** Why a reward cannot be learned from, as a sentence; null where it can. `weight`: what it counts with. */
export function rewardFault(value: number, weight = 1): string | null {
  if (!Number.isFinite(value)) {
    const got = typeof value === 'number' ? String(value) : typeof value
    return `Expected a finite number or null, got ${got}.`
  }
  if (Math.max(Math.abs(value), Math.abs(value * weight)) <= largestReward) return null
  const times = weight === 1 ? '' : ` with its weight of ${weight}`
  return `A reward of ${value}${times} is too large to take the mean of; ${largestReward} is the limit.`
}

function checked(answer: RewardAnswer | undefined, weight: number): RewardAnswer {
  if (answer === undefined)
    return { failure: { message: 'The function returned nothing for this completion.' } }
  if ('failure' in answer || answer.value === null) return answer
  const message = rewardFault(answer.value, weight)
  return message === null ? answer : { failure: { message } }
}

export const faultOf = (error: unknown): RewardFault => ({
  failure: { message: error instanceof Error ? error.message : String(error) },
})

const placed = ({ failure: { message, line = null, column = null } }: RewardFault): string =>
  line === null ? message : `${message} (line ${line}${column === null ? '' : `, column ${column}`})`

function rewardFailed(name: string, message: string): AppError {
  return new AppError(
    'reward/failed',
    `The reward function “${name}” failed: ${message}`,
    'Correct the function, or let failures count as “null” or “zero” in the reward settings.',
  )
}

export interface RewardOptions {
  readonly rewards: readonly RewardSpec[]
  readonly onFailure: RewardFailurePolicy
  readonly step: number
}

/**
 * Adds the rewards: those of the environment turn by turn, and those of the reward functions, which judge the last thing
 * the policy said and count for its last turn. A trajectory without any reward teaches nothing.
 */
export async function rewardTrajectories(
  trajectories: readonly UnscoredTrajectory[],
  { rewards, onFailure, step }: RewardOptions,
): Promise<Trajectory[]> {
  const inputs = trajectories.map(({ prompt, completion, episode }) => ({
    prompt: prompt.text,
    completion: episode?.lastAction ?? completion,
    row: prompt.columns,
    step,
  }))
  const scored = await scoreRewards(rewards, inputs, onFailure)
  return trajectories.map((trajectory, i) => {
    const judged = scored[i]!
    if (trajectory.episode !== null) {
      return { ...trajectory, ...episodeRewards(trajectory.episode, judged, onFailure) }
    }
    return { ...trajectory, reward: judged, turnRewards: judged.total === null ? [] : [judged.total] }
  })
}

/** Name under which an environment's own reward is charted. */
const environmentPart = 'environment'

function episodeRewards(
  episode: EpisodeOutcome,
  judged: Reward,
  onFailure: RewardFailurePolicy,
): Pick<Trajectory, 'reward' | 'turnRewards'> {
  const own = environmentReward(episode, onFailure)
  const isLeftOut = episode.turns === 0 || (episode.failure !== null && own === null)
  const total = isLeftOut ? null : sumOf([own, judged.total])
  const failures = episode.failure === null ? [] : [{ name: environmentPart, message: episode.failure }]
  const reward: Reward = {
    parts: { [environmentPart]: own, ...judged.parts },
    total,
    failures: [...failures, ...judged.failures],
    logged: { ...episode.columns, ...judged.logged },
    metrics: { ...episode.metrics, ...judged.metrics },
  }
  const last = episode.turns - 1
  const turnRewards = episode.turnRewards.map(
    (value, k) => sumOf([value, k === last ? judged.total : null]) ?? 0,
  )
  return { reward, turnRewards: total === null ? [] : turnRewards }
}

/** null where the environment gave none, or failed and failures count for nothing. Errors: `environment/failed`. */
function environmentReward(
  { failure, total }: EpisodeOutcome,
  onFailure: RewardFailurePolicy,
): number | null {
  if (failure === null) return total
  if (onFailure === 'fail') throw environmentFailed(failure)
  return onFailure === 'zero' ? (total ?? 0) : null
}

/** null where nothing is there to add. */
function sumOf(values: readonly (number | null)[]): number | null {
  const given = values.filter((value) => value !== null)
  return given.length === 0 ? null : given.reduce((sum, value) => sum + value, 0)
}

const environmentFailed = (failure: string): AppError =>
  new AppError(
    'environment/failed',
    `The environment failed: ${failure}`,
    'Correct the environment, or let rewardFailures leave such episodes out.',
  )
