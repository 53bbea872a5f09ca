/** How hard the rows of a data set are for a model: what it earns on each of them. */
import { z } from 'zod'
import type { runConfigSchema } from '../runConfig.ts'
import { count, digest, instant, path, progress } from './common.ts'
import { query, stream } from './contract.ts'
import { adapter, sampling } from './models.ts'

type RewardEntry = NonNullable<z.input<typeof runConfigSchema>['rewards']>[number]

/** An entry of `rewards` of a run config; that schema is its judge. */
export const rewardEntry = z.custom<RewardEntry>((entry) => typeof entry === 'object' && entry !== null)

const measurement = z.object({
  versionId: digest,
  /** `data.prompt` of a run config. */
  prompt: z.record(z.string(), z.unknown()),
  model: path,
  adapter: adapter.optional(),
  /** As `rewards` of a run config. */
  rewards: z.array(rewardEntry).min(1).max(50),
  /** As `python.interpreter` of a run config. */
  interpreter: path.nullable().optional(),
  samplesPerRow: z.int().min(1).max(64).default(4),
  /** How many, drawn with the seed of the sampling; all where there are fewer. */
  rows: z.int().min(1).max(20_000).default(100),
  sampling: sampling.prefault({}),
})

const row = z.object({
  row: count,
  /** Mean of the values; null where no sample has a reward. */
  mean: z.number().nullable(),
  /** Reward of each sample; null where no function applied. */
  values: z.array(z.number().nullable()),
  /** Beginning of the prompt as the model reads it. */
  text: z.string(),
})
const problem = z.object({ row: count, problem: z.string() })

const summary = z.object({
  id: digest,
  createdAt: instant,
  /** What was asked for. */
  request: measurement,
  /** Measured, and those that made no prompt. */
  rows: count,
  problems: count,
  mean: z.number().nullable(),
  /** Rows on which all samples earned the same: they teach nothing to algorithms that compare. */
  withoutSpread: count,
  /** First failure of a reward, in words. */
  failure: z.string().nullable(),
})

export const difficultySchema = z.object({ summary, rows: z.array(row), problems: z.array(problem) })

export const difficultyProcedures = {
  /**
   * Lets the model answer rows and scores it; rows come as they are done, the last item is the whole, in the order of the
   * rows. It is kept: the same question about the same content is answered at once.
   */
  difficulty: stream(
    measurement,
    z.union([z.object({ progress, row: z.union([row, problem]) }), z.object({ result: difficultySchema })]),
  ),
  /** What is known, the newest first; `problems`: a sentence for each kept file that cannot be read. */
  difficulties: query(
    z.object({ versionId: digest }),
    z.object({ known: z.array(summary), problems: z.array(z.string()) }),
  ),
  /** Every row of one of them. */
  difficultyRows: query(z.object({ versionId: digest, id: digest }), difficultySchema),
}

export type Difficulty = z.output<typeof difficultySchema>
