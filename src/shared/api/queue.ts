/** Queued runs. */
import { z } from 'zod'
import { count, cursor, failure, runId, instant, path, progressOr } from './common.ts'
import { command, feed, query, stream } from './contract.ts'

const state = z.object({
  /** In order; the first is next. */
  runs: z.array(z.object({ runId: z.string(), continueOnError: z.boolean() })),
  /** The failure that the next one waits behind; null: it goes on by itself. */
  halted: z.object({ runId: z.string(), error: failure.nullable() }).nullable(),
})

export const queueApi = {
  get: query(z.void(), state),
  push: command(z.object({ runId, continueOnError: z.boolean().default(false) }), z.void()),
  /** To a place counted from 0. */
  move: command(z.object({ runId, to: count }), z.void()),
  remove: command(z.object({ runId }), z.void()),
  setContinueOnError: command(z.object({ runId, continueOnError: z.boolean() }), z.void()),
  /** Goes on after a failure. */
  proceed: command(z.void(), z.void()),
  watch: feed(z.void(), state.extend({ cursor })),
}

// Checkpoints of runs, and taking a trained adapter out of the program.

const checkpoint = z.object({
  runId: z.string(),
  step: count,
  directory: z.string(),
  /** Eval reward measured at this step. */
  reward: z.number().nullable(),
  sizeBytes: count,
  savedAt: instant,
  isBest: z.boolean(),
  /** Why it cannot be used; null where it is whole. */
  problem: failure.nullable(),
})

const exportFormats = ['peft', 'merged', 'gguf', 'gguf-model', 'onnx'] as const
const exportDtypes = ['f32', 'f16', 'bf16', 'q8_0', 'q4_k_m'] as const

const exportOptions = {
  /** Of the tensors; null: the base's for a merged model, f16 for one in a GGUF file, f32 for the rest. */
  dtype: z.enum(exportDtypes).nullable().default(null),
  /** Largest weight file of a merged model, in bytes. */
  shardBytes: z.int().min(1_000_000).default(5_000_000_000),
  /** ONNX: the adapter stays apart, as inputs of the graph. */
  adapterInputs: z.boolean().default(false),
  /** What the base is called on a hub, remembered from then on; null: as is known. */
  hubId: z.string().max(200).nullable().default(null),
}

const exportReport = z.object({
  format: z.enum(exportFormats),
  directory: z.string(),
  sizeBytes: count,
  files: z.array(z.object({ path: z.string(), sizeBytes: count })),
  /** What was compared after reading it back, in words, with the largest difference found. */
  parity: z.array(
    z.object({ sentence: z.string(), measured: z.number(), limit: z.number(), passed: z.boolean() }),
  ),
  /** How other programs open it. */
  openIn: z.array(z.object({ tool: z.string(), command: z.string() })),
})

const exportOffer = z.object({
  format: z.enum(exportFormats),
  /** Why it cannot be written here. */
  problem: z.string().nullable(),
  /** About how many bytes it takes as each type; null: the usual one. Empty where it is small. */
  sizes: z.array(z.object({ dtype: z.enum(exportDtypes).nullable(), bytes: count })),
})

const one = z.object({ runId, step: count })

/** A checkpoint of a run, or a promoted adapter by its name. */
const exported = z.union([one, z.object({ adapter: z.string().max(100) })])

export const checkpointsApi = {
  list: query(z.object({ runId }), z.array(checkpoint)),
  /** Reads every file of it and compares the digests. */
  verify: query(one, checkpoint),
  delete: command(one, z.void()),
  /** Which formats can be written here; the reason where one cannot. */
  formats: query(exported, z.array(exportOffer)),
  /** What the base of a checkpoint is called on a hub; null: unknown. */
  baseId: query(exported, z.string().nullable()),
  /**
   * Writes into an empty or new folder, reads it back and compares; ends with the report. An export that differs from
   * what was trained is in a folder called `OUT-failed`, which the report names.
   */
  export: stream(
    z.intersection(exported, z.object({ format: z.enum(exportFormats), out: path, ...exportOptions })),
    progressOr(exportReport),
  ),
}
