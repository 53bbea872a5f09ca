/** Stored trajectories, token by token, and their scores under other versions of a reward. */
import { z } from 'zod'
import type { TrajectorySample } from '../events.ts'
import { chat, count, digest, failure, pageSize, progress, row, runId } from './common.ts'
import { query, stream } from './contract.ts'

const source = z.enum(['rollout', 'evaluation'])
const sampleId = z.int().min(1)
const parts = z.record(z.string(), z.number().nullable())

const sample = z.object({
  id: sampleId,
  runId: z.string(),
  step: count,
  source,
  /** Index among the training rows, or the held-out rows, from 0. */
  row: count,
  /** Index of that row in its data set, from 0 as in datasets.rows; null if it can no longer be determined. */
  dataRow: count.nullable(),
  position: count,
  prompt: z.string(),
  completion: z.string(),
  reward: z.number().nullable(),
  parts,
  advantage: z.number().nullable(),
  tokens: count,
  stopReason: z.custom<TrajectorySample['stopReason']>((value) => typeof value === 'string'),
  /** Steps that the policy had learned from when it generated; null: all before this one. */
  version: count.nullable(),
  logged: z.record(z.string(), z.unknown()),
  failures: z.array(z.string()),
  hasArrays: z.boolean(),
})

/** Base64 of little-endian numbers; #shared/packedArray.ts reads it. */
export const packed = z.string()

/** Arrays by token: [T] for ids and texts, [T−1] for the rest; null if not recorded. */
export const tokenArrays = z.object({
  ids: packed,
  /** Text of each id; joined they are the whole text. */
  texts: z.array(z.string()),
  actionMask: packed,
  logprobs: packed.nullable(),
  behaviorLogprobs: packed.nullable(),
  referenceLogprobs: packed.nullable(),
  entropies: packed.nullable(),
  advantages: packed.nullable(),
  /** Reward of the token itself, or of its turn if only turns have rewards. */
  rewards: packed.nullable(),
})

const score = z.object({ sampleId, version: z.string(), parts, error: z.string().nullable() })

export const samplesApi = {
  /** Steps with samples, and their numbers. */
  steps: query(
    z.object({ runId, source: source.optional() }),
    z.array(z.object({ step: count, source, samples: count })),
  ),
  /** Newest step first; `before`: id of the last sample on the previous page. */
  list: query(
    z.object({
      runId,
      step: count.optional(),
      fromStep: count.optional(),
      toStep: count.optional(),
      source: source.optional(),
      row: count.optional(),
      /** Alternative to `row`. */
      dataRow: count.optional(),
      text: z.string().max(200).optional(),
      minReward: z.number().optional(),
      maxReward: z.number().optional(),
      hasFailures: z.boolean().optional(),
      limit: pageSize(100, 500),
      before: sampleId.optional(),
    }),
    z.array(sample),
  ),
  get: query(z.object({ sampleId }), sample),
  arrays: query(z.object({ sampleId }), tokenArrays),
  /**
   * Returns the data row of a sample, its prompt as messages if it was a chat, and the imported version that contains
   * the row; null for a file's.
   */
  origin: query(
    z.object({ sampleId }),
    z.object({ row, messages: chat.nullable(), versionId: digest.nullable() }),
  ),
  /**
   * Returns what to ask to see what a run learned: validation prompts of one message each that its base fails and it
   * passes, and one that it still fails.
   */
  telling: query(
    z.object({ runId }),
    z.object({ learned: z.array(z.string()), failing: z.string().nullable() }),
  ),
  scores: query(z.object({ runId, version: digest.optional() }), z.array(score)),
  /** Scores the samples of a run with another version of a reward; existing scores are kept. */
  rescore: stream(
    z.object({ runId, version: digest, fromStep: count.optional(), toStep: count.optional() }),
    z.object({ progress, scores: z.array(score) }),
  ),
  /** Scores a text in place of a sample's completion with the rewards of its run, for an edited copy. */
  scoreText: query(
    z.object({ sampleId, completion: z.string().max(200_000) }),
    z.object({ reward: z.number().nullable(), parts, failures: z.array(failure) }),
  ),
}
