/** State space of a block, as Granite 4 has it: Mamba-2. Dao and Gu 2024, arXiv:2405.21060. */
import type { Dim } from '../graph/shape.ts'
import { type Value, constant } from '../graph/value.ts'
import { silu } from '../ops/activation.ts'
import { add, exp, mul, neg } from '../ops/arithmetic.ts'
import { decayingSum, softplus } from '../ops/deltaRule.ts'
import { reshape, splitSizes } from '../ops/layout.ts'
import { rmsNorm } from '../ops/normalization.ts'
import { shortConvolution } from '../ops/shortConvolution.ts'
import { recurrentForms, rowsOf } from './recurrence.ts'
import { type StateSpace, recurrentWidth } from './config.ts'
import type { LayerScope, Part } from './layerScope.ts'
import { stateNames } from './source.ts'

/** x [N, D] → [N, D] */
export function statePart(x: Value, mixer: StateSpace, layer: LayerScope): Part {
  const { keyHeads, valueHeads, keyDim, valueDim, kernel, bias } = mixer
  const [values, keys] = [valueHeads * valueDim, keyHeads * keyDim]
  const projected = layer.linear('mamba.in_proj', x)
  const [gate, entering, dt] = splitSizes(projected, -1, [values, recurrentWidth(mixer), valueHeads]) as [
    Value,
    Value,
    Value,
  ]
  const taps = [entering, ...layer.before(entering, kernel - 1)]
  const convolved = shortConvolution(taps, layer.vector(stateNames.kernel))
  const activated = silu(bias ? add(convolved, layer.vector(stateNames.bias)) : convolved)
  const [v, b, c] = splitSizes(activated, -1, [values, keys, keys]) as [Value, Value, Value]
  const steps = softplus(add(dt, layer.vector(stateNames.step))) // [N, H]
  const ofHeads = (y: Value, factors: Value): Value => {
    const rows = y.shape[0] as Dim
    return reshape(mul(reshape(y, [rows, valueHeads, valueDim]), factors), y.shape)
  }
  const rows = {
    queries: c,
    keys: b,
    values: ofHeads(v, reshape(steps, [x.shape[0] as Dim, valueHeads, 1])),
    decays: mul(steps, neg(exp(layer.vector(stateNames.rate)))),
  }
  const joined = layer.recur(mixer, rowsOf(rows), recurrentForms(mixer, decayingSum))
  const passed = ofHeads(v, reshape(layer.vector(stateNames.skip), [valueHeads, 1]))
  const normed = groupNorm(mul(add(joined, passed), silu(gate)), mixer, layer)
  return { output: layer.linear('mamba.out_proj', normed), activations: { projected, mixed: joined } }
}

/** Norm of the values of each group of heads that share keys, under one weight for all channels. x [N, H·V]. */
function groupNorm(x: Value, { keyHeads }: StateSpace, layer: LayerScope): Value {
  const [rows, width] = x.shape as readonly [Dim, number]
  const each = width / keyHeads
  const ones = constant(new Array<number>(each).fill(1), [each])
  const apart = rmsNorm(reshape(x, [rows, keyHeads, each]), ones, layer.config.normEpsilon)
  return mul(reshape(apart, x.shape), layer.vector(stateNames.norm))
}
