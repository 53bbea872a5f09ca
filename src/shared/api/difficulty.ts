/** Difficulty of a data set's rows for a model: its reward on each of them. */
import { z } from 'zod'
import type { runConfigSchema } from '../runConfig.ts'
import { count, digest, instant, path, progress } from './common.ts'
import { command, query, stream } from './contract.ts'
import { adapter, sampling } from './models.ts'

type RewardEntry = NonNullable<z.input<typeof runConfigSchema>['rewards']>[number]

/** Entry of `rewards` of a run config, validated by that schema. */
export const rewardEntry = z.custom<RewardEntry>((entry) => typeof entry === 'object' && entry !== null)

/** Settings that a form shows. */
export const difficultySettings = z.object({
  samplesPerRow: z.int().min(1).max(64).default(4).meta({
    label: 'Completions per row',
    description: 'More completions detect rarer successes.',
  }),
  rows: z.int().min(1).max(20_000).default(100).meta({
    label: 'Sample size',
    description: 'Drawn at random with the seed, the same rows every time; all if there are fewer.',
  }),
})

const measurement = difficultySettings.extend({
  versionId: digest,
  /** `data.prompt` of a run config. */
  prompt: z.record(z.string(), z.unknown()),
  model: path,
  adapter: adapter.optional(),
  /** Same as `rewards` of a run config. */
  rewards: z.array(rewardEntry).min(1).max(50),
  /** Same as `python.interpreter` of a run config. */
  interpreter: path.nullable().optional(),
  sampling: sampling.prefault({}),
})

const row = z.object({
  row: count,
  /** Mean of the values; null if no sample has a reward. */
  mean: z.number().nullable(),
  /** Reward of each sample; null if no function applied. */
  values: z.array(z.number().nullable()),
  /** Beginning of the prompt as the model reads it. */
  text: z.string(),
})
const problem = z.object({ row: count, problem: z.string() })

const summary = z.object({
  id: digest,
  createdAt: instant,
  request: measurement,
  /** Number of measured rows, and of those that made no prompt. */
  rows: count,
  problems: count,
  mean: z.number().nullable(),
  /** Number of rows whose samples all earned the same: they teach nothing to algorithms that compare. */
  withoutSpread: count,
  /** First failure of a reward, in words. */
  failure: z.string().nullable(),
})

export const difficultySchema = z.object({ summary, rows: z.array(row), problems: z.array(problem) })

export const difficultyProcedures = {
  /**
   * Lets the model answer rows and scores them; rows arrive as they finish, the last item has all of them in order. The
   * result is stored: the same request on the same content is answered at once.
   */
  difficulty: stream(
    measurement,
    z.union([z.object({ progress, row: z.union([row, problem]) }), z.object({ result: difficultySchema })]),
  ),
  /** Stored measurements, newest first; `problems`: a sentence for each unreadable file. */
  difficulties: query(
    z.object({ versionId: digest }),
    z.object({ known: z.array(summary), problems: z.array(z.string()) }),
  ),
  /** Returns every row of one measurement. */
  difficultyRows: query(z.object({ versionId: digest, id: digest }), difficultySchema),
  /**
   * Makes these measured rows a new version of the data set, with 1 − mean reward in the column `difficulty`, which `data.order` of
   * a run config may name; a column of that name is replaced.
   */
  keepMeasured: command(
    z.object({ versionId: digest, id: digest, rows: z.array(count).min(1).max(20_000) }),
    z.object({ versionId: digest }),
  ),
}

export type Difficulty = z.output<typeof difficultySchema>
