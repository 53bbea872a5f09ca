/** What a run will need, by one group of one real step. */
import { z } from 'zod'
import { deviceKinds } from '../device.ts'
import { count } from './common.ts'

const seconds = z.number()

export const calibration = z.object({
  /** Where it was tried, as the run will be, and why there. */
  device: z.object({ kind: z.enum(deviceKinds), reason: z.string() }),
  /**
   * Largest of the process that did it. `expectedBytes`: of a whole step, in which more and longer rows are generated
   * together; `availableBytes`: what it could have had, before it began.
   */
  memory: z.object({
    anonymousBytes: count,
    totalBytes: count,
    expectedBytes: count,
    availableBytes: count,
  }),
  /** For the one group, all stages together. */
  seconds: z.object({ loading: seconds, generating: seconds, scoring: seconds, learning: seconds }),
  /** Expected mean of whole steps, evaluations and checkpoints apart. */
  secondsPerStep: seconds,
  secondsPerEvaluation: seconds,
  evaluations: count,
  secondsPerCheckpoint: seconds,
  checkpoints: count,
  steps: count,
  /** The whole run, evaluations and checkpoints included. */
  etaSeconds: z.object({ low: seconds, expected: seconds, high: seconds }),
  checkpointBytes: count,
  /** `neededBytes`: checkpoints that stay, log and history. */
  disk: z.object({ neededBytes: count, freeBytes: count }),
  /** The row that was tried, where it stands in its data set, from 0, and the tokens of its prompt, in the first stage. */
  longest: z.object({ row: count, promptTokens: count }),
  /** Given answers where a stage learns from those: without a reward. */
  samples: z.array(
    z.object({
      stage: count,
      row: count,
      prompt: z.string(),
      completion: z.string(),
      reward: z.number().nullable(),
      parts: z.record(z.string(), z.number().nullable()),
      tokens: count,
      stopReason: z.string(),
      /** What reward functions logged to look at. */
      logged: z.record(z.string(), z.unknown()),
      /** What went wrong in them, a sentence each. */
      failures: z.array(z.string()),
    }),
  ),
  /** What a person should know before it starts, a sentence each. */
  warnings: z.array(z.string()),
})
