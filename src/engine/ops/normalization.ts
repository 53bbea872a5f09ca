import { apply, outputOf } from '../graph/value.ts'
import type { Value } from '../graph/value.ts'
import { mul, sub } from './arithmetic.ts'
import { defineOp, float, inputOf, int, onlyCotangent } from './define.ts'
import { meanLastAxis } from './reduce.ts'

// y = x·s·w, s = 1/√(mean(x²) + ε): dx = s·w·dy − x·s²·mean(dy·y), dw = dy·x·s
export const rmsNormOp = defineOp(
  'RmsNorm',
  ({ node, cotangents }) => {
    const dy = onlyCotangent(cotangents)
    const [x, weight] = [inputOf(node, 0), inputOf(node, 1)]
    const inverse = node.outputs[1] as Value
    const perRow = mul(mul(inverse, inverse), meanLastAxis(mul(dy, outputOf(node))))
    const dx = sub(mul(mul(dy, weight), inverse), mul(x, perRow))
    return [dx, mul(dy, mul(x, inverse))]
  },
  // The runtime's own extension; unlike ONNX's RMSNormalization it also returns the inverse deviation.
  { type: 'SimplifiedLayerNormalization' },
)
/** x / √(mean(x²) + ε) · weight along the last axis. x […, D], weight [D]. Zhang and Sennrich 2019, arXiv:1910.07467. */
export function rmsNorm(x: Value, weight: Value, epsilon: number): Value {
  const attributes = { axis: int(-1), epsilon: float(epsilon), stash_type: int(1) }
  const inverse = { dtype: x.dtype, shape: [...x.shape.slice(0, -1), 1] }
  return apply(rmsNormOp, [x, weight], attributes, [x, inverse])[0] as Value
}
