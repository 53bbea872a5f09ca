/**
 * Reverse-mode differentiation of f64 arrays, for losses written as formulas. Names are NumPy's. Arrays are [n]; a
 * number, or an array of length one, is broadcast.
 */

export interface Value {
  readonly data: Float64Array
  /** The values it was computed from that depend on a variable. */
  readonly parents: readonly Parent[]
  readonly isVariable: boolean
}

interface Parent {
  readonly value: Value
  /** Adds this value's contribution to ∂loss/∂parent, given ∂loss/∂value. */
  readonly pull: (gradient: Float64Array, into: Float64Array) => void
}

export type Operand = Value | Float64Array | number

export const variable = (data: Float64Array): Value => ({ data, parents: [], isVariable: true })

/** The same numbers without a gradient. */
export const constant = (x: Operand): Value => ({ data: dataOf(x), parents: [], isVariable: false })

/** ∂loss/∂value of everything that `loss` ([1]) depends on. */
export function gradientsOf(loss: Value): ReadonlyMap<Value, Float64Array> {
  const gradients = new Map([[loss, Float64Array.of(1)]])
  for (const value of inOrderOfUse(loss)) {
    const gradient = gradients.get(value)!
    for (const parent of value.parents) {
      const into = gradients.get(parent.value) ?? new Float64Array(parent.value.data.length)
      gradients.set(parent.value, into)
      parent.pull(gradient, into)
    }
  }
  return gradients
}

/** Topological order: every value before those it was computed from. */
function inOrderOfUse(loss: Value): Value[] {
  const seen = new Set<Value>()
  const order: Value[] = []
  const visit = (value: Value): void => {
    if (seen.has(value)) return
    seen.add(value)
    for (const parent of value.parents) visit(parent.value)
    order.push(value)
  }
  visit(loss)
  return order.reverse()
}

type Entrywise = (x: number, y: number) => number
/** ∂result/∂operand of every entry: a constant, an array, or a function of the operands. */
type Derivative = number | Float64Array | Entrywise

/** Elementwise. An operand without a gradient gets none, even where the derivative is infinite. */
function entrywise(
  a: Operand,
  b: Operand,
  f: Entrywise,
  derivatives: () => readonly [Derivative, Derivative],
): Value {
  const [x, y] = [dataOf(a), dataOf(b)]
  const [stepX, stepY] = [Number(x.length !== 1), Number(y.length !== 1)]
  const data = new Float64Array(stepX === 0 ? y.length : x.length)
  for (let i = 0; i < data.length; i++) data[i] = f(x[i * stepX]!, y[i * stepY]!)
  return from([a, b], data, (operand) => (gradient, into) => {
    const derivative = derivatives()[operand]!
    const step = Number(into.length !== 1)
    if (typeof derivative === 'number') {
      for (let i = 0; i < gradient.length; i++) into[i * step]! += gradient[i]! * derivative
    } else if (typeof derivative === 'object') {
      const stepOfOwn = Number(derivative.length !== 1)
      for (let i = 0; i < gradient.length; i++)
        if (gradient[i] !== 0) into[i * step]! += gradient[i]! * derivative[i * stepOfOwn]!
    } else {
      for (let i = 0; i < gradient.length; i++)
        if (gradient[i] !== 0) into[i * step]! += gradient[i]! * derivative(x[i * stepX]!, y[i * stepY]!)
    }
  })
}

/** For one operand; its derivative may be computed from the result y. */
function unary(a: Operand, f: (x: number) => number, derivative: (x: number, y: number) => number): Value {
  const x = dataOf(a)
  const data = new Float64Array(x.length)
  for (let i = 0; i < data.length; i++) data[i] = f(x[i]!)
  return from([a], data, () => (gradient, into) => {
    for (let i = 0; i < gradient.length; i++)
      if (gradient[i] !== 0) into[i]! += gradient[i]! * derivative(x[i]!, data[i]!)
  })
}

function from(
  operands: readonly Operand[],
  data: Float64Array,
  pullTo: (operand: number) => Parent['pull'],
): Value {
  const parents = operands.flatMap((value, k) => (isVariable(value) ? [{ value, pull: pullTo(k) }] : []))
  return { data, parents, isVariable: parents.length > 0 }
}

const isVariable = (x: Operand): x is Value => isValue(x) && x.isVariable
const isValue = (x: Operand): x is Value => typeof x === 'object' && 'parents' in x
const asValue = (x: Operand): Value => (isValue(x) ? x : constant(x))
const dataOf = (x: Operand): Float64Array =>
  typeof x === 'number' ? Float64Array.of(x) : isValue(x) ? x.data : x

export const add = (a: Operand, b: Operand): Value =>
  entrywise(
    a,
    b,
    (x, y) => x + y,
    () => [1, 1],
  )
export const subtract = (a: Operand, b: Operand): Value =>
  entrywise(
    a,
    b,
    (x, y) => x - y,
    () => [1, -1],
  )
export const multiply = (a: Operand, b: Operand): Value =>
  entrywise(
    a,
    b,
    (x, y) => x * y,
    () => [dataOf(b), dataOf(a)],
  )
export const divide = (a: Operand, b: Operand): Value =>
  entrywise(
    a,
    b,
    (x, y) => x / y,
    () => [(_, y) => 1 / y, (x, y) => -x / (y * y)],
  )
/** a^b; no gradient with respect to b where a ≤ 0. */
export const power = (a: Operand, b: Operand): Value =>
  entrywise(
    a,
    b,
    (x, y) => x ** y,
    () => [(x, y) => (y === 0 ? 0 : y * x ** (y - 1)), (x, y) => (x > 0 ? x ** y * Math.log(x) : 0)],
  )
export const negative = (a: Operand): Value =>
  unary(
    a,
    (x) => -x,
    () => -1,
  )
export const square = (a: Operand): Value =>
  unary(
    a,
    (x) => x * x,
    (x) => 2 * x,
  )
export const exp = (a: Operand): Value => unary(a, Math.exp, (_, y) => y)
/** e^x − 1 */
export const expm1 = (a: Operand): Value => unary(a, Math.expm1, (_, y) => y + 1)
export const log = (a: Operand): Value => unary(a, Math.log, (x) => 1 / x)
/** log(1 + x) */
export const log1p = (a: Operand): Value => unary(a, Math.log1p, (x) => 1 / (1 + x))
export const sqrt = (a: Operand): Value => unary(a, Math.sqrt, (_, y) => 0.5 / y)
export const abs = (a: Operand): Value => unary(a, Math.abs, Math.sign)
export const tanh = (a: Operand): Value => unary(a, Math.tanh, (_, y) => 1 - y * y)

/** The gradient goes to the first operand where both are equal. */
export const minimum = (a: Operand, b: Operand): Value =>
  entrywise(
    a,
    b,
    (x, y) => Math.min(x, y),
    () => [(x, y) => (x <= y ? 1 : 0), (x, y) => (x > y ? 1 : 0)],
  )
export const maximum = (a: Operand, b: Operand): Value =>
  entrywise(
    a,
    b,
    (x, y) => Math.max(x, y),
    () => [(x, y) => (x >= y ? 1 : 0), (x, y) => (x < y ? 1 : 0)],
  )

export const clip = (
  a: Operand,
  { lower, upper }: { readonly lower: number; readonly upper: number },
): Value =>
  unary(
    a,
    (x) => Math.min(Math.max(x, lower), upper),
    (x) => (x >= lower && x <= upper ? 1 : 0),
  )

/** a where the mask ([n]) is 1, else b; what is not taken gets no gradient, even where that of the result is infinite. */
export function where(mask: Uint8Array, a: Operand, b: Operand): Value {
  const operands = [a, b] as const
  const [x, y] = [dataOf(a), dataOf(b)]
  const at = (data: Float64Array, i: number) => data[data.length === 1 ? 0 : i]!
  const data = Float64Array.from(mask, (is, i) => at(is === 1 ? x : y, i))
  return from(operands, data, (operand) => (gradient, into) => {
    for (let i = 0; i < data.length; i++)
      if ((mask[i] === 1) === (operand === 0)) into[into.length === 1 ? 0 : i]! += gradient[i]!
  })
}

const σ = (x: number): number => 1 / (1 + Math.exp(-x))
export const sigmoid = (a: Operand): Value => unary(a, σ, (x, y) => y * σ(-x))
/** log σ(x) without overflow at either end. */
export const logSigmoid = (a: Operand): Value =>
  unary(
    a,
    (x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x))),
    (x) => σ(-x),
  )

/** [n] 1 where the comparison holds, else 0. */
export function maskOf(count: number, holds: (i: number) => boolean): Uint8Array {
  const mask = new Uint8Array(count)
  for (let i = 0; i < count; i++) mask[i] = Number(holds(i))
  return mask
}

/** [1] */
export function sum(a: Operand): Value {
  const total = dataOf(a).reduce((result, x) => result + x, 0)
  return from([a], Float64Array.of(total), () => (gradient, into) => {
    for (let i = 0; i < into.length; i++) into[i]! += gradient[0]!
  })
}

/** [1]; 0 of nothing. */
export const mean = (a: Operand): Value => multiply(sum(a), 1 / Math.max(dataOf(a).length, 1))

/** Entries that belong together: the unit of each entry, and the size of each unit. */
export interface Units {
  /** [n]; negative: belongs to no unit. */
  readonly of: Int32Array
  /** [units] */
  readonly sizes: Int32Array
}

/** [n] → [units] */
export function pool(a: Operand, { of, sizes }: Units, reduction: 'mean' | 'sum' | 'final-value'): Value {
  if (of.length === sizes.length && of.every((unit, i) => unit === i)) return asValue(a)
  const x = dataOf(a)
  const data = new Float64Array(sizes.length)
  const last = new Int32Array(sizes.length)
  of.forEach((unit, i) => {
    if (unit < 0) return
    data[unit] = reduction === 'final-value' ? x[i]! : data[unit]! + x[i]!
    last[unit] = i
  })
  if (reduction === 'mean') sizes.forEach((size, unit) => (data[unit]! /= size))
  const weights = {
    mean: (_: number, unit: number) => 1 / sizes[unit]!,
    sum: () => 1,
    'final-value': (i: number, unit: number) => Number(last[unit] === i),
  }
  return from([a], data, () => (gradient, into) => {
    of.forEach((unit, i) => {
      if (unit >= 0) into[i]! += gradient[unit]! * weights[reduction](i, unit)
    })
  })
}

/** [units] → [n]; 0 for entries that belong to no unit. */
export function spread(a: Operand, { of }: Units): Value {
  const x = dataOf(a)
  const data = new Float64Array(of.length)
  of.forEach((unit, i) => (data[i] = unit < 0 ? 0 : x[unit]!))
  return from([a], data, () => (gradient, into) => {
    of.forEach((unit, i) => {
      if (unit >= 0) into[unit]! += gradient[i]!
    })
  })
}
