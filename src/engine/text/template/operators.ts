import { formatPercent, lowerCase, upperCase } from './methods.ts'
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

/** Binary operators on two values. Errors: Error where Python has none for them. */
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
  if (isList(left) && typeof right === 'number') return repeated(left, count)
  return arithmetic('*', (a, b) => a * b)(left, right)
}

function repeated(list: Value[], count: number): Value[] {
  // An empty list may be repeated as often as one likes.
  if (list.length === 0) return list
  boundItems(list.length * count)
  const items = Array.from({ length: count }, () => list).flat()
  return list instanceof Tuple ? Tuple.from(items) : items
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

const isNumber = (value: Value): boolean => numberOf(value) !== null
const isSequence = (value: Value): boolean => typeof value === 'string' || isList(value) || isDict(value)
const remainder = (value: Value, divisor: Value): Value => operators['%']?.(value, divisor)

/** Jinja's tests: what may stand after `is`. */
export const checks: Readonly<Record<string, (value: Value, other?: Value) => boolean>> = {
  boolean: (value) => typeof value === 'boolean',
  callable: (value) => typeof value === 'function',
  defined: (value) => value !== undefined,
  divisibleby: (value, divisor) => isEqual(remainder(value, divisor), 0),
  eq: (value, other) => isEqual(value, other),
  equalto: (value, other) => isEqual(value, other),
  even: (value) => isEqual(remainder(value, 2), 0),
  false: (value) => value === false,
  float: (value) => value instanceof Float,
  ge: (value, other) => compare(value, other) >= 0,
  gt: (value, other) => compare(value, other) > 0,
  greaterthan: (value, other) => compare(value, other) > 0,
  in: (value, container) => operators['in']?.(value, container) === true,
  integer: (value) => typeof value === 'number',
  iterable: (value) => isSequence(value) || value === undefined,
  le: (value, other) => compare(value, other) <= 0,
  lower: (value) => typeof value === 'string' && value === lowerCase(value) && value !== upperCase(value),
  lt: (value, other) => compare(value, other) < 0,
  lessthan: (value, other) => compare(value, other) < 0,
  mapping: (value) => isDict(value),
  ne: (value, other) => !isEqual(value, other),
  none: (value) => value === null,
  number: isNumber,
  odd: (value) => isEqual(remainder(value, 2), 1),
  sameas: (value, other) => value === other,
  sequence: (value) => isSequence(value) || value === undefined,
  string: (value) => typeof value === 'string',
  true: (value) => value === true,
  undefined: (value) => value === undefined,
  upper: (value) => typeof value === 'string' && value === upperCase(value) && value !== lowerCase(value),
}
