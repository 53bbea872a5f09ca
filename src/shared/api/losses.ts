/** Losses that people write: what they say of themselves, whether they can be learned from, and how they look. */
import { z } from 'zod'
import type { SettingField } from '../config/fields.ts'
import { lossAxes, lossCheckNames } from '../losses.ts'
import { count } from './common.ts'
import { query } from './contract.ts'
import { code, codeFailure } from './rewards.ts'

const settings = z.record(z.string(), z.unknown())
const value = z.number().nullable()

/** null where the loss is not finite. */
const curve = z.object({
  of: z.enum(['positive', 'negative', 'chosen', 'rejected', 'token']),
  loss: z.array(value),
  gradient: z.array(value),
})

const description = z.object({
  title: z.string().nullable(),
  description: z.string(),
  /** Paper. */
  source: z.string(),
  experience: z.enum(['rollout', 'demonstrations', 'preferences']),
  groupSize: count,
  /** Whose advantages it learns from, in words. */
  advantages: z.string(),
  /** With their limits; as a run has them under `algorithm.settings`. */
  settings: z.array(z.custom<SettingField>((field) => typeof field === 'object')),
})

export const lossesApi = {
  /** Loads the code, records what it does, and looks whether that can be learned from. */
  check: query(
    z.object({ code, settings: settings.default({}) }),
    z.object({
      /** null: the code does not load. */
      description: description.nullable(),
      /** Why it does not load, or cannot be recorded with these settings. */
      problem: codeFailure.nullable(),
      /** What was recorded; null where there is a problem. */
      recorded: z
        .object({
          operations: count,
          /** What a run has to provide for it, in words. */
          needs: z.array(z.string()),
          metrics: z.array(z.string()),
        })
        .nullable(),
      /** Those that were asked, in their order. */
      checks: z.array(
        z.object({
          name: z.enum(lossCheckNames),
          fault: z
            .object({
              message: z.string(),
              /** Of the batch below. */
              token: z.object({ row: count, place: count }).nullable(),
            })
            .nullable(),
        }),
      ),
      /** The batch that the checks ran on: for each token of each sequence its turn, −1 where the policy chose nothing. */
      batch: z.array(z.object({ turns: z.array(z.int()), advantages: z.array(z.number()) })),
    }),
  ),
  /** Of one token as the policy moves away from where it was: over the importance ratio, or the margin of a chosen answer. */
  draw: query(
    z.object({
      code,
      settings: settings.default({}),
      /** Beside it, a built-in algorithm with its defaults. */
      compare: z.string().nullable().default(null),
      /** Ends of the axis; absent: the usual ones. */
      range: z.tuple([z.number(), z.number()]).optional(),
    }),
    z.union([
      z.object({
        axis: z.enum(lossAxes),
        points: z.array(z.number()),
        curves: z.array(curve),
        /** null: nothing was asked, or it learns from something else. */
        compared: z.array(curve).nullable(),
      }),
      z.object({ problem: codeFailure }),
    ]),
  ),
}
