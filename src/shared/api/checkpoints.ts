/** Checkpoints of runs, and export of trained adapters. */
import { z } from 'zod'
import { count, failure, runId, instant, path, progressOr } from './common.ts'
import { command, query, stream } from './contract.ts'

const checkpoint = z.object({
  runId: z.string(),
  step: count,
  directory: z.string(),
  reward: z.number().nullable(),
  sizeBytes: count,
  savedAt: instant,
  isBest: z.boolean(),
  /** Reason why it cannot be used, or null if it is complete. */
  problem: failure.nullable(),
})

const exportFormats = ['peft', 'merged', 'gguf', 'gguf-model', 'onnx'] as const
const exportDtypes = ['f32', 'f16', 'bf16', 'q8_0', 'q4_k_m'] as const

const exportOptions = {
  format: z.enum(exportFormats),
  out: path,
  /** Type of the tensors; null: the base's for a merged model, f16 for one in a GGUF file, f32 for the rest. */
  dtype: z.enum(exportDtypes).nullable().default(null),
  /** Largest weight file of a merged model, in bytes. */
  shardBytes: z.int().min(1_000_000).default(5_000_000_000),
  /** Keeps the adapter of an ONNX export separate, as inputs of the graph. */
  adapterInputs: z.boolean().default(false),
  /** Name of the base on a hub, remembered once it is written; null: the known one. */
  hubId: z.string().max(200).nullable().default(null),
}

const exportReport = z.object({
  format: z.enum(exportFormats),
  directory: z.string(),
  sizeBytes: count,
  files: z.array(z.object({ path: z.string(), sizeBytes: count })),
  /** Comparisons made after reading it back, in words, with the largest difference found. */
  parity: z.array(
    z.object({ sentence: z.string(), measured: z.number(), limit: z.number(), passed: z.boolean() }),
  ),
  /** Commands that open it in other programs. */
  openIn: z.array(z.object({ tool: z.string(), command: z.string() })),
})

const exportOffer = z.object({
  format: z.enum(exportFormats),
  problem: z.string().nullable(),
  /** Approximate size in bytes by type; null: the default type. Empty if it is small. */
  sizes: z.array(z.object({ dtype: z.enum(exportDtypes).nullable(), bytes: count })),
})

const one = z.object({ runId, step: count })

const promoted = z.object({ adapter: z.string().max(100) })

/** Checkpoint of a run, or a promoted adapter by its name. */
const exported = z.union([one, promoted])

export const checkpointsApi = {
  list: query(z.object({ runId }), z.array(checkpoint)),
  /** Reads all its files and compares the digests. */
  verify: query(one, checkpoint),
  delete: command(one, z.void()),
  /** Lists export formats, with the reason if one cannot be written here. */
  formats: query(exported, z.array(exportOffer)),
  /** Name of a checkpoint's base on a hub; null: unknown. */
  baseId: query(exported, z.string().nullable()),
  /**
   * Writes into an empty or new folder, reads it back and compares; ends with the report. An export that differs from
   * the trained model is moved to a folder called `OUT-failed`, which the report names.
   */
  export: stream(
    z.union([one.extend(exportOptions), promoted.extend(exportOptions)]),
    progressOr(exportReport),
  ),
}
