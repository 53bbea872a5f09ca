import type { CompositeOp, Value } from '../graph/value.ts'
import { apply, compose, outputOf } from '../graph/value.ts'
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

/**
 * silu(gate) · up. Shazeer 2020, arXiv:2002.05202. With s = σ(gate) and du = dy·silu(gate), the gate's gradient is
 * up·(dy·s + du·(1 − s)): fewer passes than through the two factors.
 */
export function swiglu(gate: Value, up: Value): Value {
  const activated = silu(gate)
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => {
    const dy = onlyCotangent(cotangents)
    const dUp = mul(dy, activated)
    return [mul(up, add(mul(sub(dy, dUp), sigmoid(gate)), dUp)), dUp]
  }
  return compose({ name: 'Swiglu', vjp }, [gate, up], [mul(activated, up)])[0] as Value
}

// y = exp(x) / Σ exp(x): dx = y · (dy − Σ y·dy). Softmax runs along the last axis, where the runtime is fastest.
export const softmaxOp = defineOp('Softmax', ({ node, cotangents }) => {
  const y = outputOf(node)
  const weighted = mul(y, onlyCotangent(cotangents))
  return [sub(weighted, mul(y, reduceSum(weighted, [-1])))]
})
/** Softmax along the last axis. */
export const softmax = (x: Value): Value => apply(softmaxOp, [x], {}, [x])[0] as Value
