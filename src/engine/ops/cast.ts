import type { Dtype, Value } from '../graph/value.ts'
import { apply } from '../graph/value.ts'
import { defineOp, int } from './define.ts'

export const castOp = defineOp(
  'Cast',
  'Element types change only where nothing is learned, or inside HalfMatMul, which has its own rule.',
)

/** ONNX's numbers for element types. */
const TYPES = { float32: 1, uint8: 2, int64: 7, float16: 10, bfloat16: 16 } as const satisfies Partial<
  Record<Dtype, number>
>

/** The same numbers as another type; to whole ones fractions are cut off. */
export const cast = (x: Value, dtype: keyof typeof TYPES): Value =>
  apply(castOp, [x], { to: int(TYPES[dtype]) }, [{ dtype, shape: x.shape }])[0] as Value
