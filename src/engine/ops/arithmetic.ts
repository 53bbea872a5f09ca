import { broadcast } from '../graph/shape.ts'
import { type Op, type Value, apply, constant, outputOf, type Dtype } from '../graph/value.ts'
import { defineOp, inputOf, onlyCotangent, int } from './define.ts'

const elementwise = (op: Op, a: Value, b: Value): Value => {
  if (a.dtype !== b.dtype) throw new Error(`${op.name} needs one dtype, got ${a.dtype} and ${b.dtype}.`)
  return apply(op, [a, b], {}, [{ dtype: a.dtype, shape: broadcast(a.shape, b.shape) }])[0] as Value
}

const unary = (op: Op, x: Value): Value => apply(op, [x], {}, [x])[0] as Value

export const addOp = defineOp('Add', ({ cotangents }) => {
  const dy = onlyCotangent(cotangents)
  return [dy, dy]
})
/** a + b, broadcast. */
export const add = (a: Value, b: Value): Value => elementwise(addOp, a, b)

export const subOp = defineOp('Sub', ({ cotangents }) => {
  const dy = onlyCotangent(cotangents)
  return [dy, neg(dy)]
})
/** a − b, broadcast. */
export const sub = (a: Value, b: Value): Value => elementwise(subOp, a, b)

export const mulOp = defineOp('Mul', ({ node, cotangents }) => {
  const dy = onlyCotangent(cotangents)
  return [mul(dy, inputOf(node, 1)), mul(dy, inputOf(node, 0))]
})
/** a · b elementwise, broadcast. */
export const mul = (a: Value, b: Value): Value => elementwise(mulOp, a, b)

// y = a/b: da = dy/b, db = −dy·y/b
export const divOp = defineOp('Div', ({ node, cotangents }) => {
  const scaled = div(onlyCotangent(cotangents), inputOf(node, 1))
  return [scaled, neg(mul(scaled, outputOf(node)))]
})
/** a / b elementwise, broadcast. */
export const div = (a: Value, b: Value): Value => elementwise(divOp, a, b)

export const negOp = defineOp('Neg', ({ cotangents }) => [neg(onlyCotangent(cotangents))])
export const neg = (x: Value): Value => unary(negOp, x)

export const expOp = defineOp('Exp', ({ node, cotangents }) => [
  mul(onlyCotangent(cotangents), outputOf(node)),
])
export const exp = (x: Value): Value => unary(expOp, x)

export const logOp = defineOp('Log', ({ node, cotangents }) => [
  div(onlyCotangent(cotangents), inputOf(node, 0)),
])
/** Natural logarithm. */
export const log = (x: Value): Value => unary(logOp, x)

// y = √x: dx = dy / (2y)
export const sqrtOp = defineOp('Sqrt', ({ node, cotangents }) => {
  const y = outputOf(node)
  return [div(onlyCotangent(cotangents), add(y, y))]
})
export const sqrt = (x: Value): Value => unary(sqrtOp, x)

/** x times a number known when the graph is built. */
export const scale = (x: Value, factor: number): Value =>
  mul(x, constant([factor], [], x.dtype === 'float64' ? 'float64' : 'float32'))

export const castOp = defineOp(
  'Cast',
  'Casts occur only where no gradient flows, or inside HalfMatMul, which has its own rule.',
)

/** ONNX's numbers for element types. */
const TYPES = {
  float32: 1,
  uint8: 2,
  int32: 6,
  int64: 7,
  float16: 10,
  bfloat16: 16,
} as const satisfies Partial<Record<Dtype, number>>

/** The same numbers as another type; integer types drop the fraction. */
export const cast = (x: Value, dtype: keyof typeof TYPES): Value =>
  apply(castOp, [x], { to: int(TYPES[dtype]) }, [{ dtype, shape: x.shape }])[0] as Value
