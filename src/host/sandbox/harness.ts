/**
 * Code that runs inside the virtual machine before and around user code. It gives it a world without time, chance, imports
 * and devices, hands it one sample and turns whatever comes back into one line of JSON.
 *
 * User code shares this realm and may have changed any global by the time it is called, so everything used later is
 * captured first, and answers are put together from primitive strings only.
 */

import { outOfMemory, threwNull } from './protocol.ts'
import { rewardHarness } from './rewardHarness.ts'
import { toolsHarness } from './toolsHarness.ts'
import { workflowHarness } from './workflowHarness.ts'

/** Bounds on what a call may say; anything beyond is cut or refused, so that an answer stays small. */
export const answerLimits = {
  /** Length of an answer as JSON text. */
  characters: 1_000_000,
  /** Length of an environment's state as JSON text. */
  stateCharacters: 500_000,
  columns: 32,
  metrics: 32,
  lines: 100,
  /** Length of one logged value, line or message. */
  valueCharacters: 4_000,
  nameCharacters: 100,
} as const

/** The moment user code believes it to be: 2000-01-01, always. */
const frozenTime = 946_684_800_000

/** An expression whose value is `{ describe, call, take }`. */
export const harnessSource = `(() => {
  'use strict'
  const limits = ${JSON.stringify(answerLimits)}
  const { parse, stringify } = JSON
  const { apply, ownKeys, getOwnPropertyDescriptor, defineProperty, construct } = Reflect
  const { isFinite } = Number
  const { isArray } = Array
  const text = String
  const slice = String.prototype.slice
  const resolve = Promise.resolve
  const then = Promise.prototype.then
  const PlainPromise = Promise
  const KindOfError = TypeError
  const noObject = null

  const cut = (value, length) => (value.length > length ? apply(slice, value, [0, length]) + '…' : value)
  const replace = (holder, name, value) =>
    defineProperty(holder, name, { value, writable: true, enumerable: false, configurable: true })

  // A generator of its own per sample (mulberry32, two draws for 53 bits).
  let seed = 1
  const draw = () => {
    seed = (seed + 0x6d2b79f5) | 0
    let mixed = imul(seed ^ (seed >>> 15), 1 | seed)
    mixed = (mixed + imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const { imul } = Math
  const random = () => ((draw() >>> 5) * 0x4000000 + (draw() >>> 6)) / 0x20000000000000
  replace(Math, 'random', random)

  const ClockDate = Date
  const frozen = ${frozenTime}
  const FrozenDate = function Date(...parts) {
    const date = construct(ClockDate, parts.length === 0 ? [frozen] : parts, new.target ?? ClockDate)
    return new.target === undefined ? text(date) : date
  }
  for (const name of ownKeys(ClockDate))
    if (name !== 'prototype') defineProperty(FrozenDate, name, getOwnPropertyDescriptor(ClockDate, name))
  defineProperty(FrozenDate, 'prototype', { value: ClockDate.prototype, writable: false })
  replace(FrozenDate, 'now', () => frozen)
  replace(ClockDate.prototype, 'constructor', FrozenDate)
  replace(globalThis, 'Date', FrozenDate)
  // When garbage is collected is nobody's business.
  delete globalThis.WeakRef
  delete globalThis.FinalizationRegistry

  // What the call has logged so far: JSON text, so that nothing can change it afterwards.
  let columns = ''
  let metrics = ''
  let lines = ''
  const count = { __proto__: null, columns: 0, metrics: 0, lines: 0 }

  const shown = (value) => {
    let json
    try {
      json = stringify(value)
    } catch (error) {
      return stringify('(cannot be shown: ' + cut(described(error).message, 200) + ')')
    }
    if (typeof json !== 'string') return stringify(typeof value === 'bigint' ? text(value) : '(' + typeof value + ')')
    return json.length > limits.valueCharacters ? stringify(cut(json, limits.valueCharacters)) : json
  }
  const entry = (list, name, json) => (list === '' ? '' : list + ',') + stringify(name) + ':' + json
  const nameOf = (name) => {
    if (typeof name !== 'string' || name === '') throw new KindOfError('A logged name must be text.')
    return cut(name, limits.nameCharacters)
  }
  const log = {
    column(name, value) {
      const key = nameOf(name)
      if (count.columns++ < limits.columns) columns = entry(columns, key, shown(value))
    },
    metric(name, value) {
      const key = nameOf(name)
      if (typeof value !== 'number') throw new KindOfError('A metric must be a number, got ' + typeof value + '.')
      if (isFinite(value) && count.metrics++ < limits.metrics) metrics = entry(metrics, key, text(value))
    },
  }
  const print = (...parts) => {
    if (count.lines++ >= limits.lines) return
    let line = ''
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i]
      line += (i === 0 ? '' : ' ') + (typeof part === 'string' ? part : shown(part))
    }
    lines += (lines === '' ? '' : ',') + stringify(cut(line, limits.valueCharacters))
  }
  replace(globalThis, 'console', { log: print, info: print, warn: print, error: print, debug: print })

  // Anything can be thrown, also things that throw when looked at.
  const described = (error) => {
    const plain = { __proto__: null, name: '', message: '', stack: '' }
    try {
      if (typeof error === 'object' && error !== noObject) {
        plain.name = cut(text(error.name ?? ''), 100)
        plain.message = cut(text(error.message ?? 'an object without a message'), limits.valueCharacters)
        plain.stack = cut(text(error.stack ?? ''), limits.valueCharacters)
      } else plain.message = cut('threw ' + text(error), limits.valueCharacters)
    } catch {
      plain.message = 'threw something that cannot be read'
    }
    return plain
  }
  const kindOf = ({ name, message }) => {
    if (message === 'out of memory') return 'memory'
    if (message === 'stack overflow' || message === 'Maximum call stack size exceeded') return 'stack'
    return 'exception'
  }
  const failure = (kind, { name, message, stack }) => {
    const said = name === '' || kind !== 'exception' ? message : name + ': ' + message
    const sentence = message === 'out of memory' ? ${JSON.stringify(outOfMemory)} : said
    const logged = lines === '' ? '' : ',"lines":[' + lines + ']'
    return (
      '{"failure":{"kind":"' + kind + '","message":' + stringify(sentence) + ',"stack":' + stringify(stack) + '}' +
      logged + '}'
    )
  }
  const failed = (error) => {
    if (error === null) return wrong('memory', ${JSON.stringify(threwNull)})
    const plain = described(error)
    return failure(kindOf(plain), plain)
  }
  const wrong = (kind, message) => failure(kind, { name: '', message, stack: '' })
  const answer = (fields) =>
    '{' + fields + ',"columns":{' + columns + '},"metrics":{' + metrics + '},"lines":[' + lines + ']}'

  const article = (value) => (value === undefined ? 'nothing' : value === null ? 'null' : isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : 'a ' + typeof value)
  // Rewards of single tokens or turns; the sum is the host's affair.
  const places = ['perToken', 'perTurn']
  const placed = (value) => {
    const names = isArray(value) ? [] : ownKeys(value)
    const name = names[0]
    if (names.length !== 1 || (name !== places[0] && name !== places[1])) {
      const forms = 'For a reward of each token or turn, write: return { perToken: […] } or { perTurn: […] }'
      return wrong('wrong-type', 'Expected a number or null, got ' + article(value) + '. ' + forms)
    }
    const list = value[name]
    if (!isArray(list)) return wrong('wrong-type', '"' + name + '" must be a list of numbers, got ' + article(list) + '.')
    let json = ''
    const { length } = list
    for (let i = 0; i < length; i++) {
      const reward = list[i]
      const what = 'Number ' + (i + 1) + ' of "' + name + '" must be '
      if (typeof reward !== 'number') return wrong('wrong-type', what + 'a number, got ' + article(reward) + '.')
      if (!isFinite(reward)) return wrong('not-a-number', what + 'finite, got ' + text(reward) + '.')
      json += (i === 0 ? '' : ',') + text(reward)
    }
    return answer('"' + name + '":[' + json + ']')
  }
  const scored = (value) => {
    if (value === null) return answer('"value":null')
    if (typeof value === 'object') return placed(value)
    if (typeof value !== 'number') {
      const form = 'The reward of a completion is one number; write: return isRight ? 1 : 0'
      return wrong('wrong-type', 'Expected a number or null, got ' + article(value) + '. ' + form)
    }
    if (!isFinite(value)) return wrong('not-a-number', 'Expected a finite number, got ' + text(value) + '.')
    return answer('"value":' + text(value))
  }

  // What is wrong with a part of an environment's answer, as it was given: JSON would make null of NaN, and a number of
  // whatever has toJSON. undefined: nothing.
  const isMissing = (value) => value === undefined || value === null
  const boolean = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false, got ' + article(value))
  const faults = {
    __proto__: null,
    state: (value) =>
      typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint'
        ? 'must be plain JSON, got ' + article(value)
        : undefined,
    observation: (value) =>
      isMissing(value) || typeof value === 'string' || isArray(value)
        ? undefined
        : 'must be text or a list of {role, content} messages, got ' + article(value),
    reward(value) {
      if (isMissing(value)) return undefined
      if (typeof value !== 'number') return 'must be a number or null, got ' + article(value)
      return isFinite(value) ? undefined : 'must be a finite number, got ' + text(value)
    },
    tools: (value) => (isMissing(value) || isArray(value) ? undefined : 'must be a list of descriptions of functions, got ' + article(value)),
    terminated: boolean,
    truncated: boolean,
    done: boolean,
    info: (value) =>
      isMissing(value) || (typeof value === 'object' && !isArray(value))
        ? undefined
        : 'must be an object, got ' + article(value),
  }
  const parts = ['state', 'observation', 'tools', 'reward', 'terminated', 'truncated', 'done', 'info']
  // Shown beside the sample; what can be charted is charted too.
  const noteInfo = (info) => {
    const names = ownKeys(info)
    for (let i = 0; i < names.length; i++) {
      if (typeof names[i] !== 'string' || names[i] === '') continue
      const value = info[names[i]]
      log.column(names[i], value)
      if (typeof value === 'number') log.metric(names[i], value)
      if (typeof value === 'boolean') log.metric(names[i], value ? 1 : 0)
    }
  }
  // How an episode goes on, as JSON fields, or a sentence on what is wrong with it. 'done' is an older word for both ends.
  const ended = ({ terminated, truncated, done }, isStep) => {
    if (terminated !== undefined && done !== undefined)
      return { fault: 'The answer says "done" beside "terminated": write "terminated" alone.' }
    if (done === false && truncated === true)
      return { fault: '"truncated" is true and "done" false: an episode that is broken off is over.' }
    if (isStep && terminated === undefined && done === undefined && truncated !== true)
      return { fault: '"terminated" must be true or false, got nothing: it says whether the task is over.' }
    const isCut = truncated === true
    return { fields: ',"terminated":' + (terminated ?? (done === true && !isCut)) + ',"truncated":' + isCut }
  }
  const finiteOnly = (name, value) => {
    if (typeof value === 'number' && !isFinite(value))
      throw new KindOfError('The state holds ' + text(value) + ' (as "' + name + '"), which JSON cannot represent.')
    return value
  }
  const told = (isStep) => (result, sample) => {
    if (typeof result !== 'object' || result === noObject || isArray(result)) {
      const form = isStep ? '{ state, observation, reward, terminated, truncated, info }' : '{ state, observation }'
      const got = isArray(result) ? 'a list of ' + result.length + ', as Gymnasium has it' : article(result)
      return wrong('wrong-type', 'Expected an object, got ' + got + '. Write: return ' + form)
    }
    const names = ownKeys(result)
    for (let i = 0; i < names.length; i++) {
      let isPart = false
      for (let k = 0; k < parts.length; k++) isPart = isPart || parts[k] === names[i]
      if (isPart) continue
      const name = cut(text(names[i]), limits.nameCharacters)
      return wrong(
        'wrong-type',
        'The answer has "' + name + '", which is not a field of one. The fields are state, observation, reward, terminated, truncated and info, and tools of a reset; numbers to chart go to info or log.metric.',
      )
    }
    let fields = ''
    const end = { __proto__: null }
    let hasState = false
    for (let i = 0; i < parts.length; i++) {
      const name = parts[i]
      // A step that says nothing of the state leaves it as it is.
      const given = result[name]
      const value = isStep && name === 'state' && given === undefined ? sample.state : given
      if (value === undefined) continue
      const fault = faults[name](value)
      if (fault !== undefined) {
        const kind = typeof value === 'number' && name === 'reward' ? 'not-a-number' : 'wrong-type'
        return wrong(kind, '"' + name + '" ' + fault + '.')
      }
      if (name === 'terminated' || name === 'truncated' || name === 'done') {
        end[name] = value
        continue
      }
      if (name === 'info') {
        if (value !== noObject) noteInfo(value)
        continue
      }
      const json = name === 'state' ? stringify(value, finiteOnly) : stringify(value)
      if (json === undefined) continue
      if (json.length > limits.stateCharacters) {
        return wrong('too-large', 'The ' + name + ' is longer than ' + limits.stateCharacters + ' characters as JSON.')
      }
      if (name === 'state') hasState = true
      fields += (fields === '' ? '' : ',') + '"' + name + '":' + json
    }
    const going = ended(end, isStep)
    if (going.fault !== undefined) return wrong('wrong-type', going.fault)
    return answer((hasState ? '' : '"state":null' + (fields === '' ? '' : ',')) + fields + going.fields)
  }

${workflowHarness}
${toolsHarness}
  const targets = { __proto__: null }
  const offer = (name, action, holder, finish) => {
    targets[name] = { __proto__: null, action, holder, finish }
    return name
  }
  // JSON knows no NaN, and a loss must not learn from one.
  const finiteAdvantage = (name, value) => {
    if (typeof value === 'number' && !isFinite(value))
      throw new KindOfError('An advantage or return is ' + text(value) + '.')
    return value
  }
  const compared = (result) => {
    if (!isArray(result)) return wrong('wrong-type', 'Expected a list with one entry for each row, got ' + article(result) + '.')
    return answer('"rows":' + stringify(result, finiteAdvantage))
  }

${rewardHarness}
  // What a module offers, as JSON text; throws a sentence where that is nothing. tracer: of code of a loss.
  const describe = (module, tracer) => {
    const main = module.default
    const names = []
    if (tracer !== undefined && typeof main === 'object' && main !== noObject && typeof main.loss === 'function') {
      offer('trace', ({ settings }) => tracer.trace(main, settings), undefined, (json) => json)
      if (typeof main.advantages === 'function') offer('advantages', main.advantages, main, compared)
      return tracer.describe(main)
    }
    if (typeof main === 'object' && main !== noObject && typeof main.reset === 'function') {
      if (typeof main.step !== 'function') throw new KindOfError('An environment needs reset and step.')
      offer('reset', main.reset, main, told(false))
      offer('step', main.step, main, told(true))
      return stringify({ kind: 'environment', functions: [], settings: module.settings ?? main.settings ?? {} })
    }
    if (typeof main === 'object' && main !== noObject && typeof main.episode === 'function') {
      offer('episode', main.episode, main, returned)
      return stringify({ kind: 'workflow', functions: [], settings: main.settings ?? module.settings ?? {} })
    }
    listRewards(module, names)
    if (names.length === 0)
      throw new KindOfError('The code exports no reward function, no environment, no loss and no workflow.')
    const needs = module.needs ?? []
    if (!isArray(needs) || needs.length > 1 || (needs.length === 1 && needs[0] !== 'tokens'))
      throw new KindOfError("There is one thing rewards may need: export const needs = ['tokens']")
    return stringify({ kind: 'reward', functions: names, settings: module.settings ?? {}, needs })
  }

  let late
  let isEpisode = false
  // JSON text of the answer, or undefined while a promise is under way: then run the jobs and take().
  const call = (name, input, start) => {
    seed = start
    const { action, holder, finish } = targets[name]
    isEpisode = finish === returned
    try {
      const sample = parse(input)
      if (isEpisode) beginEpisode(sample)
      sample.log = log
      sample.random = random
      if (finish === scored && sample.tokens === undefined) sample.tokens = null
      const result = apply(action, holder, [sample])
      if (isEpisode) {
        const end = (settle, isFailure) => (value) => {
          try {
            ending = { __proto__: null, text: settle(value), isFailure }
          } catch (error) {
            ending = { __proto__: null, text: failed(error), isFailure: true }
          }
        }
        apply(then, apply(resolve, PlainPromise, [result]), [end(finish, false), end(failed, true)])
        return undefined
      }
      if (typeof result !== 'object' || result === noObject || typeof result.then !== 'function')
        return finish(result, sample)
      late = wrong('exception', 'The promise was never settled: nothing can be waited for in here.')
      const settle = (value) => {
        try {
          late = finish(value, sample)
        } catch (error) {
          late = failed(error)
        }
      }
      apply(then, apply(resolve, PlainPromise, [result]), [settle, (error) => void (late = failed(error))])
      return undefined
    } catch (error) {
      return (isEpisode && takeMissing()) || failed(error)
    }
  }
  return { describe, call, take: () => (isEpisode ? takeEpisode() : late) }
})()`
