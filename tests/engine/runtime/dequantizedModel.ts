/** A model in f32 whose linears, and head in 8 bits, are what a rounded base makes of them, computed here value by value. */
import { join } from 'node:path'
import type { BlockPrecision } from '#shared/precision.ts'
import { blockWeight, linearWeights, rowWeight, type BlockWeight } from '#engine/models/blocks.ts'
import { headWeightName, type ModelSource, type TensorLocation } from '#engine/models/source.ts'
import {
  bytesOf,
  openSafetensors,
  readPieces,
  readTensor,
  type TensorToWrite,
  writeSafetensors,
} from '#host/files/safetensors.ts'

/** [rows, columns] out of blocks. */
function blockValues({ form, blocks, scales }: BlockWeight, columns: number): Float32Array {
  const { bits, blockSize, zero } = form
  const bytes = Buffer.concat([...readPieces(blocks, 1 << 24)])
  const factors = readTensor(scales)
  const perRow = scales.shape[1]! * blockSize
  const rows = scales.shape[0]!
  return Float32Array.from({ length: rows * columns }, (_, index) => {
    const place = Math.floor(index / columns) * perRow + (index % columns)
    const byte = bytes[Math.floor((place * bits) / 8)]!
    const value = bits === 8 ? byte : (byte >> (4 * (place % 2))) & 15
    return Math.fround((value - zero) * factors[Math.floor(place / blockSize)]!)
  })
}

/** [rows, columns] out of signed bytes with a scale for each row. */
function rowValues(bytes: TensorLocation, scales: TensorLocation, columns: number): Float32Array {
  const values = new Int8Array(Buffer.concat([...readPieces(bytes, 1 << 24)]))
  const factors = readTensor(scales)
  return Float32Array.from(values, (value, index) => value * factors[Math.floor(index / columns)]!)
}

/** [rows, columns] as the source has it rounded; null for what is exact there. */
function dequantizedValues(source: ModelSource, name: string, columns: number): Float32Array | null {
  const rows = rowWeight(source, name)
  if (rows?.plain) return rowValues(rows.plain, rows.scales, columns)
  const blocks = blockWeight(source, name)
  return blocks && blockValues(blocks, columns)
}

/** Writes such a model into `folder`; `rounded` has its linears in blocks, or in rows of bytes. */
export async function dequantizedSource(
  rounded: ModelSource,
  precision: BlockPrecision,
  folder: string,
): Promise<ModelSource> {
  const matrices = new Map(linearWeights(rounded.config).map(({ name, shape }) => [name, shape]))
  const exact = [...rounded.tensors].filter(([name]) => !name.includes(`.${precision}`))
  const linears = [...matrices].map(([name, shape]): TensorToWrite => {
    const data = dequantizedValues(rounded, name, shape[1]!)!
    return { name, dtype: 'F32', shape, pieces: () => [bytesOf(data)] }
  })
  const others = exact.map(([name, location]): TensorToWrite => {
    const data = readTensor(location)
    return { name, dtype: 'F32', shape: location.shape, pieces: () => [bytesOf(data)] }
  })
  // A tied head is another matrix than the embedding once it is rounded.
  const { vocabSize, hiddenSize } = rounded.config
  const data = dequantizedValues(rounded, headWeightName(rounded.config), hiddenSize)
  const config = data ? { ...rounded.config, tiedHead: false } : rounded.config
  const head = headWeightName(config)
  const shape = [vocabSize, hiddenSize]
  const heads: TensorToWrite[] = data
    ? [{ name: head, dtype: 'F32', shape, pieces: () => [bytesOf(data)] }]
    : []
  const path = join(folder, `dequantized-${precision}.safetensors`)
  const kept = others.filter(({ name }) => heads.length === 0 || name !== head)
  await writeSafetensors(path, [...linears, ...kept, ...heads])
  return { ...rounded, config, tensors: openSafetensors(path).tensors }
}
