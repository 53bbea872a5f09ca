/**
 * Defines the job of scoring one completion with the rewards of a run: a pattern among their settings may never come to
 * an end.
 */
import { AppError } from '#shared/errors.ts'
import type { RewardInput } from '#rl/rewards.ts'
import type { Reward } from '#rl/rollout/trajectory.ts'
import type { RewardsConfig } from '#host/code/resolveRewards.ts'
import { firstItem, type Ask, type Job } from '#host/processes/job.ts'
import { Overrun, type WorkLimit } from '#host/processes/workLimit.ts'

export interface ScoringInput {
  readonly config: RewardsConfig
  readonly runDirectory: string
  readonly cacheDirectory: string
  /** File of this machine's consents to Python; absent: no Python runs. */
  readonly consents?: string
  readonly input: RewardInput
}

export const scoringJob: Job<'scoring', ScoringInput, Reward> = { name: 'scoring' }

/** Errors: AppError 'reward/failed' when it takes more than the limit; those of resolving the rewards. */
export async function scoredWithin(
  limit: WorkLimit,
  ask: Ask,
  input: ScoringInput,
  signal: AbortSignal,
): Promise<Reward> {
  try {
    return await firstItem(ask(scoringJob, input, signal, limit))
  } catch (error) {
    if (!(error instanceof Overrun)) throw error
    throw new AppError(
      'reward/failed',
      `Scoring the text with the rewards of this run was stopped because ${error.message}.`,
      'Nothing was changed. They may take too long on this text: try a shorter one.',
      error,
    )
  }
}
