/** Memory that training a LoRA adapter takes, estimated from the sizes of the frozen weights alone. */
import { totalmem } from 'node:os'
import { blockPrecisions, isHalfPrecision, type HeldPrecision } from '#shared/precision.ts'
import { blockForm, blocksPerRow, linearWeights } from '#engine/models/blocks.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { elementCount } from '#host/files/safetensors.ts'

/** Precisions that the matrices can be held in, most exact first. */
export const fittingPrecisions = ['f32', ...blockPrecisions] as const
export type FittingPrecision = (typeof fittingPrecisions)[number]

export interface MemoryFit {
  /** The most exact form of its matrices that this machine's memory holds for training; null: not even in 4 bits. */
  readonly fits: FittingPrecision | null
  /** Bytes for training in that form; in 4 bits where none fits. */
  readonly trainingBytes: number
}

/** Memory that training needs at least, as a multiple of the weights' size. */
const besideWeights = 1.25

/** Mapped weights that do not stay in memory would be read again with every step. */
export function memoryFit(config: ModelConfig, parameters: number, memoryBytes = totalmem()): MemoryFit {
  const needs = fittingPrecisions.map((precision) => ({
    fits: precision,
    trainingBytes: Math.ceil(besideWeights * weightBytes(config, parameters, precision)),
  }))
  const found = needs.find(({ trainingBytes }) => trainingBytes <= memoryBytes)
  return found ?? { fits: null, trainingBytes: needs.at(-1)?.trainingBytes ?? 0 }
}

/** Bytes of a model whose linears are held in this precision; everything else is in f32. */
export function weightBytes(config: ModelConfig, parameters: number, precision: HeldPrecision): number {
  const linears = linearWeights(config)
  const inLinears = linears.reduce((sum, { shape }) => sum + elementCount(shape), 0)
  return linears.reduce((sum, { shape }) => sum + matrixBytes(shape, precision), 4 * (parameters - inLinears))
}

function matrixBytes(shape: readonly number[], precision: HeldPrecision): number {
  if (precision === 'f32') return 4 * elementCount(shape)
  if (isHalfPrecision(precision)) return 2 * elementCount(shape)
  const [rows = 0, columns = 0] = shape
  const form = blockForm(precision, columns)
  // Every block has a scale.
  return rows * blocksPerRow(columns, form) * ((form.blockSize * form.bits) / 8 + 4)
}
