/**
 * The syntax of templates, and what their expressions amount to. Errors: Error with half a sentence, for whatever Python
 * refuses too.
 */
import { Template as UntypedTemplate } from '@huggingface/jinja'
import { findFilter } from './filters.ts'
import { charge, enterLevel, joinedText, leaveLevel, lettersOf } from './limits.ts'
import { methodOf } from './methods.ts'
import { checks, operators } from './operators.ts'
import type { Scope } from './scope.ts'
import {
  type CallArguments,
  type Dict,
  Float,
  isDict,
  isList,
  isTrue,
  itemsOf,
  nameOfType,
  Namespace,
  numberOf,
  textOf,
  Tuple,
  type Value,
} from './values.ts'

/** The library's syntax trees, as far as they are read here; its own types do not resolve under Node's module rules. */
export type Node =
  | { type: 'If'; test: Node; body: Node[]; alternate: Node[] }
  | { type: 'For'; loopvar: Node; iterable: Node; body: Node[]; defaultBlock: Node[] }
  | { type: 'Break' }
  | { type: 'Continue' }
  | { type: 'Comment' }
  | { type: 'Set'; assignee: Node; value: Node | null; body: Node[] }
  | { type: 'Macro'; name: Name; args: Node[]; body: Node[] }
  | { type: 'CallStatement'; call: Call; callerArgs: Node[] | null; body: Node[] }
  | { type: 'FilterStatement'; filter: Name | Call; body: Node[] }
  | { type: 'MemberExpression'; object: Node; property: Node; computed: boolean }
  | { type: 'SliceExpression'; start?: Node; stop?: Node; step?: Node }
  | { type: 'IntegerLiteral'; value: number }
  | { type: 'FloatLiteral'; value: number }
  | { type: 'StringLiteral'; value: string }
  | { type: 'ArrayLiteral'; value: Node[] }
  | { type: 'TupleLiteral'; value: Node[] }
  | { type: 'ObjectLiteral'; value: Map<Node, Node> }
  | { type: 'BinaryExpression'; operator: { value: string }; left: Node; right: Node }
  | { type: 'UnaryExpression'; operator: { value: string }; argument: Node }
  | { type: 'FilterExpression'; operand: Node; filter: Name | Call }
  | { type: 'TestExpression'; operand: Node; negate: boolean; test: Name }
  | { type: 'SelectExpression'; lhs: Node; test: Node }
  | { type: 'Ternary'; condition: Node; trueExpr: Node; falseExpr: Node }
  | { type: 'KeywordArgumentExpression'; key: Name; value: Node }
  | { type: 'SpreadExpression'; argument: Node }
  | { type: 'KeywordSpreadExpression'; argument: Node }
  | Name
  | Call

export type NodeOf<Kind extends Node['type']> = Extract<Node, { type: Kind }>

interface Name {
  type: 'Identifier'
  value: string
}

interface Call {
  type: 'CallExpression'
  callee: Node
  args: Node[]
}

const Template = UntypedTemplate as unknown as new (source: string) => {
  readonly parsed: { readonly body: Node[] }
}

/** The statements of a template; white space around blocks is trimmed as transformers does. Errors: Error, SyntaxError. */
export const parseTemplate = (source: string): readonly Node[] => new Template(source).parsed.body

type Evaluators = { readonly [Kind in Node['type']]?: (node: NodeOf<Kind>, scope: Scope) => Value }

/** One entry for each kind of expression. */
const evaluators: Evaluators = {
  Comment: () => undefined,
  IntegerLiteral: ({ value }) => exact(value),
  StringLiteral: ({ value }) => value,
  FloatLiteral: ({ value }) => new Float(value),
  ArrayLiteral: ({ value }, scope) => value.map((item) => evaluate(item, scope)),
  TupleLiteral: ({ value }, scope) => Tuple.from(value, (item) => evaluate(item, scope)),
  ObjectLiteral: ({ value }, scope) =>
    new Map([...value].map(([key, item]) => [textOf(evaluate(key, scope)), evaluate(item, scope)])),
  Identifier: ({ value }, scope) => scope.get(value),
  MemberExpression: evaluateMember,
  CallExpression: ({ callee, args }, scope) => callValue(evaluate(callee, scope), argumentsOf(args, scope)),
  FilterExpression: ({ operand, filter }, scope) => applyFilter(evaluate(operand, scope), filter, scope),
  SelectExpression: ({ lhs, test }, scope) =>
    isTrue(evaluate(test, scope)) ? evaluate(lhs, scope) : undefined,
  Ternary: ({ condition, trueExpr, falseExpr }, scope) =>
    evaluate(isTrue(evaluate(condition, scope)) ? trueExpr : falseExpr, scope),
  TestExpression: evaluateTest,
  BinaryExpression: evaluateBinary,
  UnaryExpression: ({ operator, argument }, scope) => negated(operator.value, evaluate(argument, scope)),
}

/** A whole number as it is written. Errors: Error where the parser has already lost digits of it. */
function exact(value: number): number {
  if (Number.isSafeInteger(value)) return value
  throw new Error(`it writes the number ${value}, whose digits would not be kept`)
}

export function evaluate(node: Node, scope: Scope): Value {
  enterLevel()
  const evaluator = evaluators[node.type] as ((node: Node, scope: Scope) => Value) | undefined
  if (evaluator === undefined) throw new Error(`it has ${node.type} where a value should be`)
  const value = evaluator(node, scope)
  leaveLevel()
  return value
}

function evaluateBinary(node: NodeOf<'BinaryExpression'>, scope: Scope): Value {
  const { value: sign } = node.operator
  const left = evaluate(node.left, scope)
  if (sign === 'and' || sign === 'or') {
    return isTrue(left) === (sign === 'and') ? evaluate(node.right, scope) : left
  }
  const operator = Object.hasOwn(operators, sign) ? operators[sign] : undefined
  if (operator === undefined) throw new Error(`it uses the operator ${sign}, which is not supported`)
  const right = evaluate(node.right, scope)
  if ((left === undefined || right === undefined) && !looseOperators.has(sign)) {
    throw new Error(
      `it computes with ${nameOf(left === undefined ? node.left : node.right)}, which has no value`,
    )
  }
  return operator(left, right)
}

function evaluateTest({ operand, negate, test }: NodeOf<'TestExpression'>, scope: Scope): boolean {
  const check = Object.hasOwn(checks, test.value) ? checks[test.value] : undefined
  if (check === undefined) throw new Error(`it uses the test “${test.value}”, which is not supported`)
  return check(evaluate(operand, scope)) !== negate
}

export function applyFilter(value: Value, filter: Name | Call, scope: Scope): Value {
  const [name, args] = filter.type === 'Identifier' ? [filter, []] : [filter.callee, filter.args]
  if (name.type !== 'Identifier') throw new Error('it uses a filter without a name')
  return findFilter(name.value)(value, argumentsOf(args, scope))
}

export function argumentsOf(nodes: readonly Node[], scope: Scope): CallArguments {
  const args: Value[] = []
  const named = new Map<string, Value>()
  for (const node of nodes) {
    if (node.type === 'KeywordArgumentExpression') named.set(node.key.value, evaluate(node.value, scope))
    else if (node.type === 'SpreadExpression') args.push(...itemsOf(evaluate(node.argument, scope)))
    else if (node.type === 'KeywordSpreadExpression') {
      const more = evaluate(node.argument, scope)
      if (isDict(more)) charge(more.size)
      for (const [name, value] of isDict(more) ? more : []) named.set(name, value)
    } else args.push(evaluate(node, scope))
  }
  return { args, named }
}

function evaluateMember(
  { object: owner, property, computed }: NodeOf<'MemberExpression'>,
  scope: Scope,
): Value {
  const object = evaluate(owner, scope)
  if (object === undefined) throw new Error(`it looks into ${nameOf(owner)}, which has no value`)
  if (property.type === 'SliceExpression') return evaluateSlice(object, property, scope)
  // The name in `message.content` is the key itself.
  const key = !computed && property.type === 'Identifier' ? property.value : evaluate(property, scope)
  return memberOf(object, key, computed)
}

function evaluateSlice(object: Value, { start, stop, step }: NodeOf<'SliceExpression'>, scope: Scope): Value {
  const at = (node: Node | undefined) => {
    const value = node === undefined ? null : evaluate(node, scope)
    if (value === null || value === undefined) return null
    const place = value instanceof Float ? null : numberOf(value)
    if (place === null) throw new Error('slice indices must be integers or None')
    return place
  }
  if (typeof object !== 'string' && !isList(object)) throw new Error(`a ${nameOfType(object)} has no slices`)
  const items = slice(typeof object === 'string' ? lettersOf(object) : object, [
    at(start),
    at(stop),
    at(step),
  ])
  if (typeof object === 'string') return joinedText(items.map(textOf), '')
  return object instanceof Tuple ? Tuple.from(items) : items
}

/** Operators for which a name without a value is a value like any other. */
const looseOperators = new Set(['==', '!=', '~', 'in', 'not in'])

const nameOf = (node: Node): string => (node.type === 'Identifier' ? `“${node.value}”` : 'something')

export function callValue(value: Value, call: CallArguments): Value {
  if (typeof value === 'function') return value(call)
  throw new Error(`it calls a value of type ${nameOfType(value)}`)
}

function negated(sign: string, value: Value): Value {
  if (sign === 'not') return !isTrue(value)
  const number = numberOf(value)
  if (number === null) throw new Error(`bad operand type for unary ${sign}: '${nameOfType(value)}'`)
  const signed = sign === '-' ? -number : number
  return value instanceof Float ? new Float(signed) : signed
}

function memberOf(object: Value, key: Value, isComputed: boolean): Value {
  if (object instanceof Namespace) return object.fields.get(textOf(key))
  if (isDict(object)) return entryOf(object, key, isComputed)
  if (typeof key === 'string') return methodOf(object, key)
  const index = numberOf(key)
  if (index === null) return undefined
  return typeof object === 'string'
    ? lettersOf(object).at(index)
    : isList(object)
      ? object.at(index)
      : undefined
}

/** Looks up an entry: after a dot methods come before keys; in brackets keys come first. */
function entryOf(dict: Dict, key: Value, isComputed: boolean): Value {
  if (typeof key !== 'string') return undefined
  const method = methodOf(dict, key)
  if (method === undefined || (isComputed && dict.has(key))) return dict.get(key)
  return method
}

/** Cuts lists as Python does. */
function slice(items: readonly Value[], [from, to, by]: readonly (number | null)[]): Value[] {
  const step = by ?? 1
  if (step === 0) throw new Error('slice step cannot be zero')
  const [low, high] = step > 0 ? [0, items.length] : [-1, items.length - 1]
  const place = (at: number | null | undefined, otherwise: number) =>
    at === null || at === undefined
      ? otherwise
      : Math.min(high, Math.max(low, at < 0 ? at + items.length : at))
  const [start, stop] = [place(from, step > 0 ? low : high), place(to, step > 0 ? high : low)]
  charge(Math.abs(stop - start) / Math.abs(step))
  const kept: Value[] = []
  for (let at = start; step > 0 ? at < stop : at > stop; at += step) kept.push(items[at])
  return kept
}
