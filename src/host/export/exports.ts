/**
 * A trained adapter on its way out of the program. Reading guide:
 *
 *   exports.ts        (here) the words: formats, what can be asked for, what is reported
 *   exportFormats.ts  which formats a model's family and an adapter can have
 *   exportFolder.ts   where the files go: a folder that has its name only when all is there and compared
 *   baseFiles.ts      the base model's files, every tensor of them
 *   loraDelta.ts      s·B·A of one weight; mergedModel.ts adds it to the base, onnxModel.ts (onnxGraph.ts) writes a graph
 *   parity.ts         what was read back against what was trained, in sentences; provenance.ts says what it was made from
 *   modelCard.ts      README.md of each
 *
 * The process that has ONNX Runtime puts them together (exporting.ts).
 */
import type { OutputOf } from '#shared/api/contract.ts'
import type { Api } from '#shared/api/api.ts'

type Item = OutputOf<Api, 'checkpoints.export'>
export type ExportReport = Extract<Item, { readonly result: unknown }>['result']
export type ExportProgress = Extract<Item, { readonly progress: unknown }>['progress']
export type ExportFormat = ExportReport['format']
/** A comparison: passed where what was measured is not above the limit. */
export type ParityLine = ExportReport['parity'][number]

export const exportFormats = ['peft', 'merged', 'gguf', 'onnx'] as const satisfies readonly ExportFormat[]

export const exportDtypes = ['f32', 'f16', 'bf16'] as const
export type ExportDtype = (typeof exportDtypes)[number]

export interface ExportOptions {
  readonly format: ExportFormat
  /** Folder; new or empty. */
  readonly out: string
  /** Of the tensors; null: the base's for a merged model, f32 for the rest. */
  readonly dtype: ExportDtype | null
  /** Largest weight file of a merged model. */
  readonly shardBytes: number
  /** ONNX: the adapter stays apart, as inputs of the graph. */
  readonly adapterInputs: boolean
}

export interface ExportRequest extends ExportOptions {
  /** Folder of the checkpoint. */
  readonly checkpoint: string
  /** Folder of the base model; null: nobody knows. */
  readonly model: string | null
  /** Longest sequence it was opened for; null: as its own positions reach. */
  readonly contextLength: number | null
  readonly cacheDirectory: string
}

export const defaultShardBytes = 5_000_000_000

export type OnExportProgress = (progress: ExportProgress) => void
