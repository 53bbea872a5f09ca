/** The events of a log that have tables of their own, as they must be to go there. */
import { z } from 'zod'
import type { LoggedEvent } from '../artifacts/eventLog.ts'

const step = z.int().min(0)
const metrics = z.record(z.string(), z.number().nullable())
const packed = z.base64().refine((text) => Buffer.byteLength(text, 'base64') % 4 === 0)

const arrays = z.object({
  ids: packed,
  actionMask: packed,
  logprobs: packed.nullable(),
  behaviorLogprobs: packed.nullable(),
  referenceLogprobs: packed.nullable(),
  entropies: packed.nullable(),
  advantages: packed.nullable(),
})

const sample = z.object({
  row: z.int(),
  prompt: z.string(),
  completion: z.string(),
  reward: z.number().nullable(),
  parts: z.record(z.string(), z.number().nullable()),
  advantage: z.number().nullable(),
  tokens: z.int(),
  stopReason: z.string(),
  logged: z.record(z.string(), z.unknown()).optional(),
  failures: z.array(z.string()).optional(),
  /** Arrays that are not whole are left out; the sample is kept. */
  arrays: arrays.optional().catch(undefined),
})

const schemas = z.discriminatedUnion('type', [
  z.object({ type: z.literal('step'), step, steps: z.int(), metrics }),
  z.object({ type: z.literal('evaluation'), step, rows: z.int(), metrics }),
  z.object({ type: z.literal('samples'), step, source: z.string(), samples: z.array(sample) }),
  z.object({
    type: z.literal('checkpoint-saved'),
    step,
    directory: z.string(),
    reward: z.number().nullable(),
    sizeBytes: z.int(),
  }),
  z.object({ type: z.literal('checkpoints-removed'), step, directories: z.array(z.string()) }),
  z.object({ type: z.literal('status'), phase: z.string(), step, steps: z.int() }),
  z.object({ type: z.literal('manifest'), manifest: z.looseObject({}) }),
  z.object({
    type: z.literal('error'),
    code: z.string().nullable(),
    message: z.string(),
    hint: z.string().optional(),
  }),
  z.object({ type: z.literal('resumed'), keep: z.int().min(0) }),
])

/** An event that this version understands. */
export type KnownEvent = z.infer<typeof schemas>
export type KnownSample = z.infer<typeof sample>

/** The event with its fields, or null where it is of another kind or not as it should be. */
export const understand = (event: LoggedEvent): KnownEvent | null => schemas.safeParse(event).data ?? null
