import { formatPercent } from './format.ts'
import { boundedText, boundItems, chargeSearch } from './limits.ts'
import {
  compare,
  Float,
  isDict,
  isEqual,
  isList,
  itemsOf,
  nameOfType,
  numberOf,
  textOf,
  Tuple,
  type Value,
} from './values.ts'

type Operator = (left: Value, right: Value) => Value

/** What a binary operator makes of two values. Errors: Error where Python has none for them. */
export const operators: Readonly<Record<string, Operator>> = {
  '+': add,
  '-': arithmetic('-', (a, b) => a - b),
  '*': multiply,
  '/': (left, right) => toFloat(arithmetic('/', (a, b) => a / nonZero(b))(left, right)),
  '//': arithmetic('//', (a, b) => Math.floor(a / nonZero(b))),
  '%': (left, right) =>
    typeof left === 'string'
      ? formatPercent(left, right instanceof Tuple ? right : [right])
      : arithmetic('%', (a, b) => a - b * Math.floor(a / nonZero(b)))(left, right),
  '**': arithmetic('**', (a, b) => a ** b),
  '~': (left, right) => boundedText(textOf(left) + textOf(right)),
  '==': isEqual,
  '!=': (left, right) => !isEqual(left, right),
  '<': (left, right) => compare(left, right) < 0,
  '<=': (left, right) => compare(left, right) <= 0,
  '>': (left, right) => compare(left, right) > 0,
  '>=': (left, right) => compare(left, right) >= 0,
  in: (left, right) => contains(right, left),
  'not in': (left, right) => !contains(right, left),
}

function add(left: Value, right: Value): Value {
  if (typeof left === 'string' && typeof right === 'string') return boundedText(left + right)
  if (isList(left) && isList(right) && left instanceof Tuple === right instanceof Tuple) {
    boundItems(left.length + right.length)
    return left instanceof Tuple ? Tuple.from([...left, ...right]) : [...left, ...right]
  }
  return arithmetic('+', (a, b) => a + b)(left, right)
}

function multiply(left: Value, right: Value): Value {
  if (typeof right === 'string' || isList(right)) return multiply(right, left)
  const count = Math.max(0, numberOf(right) ?? -1)
  if (typeof left === 'string' && typeof right === 'number') {
    return boundedText(left === '' ? '' : boundedRepeat(left, count))
  }
  if (isList(left) && typeof right === 'number') {
    // An empty list may be repeated as often as one likes.
    if (left.length === 0) return []
    boundItems(left.length * count)
    return Array.from({ length: count }, () => left).flat()
  }
  return arithmetic('*', (a, b) => a * b)(left, right)
}

function boundedRepeat(text: string, count: number): string {
  boundedText(text, count)
  return text.repeat(count)
}

/** Integers stay integers. */
function arithmetic(sign: string, compute: (a: number, b: number) => number): Operator {
  return (left, right) => {
    const [a, b] = [numberOf(left), numberOf(right)]
    if (a === null || b === null) {
      throw new Error(
        `unsupported operand type(s) for ${sign}: '${nameOfType(left)}' and '${nameOfType(right)}'`,
      )
    }
    const result = compute(a, b)
    const isFloat = left instanceof Float || right instanceof Float || !Number.isInteger(result)
    return isFloat ? new Float(result) : result
  }
}

function nonZero(divisor: number): number {
  if (divisor === 0) throw new Error('division by zero')
  return divisor
}

const toFloat = (value: Value): Value => (typeof value === 'number' ? new Float(value) : value)

function contains(container: Value, item: Value): boolean {
  if (typeof container === 'string') {
    if (typeof item !== 'string') throw new Error(`'in <string>' requires string, not ${nameOfType(item)}`)
    chargeSearch(container, item)
    return container.includes(item)
  }
  if (isDict(container)) return typeof item === 'string' && container.has(item)
  return itemsOf(container).some((entry) => isEqual(entry, item))
}
