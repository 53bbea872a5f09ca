/**
 * Reverse-mode differentiation of f64 arrays, for losses written as formulas. Names are NumPy's. Arrays are [n]; a
 * number, or an array of length one, is broadcast.
 */
import { type Entrywise, type EntrywiseName, lossOperations, operationEntries } from '#shared/lossLanguage.ts'

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

/** Computes an operation entry by entry. An operand without a gradient gets none, even where the slope is infinite. */
export function operate(name: EntrywiseName, operands: readonly Operand[]): Value {
  const { value, slopes }: Entrywise = lossOperations[name]
  const of = operands.map(dataOf)
  const { length } = of.find((entries) => entries.length !== 1) ?? of[0]!
  const data = new Float64Array(length)
  const [x = data, y = data, z = data] = of
  const [stepX, stepY, stepZ] = [Number(x.length !== 1), Number(y.length !== 1), Number(z.length !== 1)]
  for (let i = 0; i < length; i++) data[i] = value(x[i * stepX]!, y[i * stepY]!, z[i * stepZ]!)
  return from(operands, data, (operand) => {
    const slope = slopes[operand] ?? null
    if (slope === null) return null
    return (gradient, into) => {
      const step = Number(into.length !== 1)
      if (typeof slope === 'number') {
        for (let i = 0; i < length; i++) into[i * step]! += gradient[i]! * slope
        return
      }
      for (let i = 0; i < length; i++) {
        if (gradient[i] === 0) continue
        const factor = slope(x[i * stepX]!, y[i * stepY]!, z[i * stepZ]!)
        if (factor !== null) into[i * step]! += gradient[i]! * factor
      }
    }
  })
}

/** `pullTo`: null for an operand that passes nothing on. */
function from(
  operands: readonly Operand[],
  data: Float64Array,
  pullTo: (operand: number) => Parent['pull'] | null,
): Value {
  const parents = operands.flatMap((value, k) => {
    const pull = isVariable(value) ? pullTo(k) : null
    return pull === null ? [] : [{ value: value as Value, pull }]
  })
  return { data, parents, isVariable: parents.length > 0 }
}

const isVariable = (x: Operand): x is Value => isValue(x) && x.isVariable
const isValue = (x: Operand): x is Value => typeof x === 'object' && 'parents' in x
const asValue = (x: Operand): Value => (isValue(x) ? x : constant(x))
const dataOf = (x: Operand): Float64Array =>
  typeof x === 'number' ? Float64Array.of(x) : isValue(x) ? x.data : x

type Operands<Count> = Count extends 1
  ? [a: Operand]
  : Count extends 2
    ? [a: Operand, b: Operand]
    : [a: Operand, b: Operand, c: Operand]
type Arithmetic = {
  readonly [Name in EntrywiseName]: (...operands: Operands<(typeof lossOperations)[Name]['of']>) => Value
}

/** The operations of shared/lossLanguage.ts on tensors, by name. */
export const arithmetic = Object.fromEntries(
  operationEntries.flatMap(([name, operation]) =>
    'of' in operation
      ? [[name, (...operands: Operand[]) => operate(name as EntrywiseName, operands.slice(0, operation.of))]]
      : [],
  ),
) as Arithmetic

export const clip = (
  a: Operand,
  { lower, upper }: { readonly lower: number; readonly upper: number },
): Value => operate('clip', [a, lower, upper])

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
export const mean = (a: Operand): Value => arithmetic.multiply(sum(a), 1 / Math.max(dataOf(a).length, 1))

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
