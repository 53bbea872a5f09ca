/** Custom losses: their description, whether they can be trained with, and their curves. */
import { z } from 'zod'
import type { SettingField } from '../config/fields.ts'
import { lossAxes, lossCheckNames } from '../losses.ts'
import { count } from './common.ts'
import { query } from './contract.ts'
import { code, codeFailure } from './rewards.ts'

const settings = z.record(z.string(), z.unknown())
const value = z.number().nullable()

/** Null where the loss is not finite. */
const curve = z.object({
  of: z.enum(['positive', 'negative', 'chosen', 'rejected', 'token']),
  loss: z.array(value),
  gradient: z.array(value),
})

const description = z.object({
  title: z.string().nullable(),
  description: z.string(),
  source: z.string(),
  experience: z.enum(['rollout', 'demonstrations', 'preferences']),
  groupSize: count,
  advantages: z.string(),
  /** Settings with their limits, as in a run under `algorithm.settings`. */
  settings: z.array(z.custom<SettingField>((field) => typeof field === 'object')),
})

export const lossesApi = {
  /** Loads the code, records its operations, and checks whether it can be trained with. */
  check: query(
    z.object({ code, settings: settings.default({}) }),
    z.object({
      /** Null if the code does not load. */
      description: description.nullable(),
      /** Reason why it does not load, or cannot be recorded with these settings. */
      problem: codeFailure.nullable(),
      recorded: z
        .object({
          operations: count,
          /** Inputs that a run has to provide, in words. */
          needs: z.array(z.string()),
          metrics: z.array(z.string()),
        })
        .nullable(),
      /** Checks made, in order. */
      checks: z.array(
        z.object({
          name: z.enum(lossCheckNames),
          fault: z
            .object({
              message: z.string(),
              /** Token of the batch below. */
              token: z.object({ row: count, place: count }).nullable(),
            })
            .nullable(),
        }),
      ),
      /** Batch of the checks: the turn of each token of each sequence, −1 where the policy chose nothing. */
      batch: z.array(z.object({ turns: z.array(z.int()), advantages: z.array(z.number()) })),
    }),
  ),
  /**
   * Curves of one token as the policy moves away from its initial value: over the importance ratio, or the margin of a
   * chosen answer.
   */
  draw: query(
    z.object({
      code,
      settings: settings.default({}),
      /** Built-in algorithm to compare with, at its defaults. */
      compare: z.string().nullable().default(null),
      /** Ends of the axis; absent: the default. */
      range: z.tuple([z.number(), z.number()]).optional(),
    }),
    z.union([
      z.object({
        axis: z.enum(lossAxes),
        points: z.array(z.number()),
        curves: z.array(curve),
        /** Null: none requested, or it learns from something else. */
        compared: z.array(curve).nullable(),
      }),
      z.object({ problem: codeFailure }),
    ]),
  ),
}
