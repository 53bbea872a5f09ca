/** An episode of a workflow while it is open: its requests, and the answers it received. */
import type { SamplingOptions } from '#engine/policy.ts'
import type { ToolCall } from '#engine/text/toolCalls.ts'
import { randomStream, type RandomStream } from '#shared/random.ts'
import type { RewardFault } from '../rewards.ts'
import type { AskedRequest } from './workflow.ts'
import { chanceOf, seedAt } from './episodes.ts'
import type { Prompt } from './prompts.ts'
import type { UnscoredTrajectory } from './trajectory.ts'
import type { Continuation } from './workflowTools.ts'
import type { EndedEpisode, Generated } from './workflowTrajectory.ts'

export interface EpisodeBatch {
  readonly prompts: readonly Prompt[]
  /** Episodes per row. */
  readonly groupSize: number
  readonly seed: number
  readonly step: number
  /** Steps that the policy has learned from; absent: all before. */
  readonly version?: number
  readonly source: 'training' | 'evaluation'
  /** Row → how often it was already rolled out in this step. */
  readonly earlier?: ReadonlyMap<number, number>
}

export interface OpenEpisode {
  readonly row: Prompt
  readonly group: number
  /** Continues to count if a row occurs twice in a step. */
  readonly sample: number
  readonly seed: number
  /** Random stream of the environment. */
  readonly chance: RandomStream
  /** Texts of its requests, with their answers. */
  readonly asked: string[]
  readonly answers: unknown[]
  /** Answers of the tokenizer, by question. */
  readonly textAnswers: Record<string, unknown>
  readonly generated: Generated[]
  /** Prompts whose text is known. */
  readonly prompts: Pick<Prompt, 'text' | 'ids'>[]
  readonly continuations: Continuation[]
  /** Completions of this round that are still generated. */
  waiting: number
  /** Sampled requests so far, and steps of the environment. */
  drawn: number
  steps: number
  tokens: number
  rounds: number
  /** Lines of its code that were told of. */
  printed: number
  /** null while it goes on. */
  result: readonly UnscoredTrajectory[] | null
}

/** News of an episode, for observers. Requests are numbered from 0. */
export type EpisodeNews =
  | {
      readonly type: 'request'
      readonly number: number
      /** Number of the round, from 1; requests of one round are answered together. */
      readonly round: number
      readonly request: AskedRequest['request']
    }
  /** Prompt that the policy reads and how it is sampled; absent where the prompt leaves no room. */
  | {
      readonly type: 'prompt'
      readonly number: number
      readonly ids: Int32Array
      readonly sampling: SamplingOptions
    }
  | {
      readonly type: 'completions'
      readonly number: number
      readonly completions: readonly ToldCompletion[]
    }
  | { readonly type: 'answer'; readonly number: number; readonly answer: unknown }
  | { readonly type: 'printed'; readonly lines: readonly string[] }
  | ({ readonly type: 'failed' } & RewardFault['failure'])

/** A completion as the workflow code receives it. */
export interface ToldCompletion {
  /** Text; of an answer that calls tools, without the calls. */
  readonly text: string
  /** Calls of the tools that were offered; absent: none. */
  readonly toolCalls?: readonly ToolCall[]
  readonly ids: readonly number[]
  readonly logprobs: readonly number[]
  /** Steps that the policy had learned from. */
  readonly version: number
  /** `context`: the prompt left no room. */
  readonly finishReason: 'stop' | 'length' | 'context'
}

/** Keeps the random numbers of workflows apart from all others. */
const EPISODE_PURPOSE = 0x0f10
const sourceNumbers = { training: 0, evaluation: 1 } as const

/** Groups in order, samples in order. */
export function openEpisodes(batch: EpisodeBatch): OpenEpisode[] {
  const { prompts, groupSize, seed, step, source } = batch
  const seen = new Map(batch.earlier)
  const when = source === 'training' ? step : 0
  return prompts.flatMap((row, group) => {
    const earlier = seen.get(row.row) ?? 0
    seen.set(row.row, earlier + 1)
    const chance = chanceOf(batch, row.row, earlier)
    return Array.from({ length: groupSize }, (_, i): OpenEpisode => {
      const sample = earlier * groupSize + i
      const own = randomStream(seed, EPISODE_PURPOSE, sourceNumbers[source], when, row.row, sample)
      return {
        row,
        group,
        sample,
        chance,
        seed: seedAt(own, 0),
        asked: [],
        answers: [],
        generated: [],
        prompts: row.ids.length === 0 ? [] : [row],
        waiting: 0,
        drawn: 0,
        steps: 0,
        tokens: 0,
        rounds: 0,
        printed: 0,
        result: null,
        continuations: [],
        textAnswers: {},
      }
    })
  })
}

export const endedEpisode = (
  { row, group, generated, prompts, continuations, asked, rounds }: OpenEpisode,
  logged: Pick<EndedEpisode, 'columns' | 'metrics'> = { columns: {}, metrics: {} },
): EndedEpisode => ({
  row: { row: row.row, columns: row.columns },
  group,
  generated,
  prompts,
  continuations,
  rounds,
  requests: asked.length,
  ...logged,
})
