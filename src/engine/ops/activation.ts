import type { Value } from '../graph/value.ts'
import { apply, outputOf } from '../graph/value.ts'
import { add, mul, sub } from './arithmetic.ts'
import { defineOp, float, inputOf, onlyCotangent } from './define.ts'
import { reduceSum } from './reduce.ts'

// y = σ(x): dx = dy · (y − y²)
export const sigmoidOp = defineOp('Sigmoid', ({ node, cotangents }) => {
  const y = outputOf(node)
  return [mul(onlyCotangent(cotangents), sub(y, mul(y, y)))]
})
export const sigmoid = (x: Value): Value => apply(sigmoidOp, [x], {}, [x])[0] as Value

// y = x·σ(x): dx = dy · (σ + y − y·σ)
export const siluOp = defineOp(
  'Silu',
  ({ node, cotangents }) => {
    const y = outputOf(node)
    const gate = sigmoid(inputOf(node, 0))
    return [mul(onlyCotangent(cotangents), add(gate, sub(y, mul(y, gate))))]
  },
  { type: 'QuickGelu', domain: 'com.microsoft' },
)
/** x·sigmoid(x), also called swish. float32 only: the runtime's fused kernel has no other. */
export const silu = (x: Value): Value => apply(siluOp, [x], { alpha: float(1) }, [x])[0] as Value

// y = exp(x) / Σ exp(x): dx = y · (dy − Σ y·dy). Softmax runs along the last axis, where the runtime is fastest.
export const softmaxOp = defineOp('Softmax', ({ node, cotangents }) => {
  const y = outputOf(node)
  const weighted = mul(y, onlyCotangent(cotangents))
  return [sub(weighted, mul(y, reduceSum(weighted, [-1])))]
})
/** Softmax along the last axis. */
export const softmax = (x: Value): Value => apply(softmaxOp, [x], {}, [x])[0] as Value
