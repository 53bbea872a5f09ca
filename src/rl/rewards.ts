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
}

/** Scores one completion; higher is better, `null` = does not apply to this row. It may throw: that is data. */
export interface RewardFunction {
  readonly id: string
  readonly description: string
  score(input: RewardInput): number | null | Promise<number | null>
}

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
}

/** Scores a batch, in order. Throws only under the policy `fail` (`reward/failed`). */
export async function scoreRewards(
  specs: readonly RewardSpec[],
  inputs: readonly RewardInput[],
  onFailure: RewardFailurePolicy,
): Promise<Reward[]> {
  return Promise.all(inputs.map((input) => scoreOne(specs, input, onFailure)))
}

async function scoreOne(
  specs: readonly RewardSpec[],
  input: RewardInput,
  onFailure: RewardFailurePolicy,
): Promise<Reward> {
  const parts: Record<string, number | null> = {}
  const failures: RewardFailure[] = []
  let total: number | null = null
  for (const spec of specs) {
    const answer = await askFunction(spec, input)
    if (typeof answer === 'string') {
      failures.push({ name: spec.name, message: answer })
      if (onFailure === 'fail') throw rewardFailed(spec.name, answer)
    }
    const part = typeof answer === 'string' ? (onFailure === 'zero' ? 0 : null) : answer
    parts[spec.name] = part
    if (part !== null) total = (total ?? 0) + spec.weight * part
  }
  return { parts, total, failures }
}

/** The part's value, or a sentence saying why there is none. */
async function askFunction(spec: RewardSpec, input: RewardInput): Promise<number | null | string> {
  try {
    const answer: unknown = await spec.function.score(input)
    if (answer === null || (typeof answer === 'number' && Number.isFinite(answer))) return answer
    const got = typeof answer === 'number' ? String(answer) : typeof answer
    return `Expected a finite number or null, got ${got}.`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function rewardFailed(name: string, message: string): AppError {
  return new AppError(
    'reward/failed',
    `The reward function "${name}" failed: ${message}`,
    'Correct the function, or let failures count as "null" or "zero" in the reward settings.',
  )
}
