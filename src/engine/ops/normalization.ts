import { apply, constant, outputOf, type OpNode, type Value } from '../graph/value.ts'
import { add, div, mul, scale, sqrt, sub } from './arithmetic.ts'
import { defineOp, float, inputOf, int, onlyCotangent } from './define.ts'
import { meanLastAxis, reduceSumSquare } from './reduce.ts'

// y = x·s·w, s = 1/√(mean(x²) + ε): dx = s·w·dy − x·s²·mean(dy·y), dw = dy·x·s
export const rmsNormOp = defineOp(
  'RmsNorm',
  ({ node, cotangents }) => {
    const dy = onlyCotangent(cotangents)
    const [x, weight] = [inputOf(node, 0), inputOf(node, 1)]
    const inverse = inverseDeviation(x, node)
    const perRow = mul(mul(inverse, inverse), meanLastAxis(mul(dy, outputOf(node))))
    const dx = sub(mul(mul(dy, weight), inverse), mul(x, perRow))
    return [dx, mul(dy, mul(x, inverse))]
  },
  // The runtime's own extension: every provider has a kernel for it, and few for ONNX's RMSNormalization.
  { type: 'SimplifiedLayerNormalization' },
)

/**
 * 1/√(mean(x²) + ε), [..., 1]. The kernel has it as a second output, but the WebGPU provider fills that one with the mean
 * (onnxruntime-node 1.30), and nothing says so: gradients there would be noise.
 */
function inverseDeviation(x: Value, { attributes }: OpNode): Value {
  const number = (value: number) => constant([value], [1], x.dtype === 'float64' ? 'float64' : 'float32')
  const { float: epsilon } = attributes['epsilon'] as { float: number }
  const meanSquare = scale(reduceSumSquare(x), 1 / (x.shape.at(-1) as number))
  return div(number(1), sqrt(add(meanSquare, number(epsilon))))
}

/** x / √(mean(x²) + ε) · weight along the last axis. x […, D], weight [D]. Zhang and Sennrich 2019, arXiv:1910.07467. */
export function rmsNorm(x: Value, weight: Value, epsilon: number): Value {
  const attributes = { axis: int(-1), epsilon: float(epsilon), stash_type: int(1) }
  return apply(rmsNormOp, [x, weight], attributes, [x])[0] as Value
}

export interface NormalizedRows {
  /** x / √(mean(x²) + ε) · factor, of x's shape. */
  readonly normalized: Value
  /** 1 / √(mean(x²) + ε), […, 1]. */
  readonly inverse: Value
}

/** Rows with the root mean square `factor`, and what undoes it. CPU only: see `inverseDeviation`. x […, D]. */
export function normalizedRows(x: Value, factor: number, epsilon: number): NormalizedRows {
  const width = x.shape.at(-1) as number
  const weight = constant(new Array<number>(width).fill(factor), [width])
  const attributes = { axis: int(-1), epsilon: float(epsilon), stash_type: int(1) }
  const perRow = { dtype: x.dtype, shape: [...x.shape.slice(0, -1), 1] }
  const [normalized, inverse] = apply(rmsNormOp, [x, weight], attributes, [x, perRow])
  return { normalized: normalized as Value, inverse: inverse as Value }
}

// y = n·w + b, n = (x − mean)·s, s = 1/√(var + ε): dx = s·(dn − mean(dn) − n·mean(dn·n)) with dn = dy·w
export const layerNormOp = defineOp(
  'LayerNorm',
  ({ node, cotangents }) => {
    const dy = onlyCotangent(cotangents)
    const [x, weight] = [inputOf(node, 0), inputOf(node, 1)]
    const [mean, inverse] = [node.outputs[1] as Value, node.outputs[2] as Value]
    const normalized = mul(sub(x, mean), inverse)
    const dn = mul(dy, weight)
    const alongMean = mul(normalized, meanLastAxis(mul(dn, normalized)))
    return [mul(sub(sub(dn, meanLastAxis(dn)), alongMean), inverse), mul(dy, normalized), dy]
  },
  { type: 'LayerNormalization' },
)

export interface LayerNormParameters {
  /** [D] */
  readonly weight: Value
  /** [D] */
  readonly bias: Value
  readonly epsilon: number
}

/** (x − mean(x)) / √(var(x) + ε) · weight + bias along the last axis. x […, D]. Ba et al. 2016, arXiv:1607.06450. */
export function layerNorm(x: Value, { weight, bias, epsilon }: LayerNormParameters): Value {
  const attributes = { axis: int(-1), epsilon: float(epsilon), stash_type: int(1) }
  const perRow = { dtype: x.dtype, shape: [...x.shape.slice(0, -1), 1] }
  return apply(layerNormOp, [x, weight, bias], attributes, [x, perRow, perRow])[0] as Value
}
