/** Linear attention of a block by the gated delta rule, as Qwen 3.5 has it. Yang et al. 2024, arXiv:2412.06464. */
import type { Dim } from '../graph/shape.ts'
import { type Value } from '../graph/value.ts'
import { preciseSilu, sigmoid, silu } from '../ops/activation.ts'
import { add, exp, mul, neg, scale } from '../ops/arithmetic.ts'
import { gatedDeltaRule, softplus, unitRows } from '../ops/deltaRule.ts'
import { reshape, splitSizes } from '../ops/layout.ts'
import { rmsNorm } from '../ops/normalization.ts'
import { shortConvolution } from '../ops/shortConvolution.ts'
import { recurrentForms, rowsOf } from './recurrence.ts'
import type { DeltaRule } from './config.ts'
import type { LayerScope, Part } from './layerScope.ts'
import { deltaNames } from './source.ts'

/** Added under the root by which queries and keys are divided. */
const UNIT_EPSILON = 1e-6

/** x [N, D] → [N, D] */
export function deltaPart(x: Value, mixer: DeltaRule, layer: LayerScope): Part {
  const { keyHeads, valueHeads, keyDim, valueDim } = mixer
  const projected = layer.linear('in_proj_qkv', x)
  const [gate, b, a] = [
    layer.linear('in_proj_z', x),
    layer.linear('in_proj_b', x),
    layer.linear('in_proj_a', x),
  ]
  const taps = [projected, ...layer.before(projected, mixer.kernel - 1)]
  // Queries and keys are divided by their length, however small that is.
  const convolved = preciseSilu(shortConvolution(taps, layer.vector(deltaNames.kernel)))
  const [q, k, v] = splitSizes(convolved, -1, [
    keyHeads * keyDim,
    keyHeads * keyDim,
    valueHeads * valueDim,
  ]) as [Value, Value, Value]
  const rates = neg(exp(layer.vector(deltaNames.rate)))
  const decays = mul(softplus(add(a, layer.vector(deltaNames.step))), rates)
  const rows = {
    queries: scale(unitHeads(q, keyHeads), keyDim ** -0.5),
    keys: unitHeads(k, keyHeads),
    values: v,
    decays,
    strengths: sigmoid(b),
  }
  const joined = layer.recur(mixer, rowsOf(rows), recurrentForms(mixer, gatedDeltaRule))
  const output = layer.linear('linear_attn.out_proj', gatedNorm(joined, gate, mixer, layer))
  return { output, activations: { projected, 'attention gate': gate, strengths: b, steps: a, mixed: joined } }
}

const unitHeads = (x: Value, heads: number): Value => {
  const [rows, width] = x.shape as readonly [Dim, number]
  return reshape(unitRows(reshape(x, [rows, heads, width / heads]), UNIT_EPSILON), x.shape)
}

/** Norm of each head times silu(gate). x and gate [N, H·V]. */
function gatedNorm(x: Value, gate: Value, { valueHeads, valueDim }: DeltaRule, layer: LayerScope): Value {
  const rows = reshape(x, [x.shape[0] as Dim, valueHeads, valueDim])
  const normed = rmsNorm(rows, layer.vector(deltaNames.norm), layer.config.normEpsilon)
  return mul(reshape(normed, x.shape), silu(gate))
}
