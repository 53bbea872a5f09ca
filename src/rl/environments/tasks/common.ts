import type { SequentialRandom } from '#shared/random.ts'
import type { Doubt } from '../common.ts'
import type { EnvironmentTurn, Observation } from '#rl/rollout/environment.ts'
import type { DataRow } from '#rl/rollout/prompts.ts'

/** A setting of a built-in environment: flat, so that a form and a config file can hold it. */
export type TaskSettings = Readonly<Record<string, string | number | boolean>>

/** Texts that have to do with a query, at most `count`, best first. Errors: a sentence on why there are none. */
export type Retrieve = (query: string, count: number, signal: AbortSignal) => Promise<readonly string[]>

/** Services from outside that an environment gets if its settings ask for them. */
export interface TaskServices {
  readonly retrieve?: Retrieve
}

export interface TaskStart {
  readonly row: DataRow
  readonly random: SequentialRandom
  /** Seed of `random`, for worlds with a generator of their own. */
  readonly seed: number
}

export interface TaskAction<State> extends TaskStart {
  readonly state: State
  readonly action: string
}

export interface TaskOpening<State> {
  readonly state: State
  readonly observation: Observation
}

/** Result of a step; what it leaves out is: the same state, nothing to read, no reward, not over. */
export type TaskTurn<State> = Partial<Omit<EnvironmentTurn, 'state'>> & { readonly state?: State }

/** The world with its settings applied. */
export interface TaskWorld<State> {
  readonly maxTurns: number
  reset(start: TaskStart): TaskOpening<State>
  step(action: TaskAction<State>): TaskTurn<State> | Promise<TaskTurn<State>>
}

/** A built-in environment: a name, words for the picker, and settings that a run may change one by one. */
export interface Task<State = unknown, Settings extends TaskSettings = TaskSettings> {
  readonly id: string
  readonly description: string
  readonly settings: Settings
  /** Errors: AppError 'config/invalid' for settings that cannot be. */
  create(settings: Settings, services: TaskServices): TaskWorld<State>
  /** Returns doubts about settings that work but are probably not meant. */
  doubts?(settings: Settings): readonly Doubt[]
}

/** Keeps the types of state and settings while the file defines its task. */
export const defineTask = <State, Settings extends TaskSettings>(task: Task<State, Settings>) => task

/** The last thing between <answer> tags, trimmed; null without any. */
export function taggedAnswer(text: string): string | null {
  const found = [...text.matchAll(/<answer>(.*?)<\/answer>/gs)].at(-1)
  return found?.[1]?.trim() ?? null
}

/** The last whole number of a text; null without any. A sign counts where no word or number stands before it. */
export function lastInteger(text: string): number | null {
  const found = text.match(/(?:(?<![\p{L}\p{N}_)])[-−])?\d+/gu)?.at(-1)
  return found === undefined ? null : Number(found.replace('−', '-'))
}

/** Returns true for a number of turns that an episode may have. */
export const isTurns = (turns: number): boolean => Number.isInteger(turns) && turns >= 1 && turns <= 1000

/** Ends an episode with 1 or 0. */
export const judged = (isRight: boolean) => ({
  reward: isRight ? 1 : 0,
  terminated: true,
  metrics: { correct: isRight ? 1 : 0 },
})
