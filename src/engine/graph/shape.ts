/**
 * Symbolic shapes. A dimension is a number or an expression in named symbols (`N`, `7*T`, `P+S`), always written in one
 * canonical form, so that two dimensions are equal exactly when their text is. ONNX's dimensions get the same text, so
 * the runtime's error messages name the same symbols.
 */
export type Dim = number | string
export type Shape = readonly Dim[]

/** One product of a dimension, which is a sum of them. */
interface Term {
  readonly coefficient: number
  readonly symbols: readonly string[]
}

function toTerms(dim: Dim): Term[] {
  if (dim === 0) return []
  return String(dim)
    .split('+')
    .map((text) => {
      const parts = text.split('*')
      const numbers = parts.filter((part) => /^\d+$/.test(part))
      return {
        coefficient: numbers.reduce((total, part) => total * Number(part), 1),
        symbols: parts.filter((part) => !/^\d+$/.test(part)),
      }
    })
}

function fromTerms(terms: readonly Term[]): Dim {
  const coefficients = new Map<string, number>()
  for (const { coefficient, symbols } of terms) {
    const key = [...symbols].sort().join('*')
    coefficients.set(key, (coefficients.get(key) ?? 0) + coefficient)
  }
  const written = [...coefficients.keys()].sort().flatMap((symbols) => {
    const coefficient = coefficients.get(symbols) ?? 0
    const factors = coefficient === 1 && symbols !== '' ? [symbols] : [String(coefficient), symbols]
    return coefficient === 0 ? [] : [factors.filter((factor) => factor !== '').join('*')]
  })
  const text = written.join('+')
  return /^\d*$/.test(text) ? Number(text) : text
}

const multiply = (a: Term, b: Term): Term => ({
  coefficient: a.coefficient * b.coefficient,
  symbols: [...a.symbols, ...b.symbols],
})

function divide(whole: Term, part: Term): Term | null {
  const symbols = [...whole.symbols]
  for (const symbol of part.symbols) {
    const at = symbols.indexOf(symbol)
    if (at < 0) return null
    symbols.splice(at, 1)
  }
  const coefficient = whole.coefficient / part.coefficient
  return Number.isInteger(coefficient) ? { coefficient, symbols } : null
}

/** Number of elements, as a dimension. */
export function product(dims: Shape): Dim {
  const one: readonly Term[] = [{ coefficient: 1, symbols: [] }]
  const expand = (terms: readonly Term[], dim: Dim) =>
    toTerms(dim).flatMap((b) => terms.map((a) => multiply(a, b)))
  return fromTerms(dims.reduce(expand, one))
}

/** Returns the factor that turns `divisor` into `dividend`; null when there is none. */
export function quotient(dividend: Dim, divisor: Dim): Dim | null {
  const [first, ...others] = toTerms(divisor)
  if (!first) return null
  const divided = toTerms(dividend).map((term) => divide(term, first))
  const whole = divided.filter((term) => term !== null)
  if (others.length === 0) return whole.length === divided.length ? fromTerms(whole) : null
  // A sum divides what is the sum times one product.
  const candidates = whole.map((term) => fromTerms([term]))
  return candidates.find((factor) => product([factor, divisor]) === dividend) ?? null
}

/** Length of two things one after the other. */
export const sum = (a: Dim, b: Dim): Dim => fromTerms([...toTerms(a), ...toTerms(b)])

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
