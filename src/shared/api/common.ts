/** Pieces that several areas of the contract use. */
import { z } from 'zod'
import { deviceKinds } from '../device.ts'
import { problemCodes, type ErrorCode } from '../errors.ts'

export const runId = z.string().regex(/^run_[0-9a-f-]{36}$/)
export const studyId = z.string().regex(/^st_[0-9a-f-]{36}$/)
export const dataSetId = z.string().regex(/^ds_[0-9a-f-]{36}$/)
/** SHA-256 in hex. */
export const digest = z.string().regex(/^[0-9a-f]{64}$/)
export const name = z.string().min(1).max(200)
export const path = z.string().min(1).max(4096)
export const count = z.int().min(0)
/** Whole milliseconds since 1970, as far as a Date reaches: what lies outside can be neither kept nor shown. */
export const instant = z.int().min(-8.64e15).max(8.64e15)
export const cursor = z.string()

/** At most so many entries in one answer. */
export const pageSize = (initial: number, maximum: number) => z.int().min(1).max(maximum).default(initial)

/** A file of the machine that the host runs on, or one that was uploaded to it. */
export const fileSource = z.union([
  z.strictObject({ path }),
  z.strictObject({ uploadId: z.string().regex(/^upl_[0-9a-f-]{36}$/) }),
])

/** An error as data: what failed without ending the call it happened in. */
export const failure = z.object({
  /** One of ErrorCode; null for a fault of the program. */
  code: z.custom<ErrorCode>((value) => typeof value === 'string').nullable(),
  message: z.string(),
  hint: z.string().nullable(),
})

/** An environment variable, and where its value is sent. */
export const keyUse = z.object({
  variable: z.string().regex(/^[A-Za-z_]\w*$/),
  origin: z.string().max(2000),
})

/** What is wrong with one setting of a run config; see #shared/errors.ts. */
export const problem = z.object({
  path: z.string(),
  code: z.enum(problemCodes),
  message: z.string(),
  stage: count.nullable(),
  keys: z.array(keyUse).optional(),
})

/** How far long work is. `total` is null where nobody can tell. */
export const progress = z.object({
  phase: z.string(),
  done: z.number(),
  total: z.number().nullable(),
  unit: z.enum(['bytes', 'rows', 'samples', 'tensors', 'checks', 'phases']),
})

/** An item of work that tells its progress and ends with its result. */
export const progressOr = <Result extends z.ZodType>(result: Result) =>
  z.union([z.object({ progress }), z.object({ result })])

export const chat = z.array(z.object({ role: z.string(), content: z.string() }))
export const row = z.record(z.string(), z.unknown())

export const device = z.object({
  kind: z.enum(deviceKinds),
  threads: z.int().min(1),
  deviceId: count,
})
