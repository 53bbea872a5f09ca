/** Schemas of the log events that have their own tables. */
import { z } from 'zod'
import { count } from '#shared/api/common.ts'
import { settingChange } from '#shared/config/changes.ts'
import type { ScheduledStage } from '#shared/events.ts'
import type { LoggedEvent } from '#host/workFolder/eventLog.ts'

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
  rewards: packed.optional(),
})

const sample = z.object({
  row: count,
  prompt: z.string(),
  completion: z.string(),
  reward: z.number().nullable(),
  parts: z.record(z.string(), z.number().nullable()),
  advantage: z.number().nullable(),
  tokens: count,
  stopReason: z.string(),
  version: count.optional(),
  logged: z.record(z.string(), z.unknown()).optional(),
  failures: z.array(z.string()).optional(),
  /** Arrays that are not whole are left out; the sample is kept. */
  arrays: arrays.optional().catch(undefined),
})

const expectedSeconds = z.object({ expected: z.number().min(0), high: z.number().min(0) })
const scheduledStage = z.object({
  firstStep: count,
  lastStep: count,
  evaluateEvery: count,
  checkpointEvery: count.optional(),
  heldOutRows: count,
  expected: z
    .object({
      step: expectedSeconds,
      evaluation: expectedSeconds,
      checkpoint: expectedSeconds.optional(),
    })
    .nullable(),
}) satisfies z.ZodType<ScheduledStage>

const schemas = z.discriminatedUnion('type', [
  z.object({ type: z.literal('step'), step: count, steps: count, metrics }),
  z.object({ type: z.literal('evaluation'), step: count, rows: count, metrics }),
  z.object({ type: z.literal('samples'), step: count, source: z.string(), samples: z.array(sample) }),
  z.object({
    type: z.literal('checkpoint-saved'),
    step: count,
    directory: z.string(),
    reward: z.number().nullable(),
    sizeBytes: count,
    seconds: z.number().min(0).optional(),
  }),
  z.object({ type: z.literal('checkpoints-removed'), step: count, directories: z.array(z.string()) }),
  z.object({ type: z.literal('status'), phase: z.string(), step: count, steps: count }),
  z.object({ type: z.literal('manifest'), manifest: z.looseObject({}) }),
  z.object({ type: z.literal('schedule'), step: count, stages: z.array(scheduledStage) }),
  z.object({ type: z.literal('settings-changed'), step: count, changes: z.array(settingChange) }),
  z.object({
    type: z.literal('error'),
    code: z.string().nullable(),
    message: z.string(),
    hint: z.string().optional(),
  }),
  z.object({
    type: z.literal('diagnosis'),
    step: count,
    findings: z.array(
      z.object({ id: z.string(), severity: z.enum(['note', 'warning', 'problem']), words: z.string() }),
    ),
  }),
  z.object({ type: z.literal('resumed'), keep: count }),
])

/** An event that this version understands. */
export type KnownEvent = z.infer<typeof schemas>
export type KnownSample = z.infer<typeof sample>

/** The event with its fields, or null where it is of another kind or not as it should be. */
export const understand = (event: LoggedEvent): KnownEvent | null => schemas.safeParse(event).data ?? null
