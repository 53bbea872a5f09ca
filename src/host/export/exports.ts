/**
 * A trained adapter on its way out of the program. Reading guide:
 *
 *   exports.ts        (here) the words: formats, which of them a model's family and an adapter can have, what can be
 *                     asked for, what is reported
 *   exportFolder.ts   where the files go: a folder that has its name only when all is there and compared
 *   baseFiles.ts      the base model's files, every tensor of them
 *   loraDelta.ts      s·B·A of one weight; exportWriters.ts adds it to the base, onnxModel.ts (onnxGraph.ts) writes a graph
 *   ggufMerged.ts     a merged model as one GGUF file, ollama.ts its Modelfile; openIn.ts: commands for other programs
 *   parity.ts         what was read back against what was trained, in sentences; provenance.ts says what it was made from
 *
 * The process that has ONNX Runtime puts them together and writes the README of each (exporting.ts).
 */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import type { OutputOf } from '#shared/api/contract.ts'
import type { Api } from '#shared/api/api.ts'
import { AppError, invalidModel } from '#shared/errors.ts'
import type { LoraConfig, ModelConfig } from '#engine/models/config.ts'
import { onlyOnCpu } from '#engine/models/programSupport.ts'
import { layerStates } from '#engine/models/layerStates.ts'
import { originOf } from '#host/models/promoted.ts'
import { elementCount } from '#host/files/safetensors.ts'
import { describeModel } from '#host/gguf/ggufMetadata.ts'
import type { GgufMix } from '#host/gguf/ggufMix.ts'
import { ggufFileOf } from '#host/gguf/ggufModel.ts'
import { ggufProblem } from '#host/gguf/ggufNames.ts'
import { type ModelFolder, openModelFolder } from '#host/models/modelFolder.ts'
import { readOwnConfig, runPaths } from '#host/workFolder/runFolder.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import { ggufModelBytes } from './ggufMerged.ts'

type Item = OutputOf<Api, 'checkpoints.export'>
export type ExportReport = Extract<Item, { readonly result: unknown }>['result']
export type ExportProgress = Extract<Item, { readonly progress: unknown }>['progress']
export type ExportFormat = ExportReport['format']
/** Line of a comparison: passed where the measured value is not above the limit. */
export type ParityLine = ExportReport['parity'][number]

export const exportFormats = [
  'peft',
  'merged',
  'gguf',
  'gguf-model',
  'onnx',
] as const satisfies readonly ExportFormat[]

export const exportDtypes = ['f32', 'f16', 'bf16', 'q8_0', 'q4_k_m'] as const
export type ExportDtype = (typeof exportDtypes)[number]

export interface ExportOptions {
  readonly format: ExportFormat
  /** Folder; new or empty. */
  readonly out: string
  /** Type of the tensors; null: the base's for a merged model, f16 for one in a GGUF file, f32 for the rest. */
  readonly dtype: ExportDtype | null
  /** Largest weight file of a merged model. */
  readonly shardBytes: number
  /** ONNX: the adapter stays apart, as inputs of the graph. */
  readonly adapterInputs: boolean
}

export interface ExportRequest extends ExportOptions {
  /** Folder of the checkpoint. */
  readonly checkpoint: string
  /** Folder of the base model; null: unknown. */
  readonly model: string | null
  /** Longest sequence it was opened for; null: as its own positions reach. */
  readonly contextLength: number | null
  /** Hub id of the base; null: as the base itself says. */
  readonly hubId: string | null
  readonly cacheDirectory: string
}

export const defaultShardBytes = 5_000_000_000

export type OnExportProgress = (progress: ExportProgress) => void

/** Types that a format's tensors can have besides its usual one. */
const dtypes: Readonly<Record<ExportFormat, readonly ExportDtype[]>> = {
  peft: ['f32'],
  merged: ['f32'],
  gguf: ['f32', 'f16', 'bf16'],
  'gguf-model': ['f16', 'q8_0', 'q4_k_m', 'bf16', 'f32'],
  onnx: ['f32'],
}

/** Reason why a model's adapter cannot be exported in a format, as a sentence; null where it can. */
export function formatProblem(format: ExportFormat, base: ModelFolder): string | null {
  if (format === 'gguf') return ggufProblem(base.config)
  if (format === 'onnx') return statesProblem(base.config)
  return format === 'gguf-model' ? (ggufProblem(base.config) ?? unsaidProblem(base)) : null
}

/** Names the states that the inputs of an ONNX export have no place for. */
function statesProblem(config: ModelConfig): string | null {
  if (layerStates(config).some(({ kind }) => kind !== 'slots'))
    return `Programs that read an ONNX export keep keys and values alone, but ${config.architecture} models keep more.`
  const feature = onlyOnCpu(config)
  return feature === null ? null : `Models with ${feature} are not exported as ONNX yet.`
}

/** Describes what a GGUF file cannot say of a model; null for one that comes from such a file. */
function unsaidProblem({ directory, configFile }: ModelFolder): string | null {
  if (ggufFileOf(directory) !== null) return null
  try {
    describeModel(readJsonObject(configFile, 'model/invalid'), configFile)
    return null
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
}

/** About how many bytes a format takes as each of its types; null: the usual one. Adapters are small. */
export function formatSizes(
  format: ExportFormat,
  { config, tensors, directory }: ModelFolder,
): OfferedSize[] {
  const locations = [...tensors.values()]
  const elements = locations.reduce((sum, { shape }) => sum + elementCount(shape), 0)
  const stored = locations.reduce((sum, { byteLength }) => sum + byteLength, 0)
  if (format === 'onnx') return [{ dtype: null, bytes: 4 * elements }]
  if (format === 'merged') {
    // A GGUF file has no bytes that a merged model could keep.
    if (ggufFileOf(directory) !== null) return [{ dtype: null, bytes: 4 * elements }]
    return [
      { dtype: null, bytes: stored },
      { dtype: 'f32', bytes: 4 * elements },
    ]
  }
  if (format !== 'gguf-model' || ggufProblem(config) !== null) return []
  const offers = dtypes[format].map((dtype) => ({ dtype, bytes: ggufModelBytes(config, ggufMix(dtype)) }))
  return [{ dtype: null, bytes: offers[0]?.bytes ?? 0 }, ...offers]
}

type OfferedSize = OutputOf<Api, 'checkpoints.formats'>[number]['sizes'][number]

const mixes: Readonly<Record<ExportDtype, GgufMix>> = {
  f32: 'F32',
  f16: 'F16',
  bf16: 'BF16',
  q8_0: 'Q8_0',
  q4_k_m: 'Q4_K_M',
}

/** Returns llama.cpp's name of the type; null: the usual one of a merged model. */
export const ggufMix = (dtype: ExportDtype | null): GgufMix => mixes[dtype ?? 'f16']

/** Reason why these options do not go with the format; null where they do. */
export function optionProblem({ format, dtype, adapterInputs }: ExportOptions): string | null {
  if (adapterInputs && format !== 'onnx') return 'Only an ONNX export can keep the adapter as inputs.'
  if (dtype === null || dtypes[format].includes(dtype)) return null
  return `The format ${format} is written as ${dtypes[format].join(', ')}${format === 'merged' ? " or in the base's own type" : ''}, not as ${dtype}.`
}

/** `rank 16, alpha 32, on q_proj, v_proj` */
export const describeLora = ({ rank, alpha, rsLora, targets }: LoraConfig): string =>
  `rank ${rank}, alpha ${alpha}${rsLora ? ', rsLoRA' : ''}, on ${targets.join(', ')}`

/* Which base a checkpoint was trained on, as its run says. */

const trainedOn = z.object({ model: z.string(), contextLength: z.int().nullable().default(null) })

/** The base model of a checkpoint: the given one, the copy in the checkpoint, or that of its run's config; null: nothing says. */
export function baseOfCheckpoint(
  checkpoint: string,
  given: string | null,
): Pick<ExportRequest, 'model' | 'contextLength'> {
  const { model, contextLength } = trainedOnBy(checkpoint)
  const copy = path.join(checkpoint, 'model')
  const own = existsSync(path.join(copy, 'config.json')) ? copy : null
  return { model: given ?? own ?? model, contextLength }
}

/** Returns what its run's config says of a checkpoint, or where it came from if it was promoted. */
function trainedOnBy(checkpoint: string): Pick<ExportRequest, 'model' | 'contextLength'> {
  const origin = originOf(checkpoint)
  if (origin !== null) return { model: origin.model, contextLength: origin.contextLength }
  const run = path.dirname(path.dirname(path.resolve(checkpoint)))
  if (!existsSync(runPaths(run).config)) return { model: null, contextLength: null }
  const parsed = trainedOn.safeParse(readOwnConfig(run))
  return parsed.data ?? { model: null, contextLength: null }
}

/** Errors: AppError 'model/…' or 'file/unreadable' where there is no such base. */
export function openBase({
  model,
  contextLength,
}: Pick<ExportRequest, 'model' | 'contextLength'>): ModelFolder {
  if (model !== null) return openModelFolder(model, { contextLength })
  throw invalidModel(
    'The checkpoint does not name the model it was trained on.',
    'Give the folder of the base model.',
  )
}
