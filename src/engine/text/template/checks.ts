import { compare, Float, isDict, isEqual, isList, numberOf, type Value } from './values.ts'
import { lowerCase, upperCase } from './methods.ts'
import { operators } from './operators.ts'

export type Check = (value: Value, other?: Value) => boolean

const isNumber = (value: Value): boolean => numberOf(value) !== null
const isSequence = (value: Value): boolean => typeof value === 'string' || isList(value) || isDict(value)
const remainder = (value: Value, divisor: Value): Value => operators['%']?.(value, divisor)

/** Jinja's tests: what may stand after `is`. */
export const checks: Readonly<Record<string, Check>> = {
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
