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

/** Settings that forms and the command line show. */
export const answerSettings = z
  .object({
    minReward: z.number().nullable().default(null).meta({
      label: 'Minimum reward',
      description: 'Answers that earn less, or have no reward, are left out.',
      empty: 'all are kept',
      flags: '--min-reward <R>',
      phrase: 'keep answers that earn at least this',
    }),
    samplesPerRow: z.int().min(1).max(1024).default(1).meta({
      label: 'Answers per row',
      description: 'With several and a minimum reward, hard rows are answered too.',
      flags: '--samples <N>',
      phrase: 'answers to each row',
    }),
    temperature: z.number().min(0).max(100).nullable().default(null).meta({
      description: '0: the most probable answer.',
      empty: '0 for one answer, else 1',
      flags: '--temperature <T>',
      phrase: '0 is greedy (default: 0 for one answer, else 1)',
    }),
    maxNewTokens: z.int().min(1).max(1_000_000).default(512).meta({
      description: 'Longer answers are truncated, and left out.',
      flags: '--max-tokens, --max-new-tokens <N>',
      phrase: 'longest answer',
    }),
    seed: count.default(0).meta({
      description: 'Seed of sampled answers.',
      flags: '--seed <S>',
      phrase: 'seed of sampled answers',
    }),
    rows: z.int().min(1).max(1_000_000).nullable().default(null).meta({
      description: 'From the first.',
      empty: 'all',
      flags: '--limit <N>',
      phrase: 'number of rows, from the first',
    }),
  })
  .refine(({ samplesPerRow, temperature }) => samplesPerRow === 1 || temperature !== 0, {
    path: ['temperature'],
    message: 'Above 0 for several answers: at 0 they are all the same.',
  })

const teaching = answerSettings.safeExtend({
  versionId: digest,
  /** `data.prompt` of a run config. */
  prompt: z.record(z.string(), z.unknown()),
  teacher,
  /** Same as `rewards` of a run config; they score the answers. */
  rewards: z.array(rewardEntry).max(50).default([]),
  /** Same as `python.interpreter` of a run config. */
  interpreter: path.nullable().optional(),
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

/** Returns the temperature of answers where the request leaves it open: several at 0 would be the same. */
export const answerTemperature = (temperature: number | null, samples: number): number =>
  temperature ?? (samples === 1 ? 0 : 1)
