/**
 * Rewards: what a trajectory is worth. Several named functions score each completion; their weighted sum is the
 * reward the algorithm sees, and every part stays visible under its own name.
 *
 * A function answers `null` where it does not apply: that part is left out of the sum. A completion no function
 * applies to has no reward at all (total `null`) and takes no part in learning (the contract of TRL's reward functions).
 */
import { AppError } from '#shared/errors.ts'

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
  readonly failure: string
  /** Position in user-written code, from 1. */
  readonly line?: number
  readonly column?: number
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
        return { failure: sentenceOf(error) }
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

export interface RewardFailure {
  /** Name of the part. */
  readonly name: string
  readonly message: string
}

export interface Reward {
  /** Unweighted answer of each function, by name. */
  readonly parts: Readonly<Record<string, number | null>>
  /** Weighted sum over the parts that apply; `null` when none does. */
  readonly total: number | null
  readonly failures: readonly RewardFailure[]
  /** Columns the functions logged; absent where none did. */
  readonly logged?: Readonly<Record<string, unknown>>
  /** Numbers the functions logged; absent where none did. */
  readonly metrics?: Readonly<Record<string, number>>
}

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
  return inputs.map((_, i) => {
    const ofSample = specs.map((spec, k) => ({ spec, answer: checked(answers[k]?.[i], spec.weight) }))
    return combined(ofSample, onFailure)
  })
}

interface Answered {
  readonly spec: RewardSpec
  readonly answer: RewardAnswer
}

function combined(answers: readonly Answered[], onFailure: RewardFailurePolicy): Reward {
  const parts: Record<string, number | null> = {}
  const failures: RewardFailure[] = []
  const [logged, metrics]: [Record<string, unknown>, Record<string, number>] = [{}, {}]
  let total: number | null = null
  for (const { spec, answer } of answers) {
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
    return inputs.map(() => ({ failure: sentenceOf(error) }))
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
  if (answer === undefined) return { failure: 'The function gave no answer for this completion.' }
  if ('failure' in answer || answer.value === null) return answer
  const failure = rewardFault(answer.value, weight)
  return failure === null ? answer : { failure }
}

const sentenceOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const placed = ({ failure, line, column }: RewardFault): string =>
  line === undefined
    ? failure
    : `${failure} (line ${line}${column === undefined ? '' : `, column ${column}`})`

function rewardFailed(name: string, message: string): AppError {
  return new AppError(
    'reward/failed',
    `The reward function “${name}” failed: ${message}`,
    'Correct the function, or let failures count as “null” or “zero” in the reward settings.',
  )
}
