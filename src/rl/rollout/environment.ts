/**
 * Environments: worlds a policy acts in, turn by turn. The state of an episode is a plain JSON value that goes in and
 * comes out of every call, so an environment remembers nothing: built-in ones and those of a person's own code are one
 * thing, a crash loses no episode, and the members of a group can begin at the very same place.
 */
import type { ToolCall } from '#engine/text/toolCalls.ts'
import type { ChatMessage } from '#shared/messages.ts'
import type { DataRow } from './prompts.ts'
import type { RewardFault } from '../rewards.ts'

/** Observation that the policy reads next: the text of a user message, or messages as they are. */
export type Observation = string | readonly ChatMessage[]

/** `row` is the data set row of the episode. The same row and seed begin the same episode. */
export interface EpisodeStart {
  readonly row: DataRow
  readonly seed: number
}

/** `seed` differs from turn to turn. */
export interface EpisodeAction extends EpisodeStart {
  readonly state: unknown
  /** Text of the policy's turn, special tokens left out; of a turn that calls tools, what it says besides. */
  readonly action: string
  /** Calls of the tools that the reset offered; absent: none. */
  readonly calls?: readonly ToolCall[]
}

/** Answer of an environment after reset (no reward, not over) or step. */
export interface EnvironmentTurn {
  /** State of the episode, any JSON. */
  readonly state: unknown
  /** null where there is nothing more to read. */
  readonly observation: Observation | null
  /** Descriptions of functions that the policy may call, in the answer to a reset; absent: none. */
  readonly tools?: readonly unknown[]
  /** Text put before a text observation. */
  readonly prefix?: string
  /** Text put below a text observation. */
  readonly suffix?: string
  /** Reward of the turn; null = this turn is worth nothing either way. */
  readonly reward: number | null
  /** True when the task itself is over: nothing more can be earned. */
  readonly terminated: boolean
  /** The episode is broken off although more could be earned. Beside `terminated` it says nothing. */
  readonly truncated?: boolean
  /** Logged values to look at. */
  readonly columns?: Readonly<Record<string, unknown>>
  /** Logged numbers to chart; `correct` (0 or 1) says whether the task was solved. */
  readonly metrics?: Readonly<Record<string, number>>
}

export type EnvironmentAnswer = EnvironmentTurn | RewardFault

export const isOver = ({
  terminated,
  truncated,
}: Pick<EnvironmentTurn, 'terminated' | 'truncated'>): boolean => terminated || truncated === true

/** Answers many episodes together, in order. An error in one of them becomes its answer. */
export interface Environment {
  readonly id: string
  readonly description: string
  /** Turns an episode may have where a run does not say. */
  readonly maxTurns: number
  /** The same of an episode that begins with this row; absent where all are alike. Errors: AppError 'config/invalid'. */
  readonly turnsOf?: (row: DataRow) => number
  reset(starts: readonly EpisodeStart[]): Promise<readonly EnvironmentAnswer[]>
  step(actions: readonly EpisodeAction[]): Promise<readonly EnvironmentAnswer[]>
}

/** The words of an observation, prefix and suffix in place. */
export function framedObservation({
  observation,
  prefix = '',
  suffix = '',
}: Pick<EnvironmentTurn, 'observation' | 'prefix' | 'suffix'>): Observation {
  if (observation !== null && typeof observation !== 'string') return observation
  return `${prefix}${observation ?? ''}${suffix === '' ? '' : `\n${suffix}`}`
}

/**
 * Adds a bonus where an episode terminates with an answer in <answer> tags that is not right, so that the form is learned
 * before the content. Right is what the environment's metric `correct` says, else a reward above 0.
 */
export function withFormatBonus(environment: Environment, bonus: number): Environment {
  const earns = (answer: EnvironmentTurn, action: string): boolean => {
    const correct = answer.metrics?.['correct'] ?? answer.reward ?? 0
    return answer.terminated && action.includes('<answer>') && !(correct > 0)
  }
  return {
    ...environment,
    reset: (starts) => environment.reset(starts),
    async step(actions) {
      const answers = await environment.step(actions)
      return answers.map((answer, i) =>
        'failure' in answer || !earns(answer, actions[i]!.action)
          ? answer
          : { ...answer, reward: (answer.reward ?? 0) + bonus },
      )
    },
  }
}
