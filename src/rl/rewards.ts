/**
 * Rewards: what a trajectory is worth. Several named functions score each completion; their weighted sum is the
 * reward the algorithm sees, and every part stays visible under its own name.
 *
 * A function answers `null` where it does not apply: that part is left out of the sum. A completion no function
 * applies to has no reward at all (total `null`) and takes no part in learning (the contract of TRL's reward functions).
 *
 * One number counts for the last turn. A function may instead say what each token or each turn earned; its part is the sum.
 */
import { AppError } from '#shared/errors.ts'
import type { PlacedReward, Reward, RewardFailure } from './rollout/trajectory.ts'

/** A token that the policy generated. */
export interface GeneratedToken {
  readonly id: number
  /** Joined they are the text, special tokens included. */
  readonly text: string
  /** As the sampler recorded it, nats; null where it recorded none. */
  readonly logprob: number | null
  /** Turn of the policy, from 0. */
  readonly turn: number
}

/** What a reward function may look at. `row` is the data set row of the prompt, every column of it. */
export interface RewardInput {
  readonly prompt: string
  readonly completion: string
  readonly row: Readonly<Record<string, unknown>>
  /** Step of the run the completion was generated in; 0 where there is none. */
  readonly step: number
  /** Of all turns, in order. null: the text was not generated here; absent: nobody asked. */
  readonly tokens?: readonly GeneratedToken[] | null
  /** Tokens of each turn of the policy; absent where the text was not generated here. */
  readonly turnLengths?: readonly number[]
}

/** What a function says about one completion: higher is better, `null` = does not apply; or why it can say nothing. */
export type RewardAnswer = Valued | RewardFault

interface Valued {
  /** Where tokens or turns have rewards of their own, their sum. */
  readonly value: number | null
  /** One per generated token of all turns. */
  readonly perToken?: readonly number[] | undefined
  /** One per turn of the policy. */
  readonly perTurn?: readonly number[] | undefined
  /** What it logged to look at. */
  readonly columns?: Readonly<Record<string, unknown>>
  /** What it logged to chart. */
  readonly metrics?: Readonly<Record<string, number>>
}

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
  /** Whether it wants `tokens`, which take time to prepare. */
  readonly needsTokens?: boolean
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
      inputs[i]!.turnLengths,
    ),
  )
}

export interface Answered {
  readonly spec: Pick<RewardSpec, 'name' | 'weight'>
  readonly answer: RewardAnswer | undefined
}

/** One completion's reward from the answers of all functions. Errors as scoreRewards. */
export function combinedReward(
  answers: readonly Answered[],
  onFailure: RewardFailurePolicy,
  turnLengths?: readonly number[],
): Reward {
  const parts: Record<string, number | null> = {}
  const failures: RewardFailure[] = []
  const [logged, metrics]: [Record<string, unknown>, Record<string, number>] = [{}, {}]
  let total: number | null = null
  let placed = nowhere
  for (const { spec, answer: given } of answers) {
    const answer = checked(given, spec.weight, turnLengths)
    let part: number | null
    if ('failure' in answer) {
      const message = sentenceOf(answer)
      if (onFailure === 'fail') throw rewardFailed(spec.name, message)
      failures.push({ name: spec.name, message })
      part = onFailure === 'zero' ? 0 : null
      placed = withAnswer(placed, spec.weight, { value: part })
    } else {
      part = answer.value
      placed = withAnswer(placed, spec.weight, answer)
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
    ...notEmpty('logged', logged),
    ...notEmpty('metrics', metrics),
    ...withPlaces(placed),
  }
}

/** A field with what there is to say; none where that is nothing. */
export const notEmpty = <Name extends string, Entries extends object>(
  name: Name,
  entries: Entries,
): Partial<Record<Name, Entries>> =>
  (Object.keys(entries).length === 0 ? {} : { [name]: entries }) as Partial<Record<Name, Entries>>

const nowhere: PlacedReward = { last: null, perTurn: null, perToken: null }

const withPlaces = (placed: PlacedReward): Pick<Reward, 'placed'> =>
  placed.perTurn === null && placed.perToken === null ? {} : { placed }

/** With what another function says of the same completion. */
function withAnswer({ last, perTurn, perToken }: PlacedReward, weight: number, answer: Valued): PlacedReward {
  const { value } = answer
  const isWhole = answer.perToken === undefined && answer.perTurn === undefined
  return {
    last: isWhole && value !== null ? (last ?? 0) + weight * value : last,
    perTurn: added(perTurn, answer.perTurn, weight),
    perToken: added(perToken, answer.perToken, weight),
  }
}

function added(
  sums: readonly number[] | null,
  values: readonly number[] | undefined,
  weight: number,
): readonly number[] | null {
  return values?.map((value, i) => (sums?.[i] ?? 0) + weight * value) ?? sums
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

function checked(
  answer: RewardAnswer | undefined,
  weight: number,
  turnLengths: readonly number[] | undefined,
): RewardAnswer {
  if (answer === undefined)
    return { failure: { message: 'The function returned nothing for this completion.' } }
  if ('failure' in answer || answer.value === null) return answer
  const { value, perToken = [], perTurn = [] } = answer
  const faults = [value, ...perToken, ...perTurn].map((each) => rewardFault(each, weight))
  const message = faults.find((fault) => fault !== null) ?? lengthFault(answer, turnLengths)
  return message === null ? answer : { failure: { message } }
}

/** Rewards of tokens or turns that are not there, as a sentence. */
function lengthFault(
  { perToken, perTurn }: Valued,
  turnLengths: readonly number[] | undefined,
): string | null {
  if (turnLengths === undefined) return null
  const tokens = turnLengths.reduce((sum, length) => sum + length, 0)
  const expected = (what: string, needed: number, got: number) =>
    needed === got ? null : `Expected ${needed} rewards, one per ${what}, got ${got}.`
  return (
    (perToken && expected('token', tokens, perToken.length)) ??
    (perTurn && expected('turn', turnLengths.length, perTurn.length)) ??
    null
  )
}

export const faultOf = (error: unknown): RewardFault => ({
  failure: { message: error instanceof Error ? error.message : String(error) },
})

const sentenceOf = ({ failure: { message, line = null, column = null } }: RewardFault): string =>
  line === null ? message : `${message} (line ${line}${column === null ? '' : `, column ${column}`})`

function rewardFailed(name: string, message: string): AppError {
  return new AppError(
    'reward/failed',
    `The reward function “${name}” failed: ${message}`,
    'Correct the function, or let failures count as “null” or “zero” in the reward settings.',
  )
}
