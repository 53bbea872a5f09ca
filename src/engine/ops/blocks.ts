/** Frozen matrices in blocks, turned into f32 while a graph runs: as a whole, or the rows that are asked for. */
import type { Dim } from '../graph/shape.ts'
import { type Value, apply } from '../graph/value.ts'
import { defineOp, int } from './define.ts'
import { reshape, splitSizes } from './layout.ts'
import type { QuantizedWeight } from './matmul.ts'

export const dequantizeOp = defineOp(
  'DequantizeLinear',
  'Stored weights are frozen; the trained adapter is separate.',
)

export interface BlockedMatrix {
  /** [N, K] u8 or u4, K a multiple of the block. */
  readonly blocks: Value
  /** [N, K / block] */
  readonly scales: Value
  /** [N, K / block], of the type of the blocks. */
  readonly zeros: Value
  readonly blockSize: number
}

/** (blocks − zeros) · scales: [N, K] f32. */
export const dequantize = ({ blocks, scales, zeros, blockSize }: BlockedMatrix): Value =>
  apply(dequantizeOp, [blocks, scales, zeros], { axis: int(1), block_size: int(blockSize) }, [
    { dtype: 'float32', shape: blocks.shape },
  ])[0] as Value

/** A matrix in blocks with scales [N, C], of which rows are read as well as products. */
export type BlockRows = QuantizedWeight

export const gatherBlocksOp = defineOp(
  'GatherBlockQuantized',
  'Stored weights are frozen; the trained adapter is separate.',
  { domain: 'com.microsoft' },
)

/** Rows of a matrix in blocks, in f32. ids [I] i64 → [I, K]. */
export function blockRows({ blocks, scales, bits, blockSize, inputs }: BlockRows, ids: Value): Value {
  const count = blocks.shape[1] as number
  const rows = ids.shape[0] as Dim
  const attributes = {
    bits: int(bits),
    block_size: int(blockSize),
    gather_axis: int(0),
    quantize_axis: int(2),
  }
  const type = { dtype: 'float32', shape: [rows, count, blockSize] } as const
  const found = apply(gatherBlocksOp, [blocks, ids, reshape(scales, [...scales.shape, 1])], attributes, [
    type,
  ])[0] as Value
  const padding = count * blockSize - inputs
  const whole = reshape(found, [rows, count * blockSize])
  return padding === 0 ? whole : (splitSizes(whole, -1, [inputs, padding])[0] as Value)
}
