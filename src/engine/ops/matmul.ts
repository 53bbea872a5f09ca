import { type Dim, type Shape, broadcast, sameShape, showShape } from '../graph/shape.ts'
import { type Attribute, type OpNode, type Value, apply, outputOf } from '../graph/value.ts'
import { scale } from './arithmetic.ts'
import { defineOp, float, inputOf, int, onlyCotangent } from './define.ts'
import { transpose } from './layout.ts'

export interface MatmulOptions {
  readonly transA?: boolean
  readonly transB?: boolean
  /** Factor on the product. */
  readonly alpha?: number
}

// C = α·op(A)·op(B), op(X) = X or Xᵀ on the last two axes.
export const matmulOp = defineOp(
  'FusedMatMul',
  ({ node, cotangents }) => {
    const dc = onlyCotangent(cotangents)
    const [a, b] = [inputOf(node, 0), inputOf(node, 1)]
    const flag = (name: string) => (node.attributes[name] as { int: number }).int === 1
    const alpha = (node.attributes['alpha'] as { float: number }).float
    const [transA, transB] = [flag('transA'), flag('transB')]
    const da = transA
      ? matmul(b, dc, { transA: transB, transB: true, alpha })
      : matmul(dc, b, { transB: !transB, alpha })
    const db = transB
      ? matmul(dc, a, { transA: true, transB: transA, alpha })
      : matmul(a, dc, { transA: !transA, alpha })
    return [da, db]
  },
  { domain: 'com.microsoft', lowered: (node) => [standardProduct(node)] },
)

export const matrixProductOp = defineOp('MatMul', 'Used only as the lowering of FusedMatMul.')

/**
 * Multiplies two matrices by Gemm, which reads them transposed as they are; where there are leading axes, transposed
 * copies are made.
 */
function standardProduct(node: OpNode): Value {
  const [a, b, result] = [inputOf(node, 0), inputOf(node, 1), outputOf(node)]
  const { alpha, transA, transB } = node.attributes as Record<'alpha' | 'transA' | 'transB', Attribute>
  const isSet = (attribute: Attribute | undefined) => (attribute as { int: number }).int === 1
  if (a.shape.length === 2 && b.shape.length === 2) {
    const attributes = { ...node.attributes, beta: float(1) }
    return apply(matmulAddOp, [a, b, null], attributes, [result])[0] as Value
  }
  const turned = (x: Value, isTurned: boolean) => (isTurned ? transpose(x, swapLast(x.shape.length)) : x)
  const factors = [turned(a, isSet(transA)), turned(b, isSet(transB))]
  const plain = apply(matrixProductOp, factors, {}, [result])[0] as Value
  const { float: factor } = alpha as { float: number }
  return factor === 1 ? plain : scale(plain, factor)
}

/** The axes of a tensor with the last two exchanged. */
const swapLast = (rank: number): number[] =>
  Array.from({ length: rank }, (_, axis) =>
    axis === rank - 2 ? rank - 1 : axis === rank - 1 ? rank - 2 : axis,
  )

/** α·A·B on the last two axes, each optionally transposed; leading axes broadcast. */
export function matmul(
  a: Value,
  b: Value,
  { transA = false, transB = false, alpha = 1 }: MatmulOptions = {},
): Value {
  const [rows, inner] = lastAxes(a, transA)
  const [other, columns] = lastAxes(b, transB)
  if (rows === undefined || columns === undefined || inner !== other) {
    throw new Error(`Cannot multiply ${showShape(a.shape)} by ${showShape(b.shape)}.`)
  }
  const batch = broadcast(a.shape.slice(0, -2), b.shape.slice(0, -2))
  const attributes = { transA: int(Number(transA)), transB: int(Number(transB)), alpha: float(alpha) }
  return apply(matmulOp, [a, b], attributes, [
    { dtype: a.dtype, shape: [...batch, rows, columns] },
  ])[0] as Value
}

// Y = A·Bᵀ + C
export const matmulAddOp = defineOp(
  'MatmulAdd',
  ({ node, cotangents }) => {
    const dy = onlyCotangent(cotangents)
    return [matmul(dy, inputOf(node, 1)), matmul(dy, inputOf(node, 0), { transA: true }), dy]
  },
  { type: 'Gemm' },
)
/** A·Bᵀ + C in one pass over the result. a [N, K], b [M, K], c [N, M]. */
export function matmulAdd(a: Value, b: Value, c: Value): Value {
  const expected = [a.shape[0], b.shape[0]]
  if (a.shape.length !== 2 || a.shape[1] !== b.shape[1] || !sameShape(c.shape, expected as Shape)) {
    throw new Error(`Cannot add ${showShape(a.shape)} times ${showShape(b.shape)} to ${showShape(c.shape)}.`)
  }
  const attributes = { transA: int(0), transB: int(1), alpha: float(1), beta: float(1) }
  return apply(matmulAddOp, [a, b, c], attributes, [c])[0] as Value
}

/** Rows and columns of a matrix as the product sees it; undefined for a vector. */
function lastAxes({ shape }: Value, transposed: boolean): readonly [Dim | undefined, Dim | undefined] {
  const [rows, columns] = [shape.at(-2), shape.at(-1)]
  if (shape.length < 2) return [undefined, undefined]
  return transposed ? [columns, rows] : [rows, columns]
}

export const quantizedMatmulOp = defineOp(
  'MatMulNBits',
  'Used for rollouts, and inside BlockMatmul, which has its own rule.',
  {
    domain: 'com.microsoft',
  },
)

export interface QuantizedWeight {
  /** [N, ⌈K/block⌉, block · bits / 8] u8. */
  readonly blocks: Value
  /** [N · ⌈K/block⌉] or [N, ⌈K/block⌉] */
  readonly scales: Value
  readonly outputs: number
  readonly inputs: number
  readonly bits: 8 | 4
  readonly blockSize: number
}

/** The least exact form in which the kernel may multiply: its accuracy level. */
const accuracyLevels = { f32: 1, int8: 4 } as const

/**
 * x Wᵀ with W in blocks of 8 or 4 bits. With `int8`, x is rounded too, and the product runs in 8-bit integers where the kernel
 * has them. x […, K] → […, N].
 */
export function quantizedMatmul(
  x: Value,
  { blocks, scales, outputs, inputs, bits, blockSize }: QuantizedWeight,
  accuracy: keyof typeof accuracyLevels = 'int8',
): Value {
  const attributes = {
    K: int(inputs),
    N: int(outputs),
    bits: int(bits),
    block_size: int(blockSize),
    accuracy_level: int(accuracyLevels[accuracy]),
  }
  return apply(quantizedMatmulOp, [x, blocks, scales], attributes, [
    { dtype: x.dtype, shape: [...x.shape.slice(0, -1), outputs] },
  ])[0] as Value
}
