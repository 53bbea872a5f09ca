/**
 * Defines reward functions: what they may look at, and what they may return. trajectoryRewards.ts makes rewards of it.
 *
 * A function answers `null` where it does not apply. One number counts for the last turn; a function may instead return
 * what each token or each turn earned.
 */

export interface GeneratedToken {
  readonly id: number
  /** Joined they are the text, special tokens included. */
  readonly text: string
  /** Log-probability as the sampler recorded it, nats; null where it recorded none. */
  readonly logprob: number | null
  /** Turn of the policy, from 0. */
  readonly turn: number
}

/** Input of a reward function. `row` is the data set row of the prompt, every column of it. */
export interface RewardInput {
  readonly prompt: string
  readonly completion: string
  readonly row: Readonly<Record<string, unknown>>
  /** Step of the run in which the completion was generated; 0 outside a run. */
  readonly step: number
  /** Tokens of all turns, in order. null: the text was not generated here; absent: nobody asked. */
  readonly tokens?: readonly GeneratedToken[] | null
  /** Tokens of each turn of the policy; absent where the text was not generated here. */
  readonly turnLengths?: readonly number[]
}

/** Answer of a function about one completion: higher is better, `null` = does not apply; or why it can say nothing. */
export type RewardAnswer = Valued | RewardFault

export interface Valued {
  /** Reward; the sum where tokens or turns have rewards of their own. */
  readonly value: number | null
  /** One per generated token of all turns. */
  readonly perToken?: readonly number[] | undefined
  /** Rewards, one per turn of the policy. */
  readonly perTurn?: readonly number[] | undefined
  /** Logged values to look at. */
  readonly columns?: Readonly<Record<string, unknown>>
  /** Logged numbers to chart. */
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
  /** True if it wants `tokens`, which take time to prepare. */
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

export const faultOf = (error: unknown): RewardFault => ({
  failure: { message: error instanceof Error ? error.message : String(error) },
})

/** A reward function in a run: the name it is charted under and its weight in the sum. */
export interface RewardSpec {
  readonly function: RewardFunction
  readonly weight: number
  readonly name: string
}

/** Means, and the squares of a standard deviation, over a batch of such rewards are numbers still. */
const largestReward = 1e100

/** Reason why a reward cannot be learned from, as a sentence; null where it can. `weight`: factor of the reward. */
export function rewardFault(value: number, weight = 1): string | null {
  if (!Number.isFinite(value)) {
    const got = typeof value === 'number' ? String(value) : typeof value
    return `Expected a finite number or null, got ${got}.`
  }
  if (Math.max(Math.abs(value), Math.abs(value * weight)) <= largestReward) return null
  const times = weight === 1 ? '' : ` with its weight of ${weight}`
  return `A reward of ${value}${times} is too large to take the mean of; ${largestReward} is the limit.`
}
