import { type CompositeOp, type Value, apply, compose, constant, outputOf } from '../graph/value.ts'
import { add, div, exp, mul, neg, scale, sub } from './arithmetic.ts'
import { atMost } from './choice.ts'
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
 * silu(x) with small results as exact as large ones. The runtime's sigmoid is off by 3 millionths of its value at −4 and by 2
 * thousandths at −10.
 */
export function preciseSilu(x: Value): Value {
  const one = constant([1], [], x.dtype === 'float64' ? 'float64' : 'float32')
  const share = div(one, add(one, exp(neg(x))))
  const y = mul(x, share)
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => [
    mul(onlyCotangent(cotangents), add(share, sub(y, mul(y, share)))),
  ]
  return compose({ name: 'PreciseSilu', vjp }, [x], [y])[0] as Value
}

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

export const clipOp = defineOp('Clip', 'Used only inside the clamped SwiGLU, which has its own rule.')
/** x, no smaller than `from` and no larger than `to`. */
const clip = (x: Value, from: number, to: number): Value =>
  apply(clipOp, [x, constant([from], []), constant([to], [])], {}, [x])[0] as Value

export const quickGeluOp = defineOp(
  'QuickGelu',
  'Used only inside the clamped SwiGLU, which has its own rule.',
  {
    domain: 'com.microsoft',
  },
)

/**
 * (u + 1)·g·σ(αg) with g = min(gate, limit) and u = up within ±limit. OpenAI 2025, arXiv:2508.10925, §2. With s = σ(αg) the
 * slope by g is (u + 1)·(s + α·g·s·(1 − s)); beyond a bound there is none.
 */
export function clampedSwiglu(
  gate: Value,
  up: Value,
  { limit, alpha }: { readonly limit: number; readonly alpha: number },
): Value {
  const one = constant([1], [])
  const [g, u] = [clip(gate, -Infinity, limit), clip(up, -limit, limit)]
  const activated = apply(quickGeluOp, [g], { alpha: float(alpha) }, [g])[0] as Value
  const raised = add(u, one)
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => {
    const dy = onlyCotangent(cotangents)
    const share = sigmoid(scale(g, alpha))
    const slope = add(share, scale(mul(activated, sub(one, share)), alpha))
    const [dGate, dUp] = [mul(mul(dy, raised), slope), mul(dy, activated)]
    return [mul(dGate, atMost(gate, g)), mul(dUp, mul(atMost(up, u), atMost(u, up)))]
  }
  return compose({ name: 'ClampedSwiglu', vjp }, [gate, up], [mul(activated, raised)])[0] as Value
}

export const reluOp = defineOp('Relu', 'Used only under its square, which has its own rule.')
/** max(x, 0)². So et al. 2021, arXiv:2109.08668. */
export function reluSquared(x: Value): Value {
  const positive = apply(reluOp, [x], {}, [x])[0] as Value
  // y = max(x, 0)²: dx = dy · 2·max(x, 0)
  const vjp: CompositeOp['vjp'] = ({ cotangents }) => [mul(onlyCotangent(cotangents), scale(positive, 2))]
  return compose({ name: 'ReluSquared', vjp }, [x], [mul(positive, positive)])[0] as Value
}

// y = tanh(x): dx = dy·(1 − y²)
export const tanhOp = defineOp('Tanh', ({ node, cotangents }) => {
  const dy = onlyCotangent(cotangents)
  const y = outputOf(node)
  return [sub(dy, mul(dy, mul(y, y)))]
})
export const tanh = (x: Value): Value => apply(tanhOp, [x], {}, [x])[0] as Value

/** cap·tanh(x/cap): close to x near zero, never beyond ±cap. Gemma Team 2024, arXiv:2408.00118, §2. */
export const softcap = (x: Value, cap: number): Value => scale(tanh(scale(x, 1 / cap)), cap)

/** √(2/π), and that times 0.044715. */
const [GELU_LINEAR, GELU_CUBIC] = [0.7978845608028654, 0.035677408136300125]

// y = x/2·(1 + tanh u), u = x·(a + b·x²): dx = dy·(1/2·(1 + t) + x/2·(1 − t²)·(a + 3b·x²))
export const geluTanhOp = defineOp(
  'GeluTanh',
  ({ node, cotangents }) => {
    const x = inputOf(node, 0)
    const one = constant([1], [])
    const square = mul(x, x)
    const slope = (factor: number) => add(scale(square, factor), constant([GELU_LINEAR], []))
    const t = tanh(mul(x, slope(GELU_CUBIC)))
    const byInner = mul(mul(x, sub(one, mul(t, t))), slope(3 * GELU_CUBIC))
    return [mul(onlyCotangent(cotangents), scale(add(add(one, t), byInner), 0.5))]
  },
  { type: 'FastGelu', domain: 'com.microsoft' },
)
/**
 * x·Φ(x) with the normal distribution approximated by a tanh. Hendrycks and Gimpel 2016, arXiv:1606.08415. float32 only:
 * the runtime's fused kernel has no other.
 */
export const geluTanh = (x: Value): Value => apply(geluTanhOp, [x], {}, [x])[0] as Value

/** gelu(gate) · up. Shazeer 2020, arXiv:2002.05202. */
export const geglu = (gate: Value, up: Value): Value => mul(geluTanh(gate), up)

// y = exp(x) / Σ exp(x): dx = y · (dy − Σ y·dy). Softmax runs along the last axis, where the runtime is fastest.
export const softmaxOp = defineOp('Softmax', ({ node, cotangents }) => {
  const y = outputOf(node)
  const weighted = mul(y, onlyCotangent(cotangents))
  return [sub(weighted, mul(y, reduceSum(weighted, [-1])))]
})
/** Softmax along the last axis. */
export const softmax = (x: Value): Value => apply(softmaxOp, [x], {}, [x])[0] as Value
