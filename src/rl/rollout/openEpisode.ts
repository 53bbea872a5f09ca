/** An open episode of a workflow: its requests and their answers so far. */
import { randomStream, type RandomStream } from '#shared/random.ts'
import { chanceOf, seedAt } from './episodes.ts'
import type { Prompt } from './prompts.ts'
import type { UnscoredTrajectory } from './trajectory.ts'
import type { EndedEpisode, Generated } from './workflowTrajectory.ts'

export interface EpisodeBatch {
  readonly prompts: readonly Prompt[]
  /** Episodes per row. */
  readonly groupSize: number
  readonly seed: number
  readonly step: number
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
  /** Of the environment. */
  readonly chance: RandomStream
  /** Texts of its requests, with their answers. */
  readonly asked: string[]
  readonly answers: unknown[]
  readonly generated: Generated[]
  /** Prompts whose text is known. */
  readonly prompts: Pick<Prompt, 'text' | 'ids'>[]
  /** Completions of this round that are not finished yet. */
  waiting: number
  /** Sampled requests so far, and steps of the environment. */
  drawn: number
  steps: number
  tokens: number
  rounds: number
  /** null while the episode is open. */
  result: readonly UnscoredTrajectory[] | null
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
        ...{ row, group, sample, chance, seed: seedAt(own, 0) },
        ...{ asked: [], answers: [], generated: [], prompts: row.ids.length === 0 ? [] : [row] },
        ...{ waiting: 0, drawn: 0, steps: 0, tokens: 0, rounds: 0, result: null },
      }
    })
  })
}

export const endedEpisode = (
  { row, group, generated, prompts, asked, rounds }: OpenEpisode,
  logged: Pick<EndedEpisode, 'columns' | 'metrics'> = { columns: {}, metrics: {} },
): EndedEpisode => ({
  row: { row: row.row, columns: row.columns },
  ...{ group, generated, prompts, rounds },
  requests: asked.length,
  ...logged,
})
