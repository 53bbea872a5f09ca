/** Schemas shared by several areas of the contract. */
import { z } from 'zod'
import { deviceKinds } from '../device.ts'
import { problemCodes, type ErrorCode } from '../errors.ts'

export const runId = z.string().regex(/^run_[0-9a-f-]{36}$/)
export const studyId = z.string().regex(/^st_[0-9a-f-]{36}$/)
export const conversationId = z.string().regex(/^chat_[0-9a-f-]{36}$/)
export const dataSetId = z.string().regex(/^ds_[0-9a-f-]{36}$/)
/** SHA-256 in hex. */
export const digest = z.string().regex(/^[0-9a-f]{64}$/)
export const name = z.string().min(1).max(200)
export const path = z.string().min(1).max(4096)
export const count = z.int().min(0)
/** Whole milliseconds since 1970, within the range of Date: others can be neither stored nor shown. */
export const instant = z.int().min(-8.64e15).max(8.64e15)
export const cursor = z.string()

/** Number of entries per answer. */
export const pageSize = (initial: number, maximum: number) => z.int().min(1).max(maximum).default(initial)

/** File on the host's machine, or one uploaded to it. */
export const fileSource = z.union([
  z.strictObject({ path }),
  z.strictObject({ uploadId: z.string().regex(/^upl_[0-9a-f-]{36}$/) }),
])

/** Error as data, for failures that do not end the call. */
export const failure = z.object({
  /** ErrorCode; null for a bug in the program. */
  code: z.custom<ErrorCode>((value) => typeof value === 'string').nullable(),
  message: z.string(),
  hint: z.string().nullable(),
})

/** Environment variable, and the address its value is sent to. */
export const keyUse = z.object({
  variable: z.string().regex(/^[A-Za-z_]\w*$/),
  origin: z.string().max(2000),
})

/** Problem with one setting of a run config; see #shared/errors.ts. */
export const problem = z.object({
  path: z.string(),
  code: z.enum(problemCodes),
  message: z.string(),
  stage: count.nullable(),
  keys: z.array(keyUse).optional(),
})

export const estimate = z.object({
  value: z.number(),
  /** 95 %; null if it cannot be bounded: a single value, or equal ones other than 0 and 1. */
  interval: z.object({ low: z.number(), high: z.number() }).nullable(),
})

/** Progress of a long task. `total` is null if unknown. */
export const progress = z.object({
  phase: z.string(),
  done: z.number(),
  total: z.number().nullable(),
  unit: z.enum(['bytes', 'rows', 'samples', 'tensors', 'checks', 'phases']),
})

/** Item of a task that reports progress and ends with its result. */
export const progressOr = <Result extends z.ZodType>(result: Result) =>
  z.union([z.object({ progress }), z.object({ result })])

export const chat = z.array(z.object({ role: z.string(), content: z.string() }))
export const row = z.record(z.string(), z.unknown())

export const device = z.object({
  kind: z.enum(deviceKinds),
  threads: z.int().min(1),
  deviceId: count,
})
