/**
 * Symbolic shapes. A dimension is a number or an expression in named symbols (`N`, `7*T`, `P+S`), always written in one
 * canonical form, so that two dimensions are equal exactly when their text is.
 */
export type Dim = number | string
export type Shape = readonly Dim[]

interface Product {
  readonly coefficient: number
  readonly symbols: readonly string[]
}

function toProduct(dim: Dim): Product {
  if (typeof dim === 'number') return { coefficient: dim, symbols: [] }
  const parts = dim.split('*')
  const numbers = parts.filter((part) => /^\d+$/.test(part))
  return {
    coefficient: numbers.reduce((product, part) => product * Number(part), 1),
    symbols: parts.filter((part) => !/^\d+$/.test(part)),
  }
}

function fromProduct({ coefficient, symbols }: Product): Dim {
  if (symbols.length === 0 || coefficient === 0) return coefficient
  const text = [...symbols].sort().join('*')
  return coefficient === 1 ? text : `${String(coefficient)}*${text}`
}

/** Number of elements, as a dimension. */
export function product(dims: Shape): Dim {
  const parts = dims.map(toProduct)
  return fromProduct({
    coefficient: parts.reduce((total, part) => total * part.coefficient, 1),
    symbols: parts.flatMap((part) => part.symbols),
  })
}

/** The factor that turns `divisor` into `dividend`; null when there is none. */
export function quotient(dividend: Dim, divisor: Dim): Dim | null {
  const [whole, part] = [toProduct(dividend), toProduct(divisor)]
  if (part.coefficient === 0 || whole.coefficient % part.coefficient !== 0) return null
  const symbols = [...whole.symbols]
  for (const symbol of part.symbols) {
    const at = symbols.indexOf(symbol)
    if (at < 0) return null
    symbols.splice(at, 1)
  }
  return fromProduct({ coefficient: whole.coefficient / part.coefficient, symbols })
}

/** Length of two things one after the other. */
export function sum(a: Dim, b: Dim): Dim {
  if (typeof a === 'number' && typeof b === 'number') return a + b
  if (a === 0) return b
  if (b === 0) return a
  return `(${[String(a), String(b)].sort().join('+')})`
}

/** NumPy broadcasting; symbols must be equal or face a 1. */
export function broadcast(a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length)
  return Array.from({ length: rank }, (_, index) => {
    const left = a[index - rank + a.length] ?? 1
    const right = b[index - rank + b.length] ?? 1
    if (left === right || right === 1) return left
    if (left === 1) return right
    throw new Error(`Shapes ${showShape(a)} and ${showShape(b)} do not broadcast.`)
  })
}

export const sameShape = (a: Shape, b: Shape): boolean =>
  a.length === b.length && a.every((dim, index) => dim === b[index])

export const showShape = (shape: Shape): string => `[${shape.join(', ')}]`

/** Turns a negative axis into its index from the front. */
export function axisIndex(axis: number, rank: number): number {
  const index = axis < 0 ? axis + rank : axis
  if (index < 0 || index >= rank) {
    throw new Error(`Expected an axis below rank ${String(rank)}, got ${String(axis)}.`)
  }
  return index
}
