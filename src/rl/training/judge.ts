/** Prompts completed and scored outside of training: group after group, each as soon as its last trajectory is done. */
import type { PhaseProgress } from '#shared/events.ts'
import { rewardTrajectories, type RewardOptions } from '../rollout/trajectoryRewards.ts'
import type { Prompt } from '../rollout/prompts.ts'
import type { Trajectory, UnscoredTrajectory } from '../rollout/trajectory.ts'
import type { RollOut } from './rollOut.ts'

export interface JudgingOptions {
  readonly rollOut: RollOut
  /** Trajectories per prompt. */
  readonly samples: number
  readonly isGreedy: boolean
  /** Prompts that are rolled out together: episodes are available only when all of them are over. */
  readonly promptsAtOnce: number
  readonly judging: Omit<RewardOptions, 'step'>
  readonly onProgress: (done: PhaseProgress) => void
  readonly onGroup: (group: readonly Trajectory[]) => Promise<void>
}

/** Resolves when the last group has been handled. Errors: those of rollouts, of rewards and of `onGroup`. */
export async function judgePrompts(prompts: readonly Prompt[], options: JudgingOptions): Promise<void> {
  const { rollOut, samples: groupSize, isGreedy, promptsAtOnce, onProgress } = options
  const judge = new Judge(options)
  const total = prompts.length * groupSize
  for (let from = 0; from < prompts.length; from += promptsAtOnce) {
    const request = { groupSize, isGreedy, step: 0, source: 'evaluation' as const }
    const before = from * groupSize
    await rollOut(prompts.slice(from, from + promptsAtOnce), {
      ...request,
      onProgress: ({ done }) => onProgress({ done: before + done, total }),
      onGroup: (group) => judge.add(group),
    })
    await judge.finish()
  }
}

/** Scores while others are still being generated; what finishes in the meantime is scored together. */
class Judge {
  readonly #options: JudgingOptions
  readonly #waiting: (readonly UnscoredTrajectory[])[] = []
  #working: Promise<void> | null = null
  #failure: { readonly error: unknown } | null = null

  constructor(options: JudgingOptions) {
    this.#options = options
  }

  /** Errors: what judging failed with meanwhile. */
  add(group: readonly UnscoredTrajectory[]): void {
    if (this.#failure !== null) throw this.#failure.error
    this.#waiting.push(group)
    this.#working ??= this.#work()
  }

  async finish(): Promise<void> {
    await this.#working
    if (this.#failure !== null) throw this.#failure.error
  }

  async #work(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const groups = this.#waiting.splice(0)
        const judged = await rewardTrajectories(groups.flat(), { ...this.#options.judging, step: 0 })
        for (const group of Map.groupBy(judged, (trajectory) => trajectory.group).values())
          await this.#options.onGroup(group)
      }
    } catch (error) {
      this.#failure = { error }
    } finally {
      this.#working = null
    }
  }
}
