/** Frozen weights in the forms in which they lie on disk, turned into f32 while a graph runs. */
import type { Value } from '../graph/value.ts'
import { apply } from '../graph/value.ts'
import { defineOp, int } from './define.ts'

export const dequantizeOp = defineOp(
  'DequantizeLinear',
  'Stored weights are frozen: what is trained lies beside them.',
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
