/**
 * Surroundings of a loss's code in the virtual machine, besides those of all code (harness.ts): tensors that record the
 * operations applied to them. A loss is called once; the result is a program (shared/losses.ts), and learning computes
 * that, not the code. Operators arrive here as calls (operators.ts).
 */

import { lossFunctions, lossInputs, mostOperations, operationEntries } from '#shared/lossLanguage.ts'
import type { Tracer } from './machine.ts'

const inputLevels = Object.fromEntries(Object.entries(lossInputs).map(([name, { per }]) => [name, per]))
/** The operation of each operator between two tensors; `==` is the same as `===`. */
const infix = operationEntries.flatMap(([op, { form, as }]): [string, string][] =>
  form !== 'infix'
    ? []
    : as.endsWith('==')
      ? [
          [as, op],
          [as.slice(0, -1), op],
        ]
      : [[as, op]],
)
const prefix = operationEntries.flatMap(([op, { form, as }]) => (form === 'prefix' ? [[as, op]] : []))
const functions = lossFunctions.map(([op, { form, as }]) => ({ op, form, name: as }))
/** Operators on plain numbers; `&&` and `||` are no functions of two values. */
const plain = [...infix.map(([as]) => as).filter((as) => !/^[&|]/.test(as)), '%']

/** An expression whose value is `{ describe, trace }`. */
const source = `(() => {
  'use strict'
  const { stringify } = JSON
  const { defineProperty, freeze } = Object
  const { ownKeys, apply } = Reflect
  const { isArray } = Array
  const { isNaN } = Number
  const text = String
  const push = Array.prototype.push
  const PlainError = TypeError

  // From coarse to fine: values per batch go with values per token, not the other way round.
  const rank = { __proto__: null, batch: 0, group: 1, sequence: 2, turn: 3, token: 4, alternative: 5 }
  let nodes = []

  class Tensor {
    constructor(id, per) {
      this.id = id
      this.per = per
      freeze(this)
    }
    [Symbol.toPrimitive]() {
      throw new PlainError('A tensor was used as a plain number or text. Use the functions of losses (exp, min, clip, where, …) and operators; properties like += on objects do not take tensors.')
    }
  }
  const isTensor = (x) => x instanceof Tensor
  const named = (x) => (x === undefined ? 'nothing' : x === null ? 'null' : isArray(x) ? 'a list' : typeof x === 'object' ? 'an object' : 'a ' + typeof x)

  const node = (op, per, of, value) => {
    if (nodes.length >= ${mostOperations}) throw new PlainError('The loss has more than ${mostOperations} operations.')
    apply(push, nodes, [value === undefined ? { op, per, of } : { op, per, of, value }])
    return new Tensor(nodes.length - 1, per)
  }
  const lift = (x) => {
    if (isTensor(x)) return x
    if (typeof x === 'boolean') x = x ? 1 : 0
    if (typeof x !== 'number') throw new PlainError('Expected a tensor or a number, got ' + named(x) + '.')
    if (isNaN(x)) throw new PlainError('Expected a tensor or a number, got NaN.')
    return node('number', 'batch', [], text(x))
  }
  const finer = (a, b) => {
    if (a === b || b === 'batch') return a
    if (a === 'batch') return b
    if ((a === 'position' && b === 'token') || (a === 'token' && b === 'position')) return 'token'
    const [x, y] = [rank[a], rank[b]]
    if (x === undefined || y === undefined)
      throw new PlainError('Values per ' + a + ' and values per ' + b + ' do not go together.')
    return x > y ? a : b
  }
  const entrywise = (op, ...operands) => {
    const tensors = operands.map(lift)
    let per = 'batch'
    for (const tensor of tensors) per = finer(per, tensor.per)
    return node(op, per, tensors.map(({ id }) => id))
  }

  // ---- operators ----
  const onNumbers = {
    __proto__: null,
${plain.map((as) => `    '${as}': (a, b) => a ${as} b,`).join('\n')}
  }
  const onTensors = { __proto__: null, ...${JSON.stringify(Object.fromEntries(infix))} }
  const onTensor = { __proto__: null, ...${JSON.stringify(Object.fromEntries(prefix))} }
  const operators = {
    __op(operator, a, b) {
      if (!isTensor(a) && !isTensor(b)) return onNumbers[operator](a, b)
      const isAsked = operator.length > 1 && (operator[0] === '=' || operator[0] === '!')
      // Whether an input is there at all may be asked of any.
      if (isAsked && (a === null || b === null || a === undefined || b === undefined)) return operator[0] === '!'
      const op = onTensors[operator]
      if (op === undefined) throw new PlainError('Tensors do not know the operator ' + operator + '.')
      return entrywise(op, a, b)
    },
    __logic(operator, a, right) {
      if (!isTensor(a)) return operator === '&&' ? a && right() : a || right()
      return entrywise(onTensors[operator], a, right())
    },
    __unary(operator, a) {
      if (!isTensor(a)) return operator === '-' ? -a : operator === '!' ? !a : +a
      return operator === '+' ? a : entrywise(onTensor[operator], a)
    },
    __test(x) {
      if (isTensor(x))
        throw new PlainError('A condition depends on tensors, which differ from token to token, and would be decided once for all of them. Use where(condition, a, b).')
      return x
    },
  }

  // ---- functions ----
  const levels = { __proto__: null, batch: 1, group: 1, sequence: 1, turn: 1, position: 1, token: 1 }
  const reduction = (op) => (x, mask, over) => {
    const value = lift(x)
    let level = over
    let weights = mask
    if (typeof mask === 'string') [level, weights] = [mask, undefined]
    if (level === undefined) level = 'batch'
    if (levels[level] === undefined)
      throw new PlainError(op + '(x, mask, over): over is batch, group, sequence, turn, position or token, got ' + text(level) + '.')
    if (finer(value.per, level) !== value.per)
      throw new PlainError(op + ' over each ' + level + ': the values are one per ' + value.per + ' already.')
    const of = [value.id]
    if (weights !== undefined && weights !== null) {
      const lifted = lift(weights)
      if (finer(value.per, lifted.per) !== value.per)
        throw new PlainError(op + ': the mask is one per ' + lifted.per + ', the values are one per ' + value.per + '.')
      of[1] = lifted.id
    }
    return node(op, level, of)
  }
  const { min, max } = Math
  const anyTensor = (...values) => values.some(isTensor)
  // What a function of each form does; of plain numbers it makes plain numbers.
  const forms = {
    __proto__: null,
    function: (op, onPlain) => (x) => (isTensor(x) || onPlain === undefined ? entrywise(op, x) : onPlain(x)),
    product: () => (x) => operators.__op('*', x, x),
    held: (op) => (x) => (isTensor(x) ? entrywise(op, x) : x),
    extreme: (op, onPlain) => (first, ...others) => {
      let result = first
      for (const other of others) result = anyTensor(result, other) ? entrywise(op, result, other) : onPlain(result, other)
      return result
    },
    range: (op) => (x, low, high) => (anyTensor(x, low, high) ? entrywise(op, x, low, high) : min(max(x, low), high)),
    choice: (op) => (condition, a, b) => (isTensor(condition) ? entrywise(op, condition, a, b) : condition ? a : b),
    reduction,
    half: (op) => (x) => {
      const value = lift(x)
      if (value.per !== 'sequence') throw new PlainError(op + '(x) takes one value per sequence, such as sum(x, mask, "sequence"); these are per ' + value.per + '.')
      return node(op, 'pair', [value.id])
    },
  }
  const functions = { __proto__: null }
  for (const { op, form, name } of ${JSON.stringify(functions)}) {
    const onPlain = Math[name]
    functions[name] = forms[form](op, onPlain)
    // Whoever writes Math.exp means the same.
    if (onPlain !== undefined) defineProperty(Math, name, { value: functions[name] })
  }
  const offered = [operators, functions, { defineLoss: (definition) => definition }]
  for (const holder of offered)
    for (const name of ownKeys(holder)) defineProperty(globalThis, name, { value: holder[name], writable: false, configurable: false })

  // ---- what a loss is given ----
  const inputLevels = { __proto__: null, ...${JSON.stringify(inputLevels)} }
  const inputsWith = (settings) => {
    const inputs = { settings: freeze(settings) }
    for (const name of ownKeys(inputLevels)) {
      let known
      defineProperty(inputs, name, {
        enumerable: true,
        get: () => (known ??= node('input', inputLevels[name], [], name)),
      })
    }
    return freeze(inputs)
  }

  // ---- a module ----
  const isObject = (x) => typeof x === 'object' && x !== null && !isArray(x)
  const plainValue = (x) => typeof x === 'number' || typeof x === 'string' || typeof x === 'boolean'
  const settingsOf = (given) => {
    const settings = {}
    for (const name of ownKeys(given ?? {})) {
      const setting = given[name]
      if (plainValue(setting)) settings[name] = { default: setting }
      else if (isObject(setting) && (plainValue(setting.default) || setting.default === null)) {
        const { minimum, maximum, integer, options, description } = setting
        settings[name] = { default: setting.default, minimum, maximum, integer, options, description }
      } else throw new PlainError('The setting ' + text(name) + ' needs a default: a number, text or true/false.')
    }
    return settings
  }
  const describe = (main) => {
    const { title, description, source, experience, groupSize, topK, needs, advantages, lossWeight } = main
    if (lossWeight !== undefined && lossWeight !== 'tokens' && lossWeight !== 'sequences' && typeof lossWeight !== 'function')
      throw new PlainError('lossWeight is "tokens", "sequences" or a function.')
    const like = typeof advantages === 'string' ? { algorithm: advantages, settings: {} } : isObject(advantages) ? { algorithm: advantages.like, settings: advantages.settings ?? {} } : null
    const settings = settingsOf(main.settings)
    const defaults = {}
    for (const name of ownKeys(settings)) defaults[name] = settings[name].default
    return stringify({
      kind: 'loss',
      functions: typeof advantages === 'function' ? ['advantages'] : [],
      settings: {},
      loss: { title, description, source, experience, groupSize, topK, needs: needs ?? [], like, settings },
    })
  }
  const scalar = (x, what) => {
    const value = lift(x)
    if (value.per !== 'batch')
      throw new PlainError('The ' + what + ' is one value per ' + value.per + '; it must be one number, such as mean(x, mask).')
    return value.id
  }
  const trace = (main, settings) => {
    nodes = []
    const inputs = inputsWith(settings)
    const result = main.loss(inputs)
    const isPlain = isTensor(result) || typeof result === 'number'
    if (!isPlain && !isObject(result)) throw new PlainError('The loss returned ' + named(result) + '; it must return a tensor, or { loss, metrics }.')
    const { lossWeight } = main
    const weightOf = (given, what) => (given === undefined ? null : given === 'tokens' || given === 'sequences' ? given : scalar(given, what))
    const whole = weightOf(typeof lossWeight === 'function' ? lossWeight(inputs) : lossWeight, 'lossWeight') ?? 'tokens'
    const given = isPlain ? [{ loss: result }] : (result.terms ?? [{ loss: result.loss }])
    const terms = []
    for (const term of given)
      apply(push, terms, [{ loss: scalar(term.loss, 'loss'), weight: weightOf(term.weight, 'weight of a term') ?? whole }])
    const metrics = {}
    const reported = isPlain ? {} : (result.metrics ?? {})
    for (const name of ownKeys(reported)) metrics[name] = scalar(reported[name], 'metric ' + text(name))
    return stringify({ nodes, terms, metrics })
  }
  return { describe, trace }
})()`

/** Code that traces a loss, and the names that such a loss imports. */
export const lossTracer: Tracer = { source, names: ['defineLoss', ...functions.map(({ name }) => name)] }
