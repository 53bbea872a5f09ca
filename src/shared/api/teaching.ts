/** Rows of a data set answered by a teacher, as a new data set. */
import { z } from 'zod'
import { count, dataSetId, digest, name, path, progress } from './common.ts'
import { stream } from './contract.ts'
import { rewardEntry } from './difficulty.ts'
import { candidate } from './models.ts'

/** Teacher on this machine, or behind an OpenAI-compatible address. */
const teacher = z.union([
  candidate,
  z.strictObject({
    address: z.string().min(1).max(2000),
    /** Model name at the server; absent: the first that it lists. */
    servedModel: z.string().max(500).optional(),
    /** Environment variable of the host that holds the key. */
    keyVariable: z.string().max(200).optional(),
  }),
])

const teaching = z.object({
  versionId: digest,
  /** `data.prompt` of a run config. */
  prompt: z.record(z.string(), z.unknown()),
  teacher,
  /** Same as `rewards` of a run config; they score the answers. */
  rewards: z.array(rewardEntry).max(50).default([]),
  /** Same as `python.interpreter` of a run config. */
  interpreter: path.nullable().optional(),
  /** Smallest reward to keep an answer, which drops those without a reward too; null: keeps all. */
  minReward: z.number().nullable().default(null),
  samplesPerRow: z.int().min(1).max(1024).default(1),
  /** Number of rows, from the first; all if there are fewer. */
  rows: z.int().min(1).max(1_000_000),
  /** 0 is greedy. */
  temperature: z.number().min(0).max(100),
  maxNewTokens: z.int().min(1).max(1_000_000),
  seed: count.default(0),
  name,
})

const taughtAnswer = z.object({
  row: count,
  sample: count,
  text: z.string(),
  isTruncated: z.boolean(),
  /** Null: nothing scored it, or no reward applied. */
  reward: z.number().nullable(),
})
const problem = z.object({ row: count, problem: z.string() })

const taught = z.object({
  dataSetId,
  versionId: digest,
  asked: count,
  answers: count,
  truncated: count,
  kept: count,
  problems: z.array(problem),
})

export const teachingProcedures = {
  /**
   * Yields answers as they are given, and finally the new data set: the columns of the rows, `completion` and, if
   * rewards scored them, `reward`. Truncated answers are left out. Answers are stored, so that none is requested twice.
   */
  answer: stream(
    teaching,
    z.union([
      z.object({ progress, answers: z.array(taughtAnswer), problems: z.array(problem) }),
      z.object({ result: taught }),
    ]),
  ),
}
