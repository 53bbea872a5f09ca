/** A model in f32 whose linears, and head in 8 bits, are what a rounded base makes of them, computed here value by value. */
import { join } from 'node:path'
import type { BlockPrecision } from '#shared/precision.ts'
import { blockWeight, linearWeights, type BlockWeight } from '#engine/models/blocks.ts'
import { headWeightName, type ModelSource } from '#engine/models/source.ts'
import {
  bytesOf,
  openSafetensors,
  readPieces,
  readTensor,
  type TensorToWrite,
  writeSafetensors,
} from '#host/files/safetensors.ts'

/** [rows, columns] out of blocks. */
function dequantizedValues({ form, blocks, scales }: BlockWeight, columns: number): Float32Array {
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

/** Writes such a model into `folder`; `rounded` has its linears in blocks. */
export async function dequantizedSource(
  rounded: ModelSource,
  precision: BlockPrecision,
  folder: string,
): Promise<ModelSource> {
  const matrices = new Map(linearWeights(rounded.config).map(({ name, shape }) => [name, shape]))
  const exact = [...rounded.tensors].filter(([name]) => !name.includes(`.${precision}`))
  const linears = [...matrices].map(([name, shape]): TensorToWrite => {
    const data = dequantizedValues(blockWeight(rounded, name)!, shape[1]!)
    return { name, dtype: 'F32', shape, pieces: () => [bytesOf(data)] }
  })
  const others = exact.map(([name, location]): TensorToWrite => {
    const data = readTensor(location)
    return { name, dtype: 'F32', shape: location.shape, pieces: () => [bytesOf(data)] }
  })
  // A tied head is another matrix than the embedding once it is rounded.
  const stored = blockWeight(rounded, headWeightName(rounded.config))
  const config = stored ? { ...rounded.config, tiedHead: false } : rounded.config
  const head = headWeightName(config)
  const shape = [config.vocabSize, config.hiddenSize]
  const data = stored && dequantizedValues(stored, config.hiddenSize)
  const heads: TensorToWrite[] = data
    ? [{ name: head, dtype: 'F32', shape, pieces: () => [bytesOf(data)] }]
    : []
  const path = join(folder, `dequantized-${precision}.safetensors`)
  const kept = others.filter(({ name }) => heads.length === 0 || name !== head)
  await writeSafetensors(path, [...linears, ...kept, ...heads])
  return { ...rounded, config, tensors: openSafetensors(path).tensors }
}
