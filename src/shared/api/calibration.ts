/** Resource estimate of a run from one group of one real step. */
import { z } from 'zod'
import { deviceKinds } from '../device.ts'
import { count } from './common.ts'

const seconds = z.number()

export const calibration = z.object({
  /** Device of the trial, which the run will use, and the reason for the choice. */
  device: z.object({ kind: z.enum(deviceKinds), reason: z.string() }),
  /**
   * Largest memory of the process. `expectedBytes`: of a whole step, in which more and longer rows are generated
   * together; `availableBytes`: available to the process before it began.
   */
  memory: z.object({
    anonymousBytes: count,
    totalBytes: count,
    expectedBytes: count,
    availableBytes: count,
  }),
  /** Durations for the one group, all stages together. */
  seconds: z.object({ loading: seconds, generating: seconds, scoring: seconds, learning: seconds }),
  /** Expected mean of whole steps, without evaluations and checkpoints. */
  secondsPerStep: seconds,
  secondsPerEvaluation: seconds,
  evaluations: count,
  secondsPerCheckpoint: seconds,
  checkpoints: count,
  steps: count,
  /** Duration of the whole run, including evaluations and checkpoints. */
  etaSeconds: z.object({ low: seconds, expected: seconds, high: seconds }),
  checkpointBytes: count,
  /** `neededBytes`: for retained checkpoints, log and history. */
  disk: z.object({ neededBytes: count, freeBytes: count }),
  /** Row tried in the first stage, by index in its data set, from 0, and the tokens of its prompt. */
  longest: z.object({ row: count, promptTokens: count }),
  /** Completions; given answers, without a reward, for stages that learn from those. */
  samples: z.array(
    z.object({
      stage: count,
      row: count,
      /** Side of a preference that it stands for; null: not given as one. */
      preference: z.enum(['chosen', 'rejected']).nullable(),
      prompt: z.string(),
      completion: z.string(),
      reward: z.number().nullable(),
      parts: z.record(z.string(), z.number().nullable()),
      tokens: count,
      stopReason: z.string(),
      /** Values logged by reward functions for inspection. */
      logged: z.record(z.string(), z.unknown()),
      /** Failures of reward functions, one sentence each. */
      failures: z.array(z.string()),
    }),
  ),
  /** Warnings to read before the start, one sentence each. */
  warnings: z.array(z.string()),
})
