/** Evaluates a program on a batch: its value, its gradient with respect to the heads of each token, and its metrics. */
import {
  headNames,
  type EntrywiseOp,
  type HeadName,
  type InputName,
  type Level,
  type LossNode,
  type LossProgram,
  type LossWeight,
  type Reduction,
} from '#shared/losses.ts'
import {
  abs,
  add,
  clip,
  constant,
  divide,
  exp,
  expm1,
  gradientsOf,
  log,
  log1p,
  logSigmoid,
  maximum,
  minimum,
  multiply,
  negative,
  pool,
  power,
  sigmoid,
  spread,
  sqrt,
  subtract,
  tanh,
  type Value,
  variable,
  where,
} from '../algorithms/terms/differentiable.ts'
import type { HeadCoefficients, LossRow } from '../algorithms/types.ts'
import { type Layout, layoutOf } from './layout.ts'

export interface Evaluation {
  /** The value of each term of the program. */
  readonly losses: readonly number[]
  /** The weight of each term on this batch. */
  readonly weights: readonly number[]
  readonly metrics: Readonly<Record<string, number>>
  /** The values inside each stopGradient, by index of the operation. */
  readonly stopped: ReadonlyMap<number, Float64Array>
  /** ∂/∂heads of Σ factor·term, row by row. */
  gradient(factors: readonly number[]): readonly HeadCoefficients[]
}

/** `frozen`: the values inside stopGradient, held fixed as the gradient assumes. */
export function evaluate(
  program: LossProgram,
  rows: readonly LossRow[],
  frozen?: ReadonlyMap<number, Float64Array>,
): Evaluation {
  const layout = layoutOf(rows)
  const heads = new Map<HeadName, Value>()
  const stopped = new Map<number, Float64Array>()
  const values: Value[] = []
  for (const [k, node] of program.nodes.entries()) {
    let value = valueOf(node, { program, values, rows, layout, heads })
    if (node.op === 'stop-gradient') {
      value = constant(frozen?.get(k) ?? value)
      stopped.set(k, value.data)
    }
    values.push(value)
  }
  const numberAt = (k: number): number => values[k]!.data[0]!
  const tokens = rows.reduce((sum, { actionMask }) => actionMask.reduce((n, is) => n + is, sum), 0)
  const weightOf = (weight: LossWeight): number =>
    weight === 'tokens' ? tokens : weight === 'sequences' ? rows.length : numberAt(weight)
  return {
    losses: program.terms.map(({ loss }) => numberAt(loss)),
    weights: program.terms.map(({ weight }) => weightOf(weight)),
    metrics: Object.fromEntries(Object.entries(program.metrics).map(([name, k]) => [name, numberAt(k)])),
    stopped,
    gradient(factors) {
      const total = program.terms
        .map(({ loss }, i) => multiply(values[loss]!, factors[i]!))
        .reduce((sum, term) => add(sum, term))
      return coefficientsOf(rows, layout, heads, gradientsOf(total))
    },
  }
}

interface Place {
  readonly program: LossProgram
  /** Of the operations before. */
  readonly values: readonly Value[]
  readonly rows: readonly LossRow[]
  readonly layout: Layout
  /** Variables of the heads, created on first use. */
  readonly heads: Map<HeadName, Value>
}

function valueOf(node: LossNode, place: Place): Value {
  const { values, layout } = place
  switch (node.op) {
    case 'number':
      return constant(Number(node.value))
    case 'input':
      return inputValue(node.value, place)
    case 'sum':
    case 'mean':
    case 'last':
      return reduced(node, place)
    case 'chosen':
    case 'rejected':
      return half(values[node.of[0]]!, node.op === 'chosen' ? 0 : 1, layout)
    default:
      return entrywise[node.op](
        node.of.map((k) => atLevel(k, node.per, place)),
        layout.counts[node.per],
      )
  }
}

/** The values of an operation, broadcast to a finer level. */
function atLevel(k: number, level: Level, { program, values, layout }: Place): Value {
  const own = program.nodes[k]!.per
  return own === level || own === 'batch' ? values[k]! : spread(values[k]!, layout.units(level, own))
}

/** One number for all, written out. */
const full = (x: Value, count: number): Value =>
  x.data.length === count ? x : add(x, new Float64Array(count))

/** [units] from [n]; entries count with their mask as weight, and those whose mask is 0 are left out. */
function reduced({ op, per, of: operands }: LossNode & { op: Reduction }, place: Place): Value {
  const level = place.program.nodes[operands[0]!]!.per
  const count = place.layout.counts[level]
  const [x, mask = null] = operands.map((k) => full(atLevel(k, level, place), count)) as [Value, Value?]
  if (level === per) return mask === null ? x : where(maskData(mask), x, 0)
  const units = place.layout.units(level, per)
  if (op === 'last') {
    const of = units.of.map((unit, i) => (mask === null || mask.data[i] !== 0 ? unit : -1))
    return pool(x, { of, sizes: units.sizes }, 'final-value')
  }
  // Masked entries are left out rather than multiplied by 0: they may be infinite.
  const weighed = mask === null ? x : where(maskData(mask), multiply(x, constant(mask)), 0)
  const total = pool(weighed, units, 'sum')
  if (op === 'sum') return total
  const ones = mask === null ? constant(new Float64Array(units.of.length).fill(1)) : constant(mask)
  const counts = pool(ones, units, 'sum').data
  return multiply(
    total,
    counts.map((count) => (count === 0 ? 0 : 1 / count)),
  )
}

/** Of sequences that come in pairs, the chosen one first. */
function half(x: Value, which: 0 | 1, layout: Layout): Value {
  const count = layout.counts.pair
  const of = Int32Array.from({ length: layout.counts.sequence }, (_, i) =>
    i % 2 === which && i >> 1 < count ? i >> 1 : -1,
  )
  return pool(full(x, of.length), { of, sizes: new Int32Array(count).fill(1) }, 'sum')
}

const maskData = ({ data }: Value): Uint8Array => Uint8Array.from(data, (x) => Number(x !== 0))

type Entrywise = (operands: readonly Value[], count: number) => Value

const compared =
  (holds: (x: number, y: number) => boolean): Entrywise =>
  ([a, b], count) => {
    const [x, y] = [a!.data, b!.data]
    const at = (data: Float64Array, i: number) => data[data.length === 1 ? 0 : i]!
    const length = x.length === 1 && y.length === 1 ? 1 : count
    return constant(Float64Array.from({ length }, (_, i) => Number(holds(at(x, i), at(y, i)))))
  }

const binary =
  (f: (a: Value, b: Value) => Value): Entrywise =>
  ([a, b]) =>
    f(a!, b!)
const unary =
  (f: (a: Value) => Value): Entrywise =>
  ([a]) =>
    f(a!)

const entrywise: Readonly<Record<EntrywiseOp, Entrywise>> = {
  add: binary(add),
  subtract: binary(subtract),
  multiply: binary(multiply),
  divide: binary(divide),
  power: binary(power),
  negative: unary(negative),
  exp: unary(exp),
  log: unary(log),
  expm1: unary(expm1),
  log1p: unary(log1p),
  sqrt: unary(sqrt),
  abs: unary(abs),
  tanh: unary(tanh),
  sigmoid: unary(sigmoid),
  logSigmoid: unary(logSigmoid),
  minimum: binary(minimum),
  maximum: binary(maximum),
  clip: ([x, lower, upper]) => clip(x!, { lower: lower!.data[0]!, upper: upper!.data[0]! }),
  where: ([condition, a, b], count) => where(maskData(full(condition!, count)), a!, b!),
  'stop-gradient': unary(constant),
  less: compared((x, y) => x < y),
  'less-equal': compared((x, y) => x <= y),
  greater: compared((x, y) => x > y),
  'greater-equal': compared((x, y) => x >= y),
  equal: compared((x, y) => x === y),
  'not-equal': compared((x, y) => x !== y),
  and: compared((x, y) => x !== 0 && y !== 0),
  or: compared((x, y) => x !== 0 || y !== 0),
  not: ([x]) => constant(Float64Array.from(x!.data, (value) => Number(value === 0))),
}

// ---- inputs ----

type PerToken = (row: LossRow) => ArrayLike<number> | null

/** null: the row does not have it. */
const tokenInputs: Readonly<Partial<Record<InputName, PerToken>>> = {
  logp: ({ logprobs }) => logprobs,
  entropy: ({ entropies }) => entropies,
  values: ({ values }) => values,
  oldLogp: ({ behaviorLogprobs }) => behaviorLogprobs,
  refLogp: ({ referenceLogprobs }) => referenceLogprobs,
  samplerLogp: ({ samplerLogprobs, behaviorLogprobs }) => samplerLogprobs ?? behaviorLogprobs,
  oldEntropy: ({ behaviorEntropies }) => behaviorEntropies,
  oldValues: ({ behaviorValues }) => behaviorValues,
  advantages: ({ advantages }) => advantages,
  returns: ({ returns }) => returns,
  mask: ({ actionMask }) => actionMask,
}

type PerSequence = (row: LossRow) => number | null

const sequenceInputs: Readonly<Partial<Record<InputName, PerSequence>>> = {
  groups: ({ group }) => group,
  rewards: ({ turnRewards }) => turnRewards.reduce((sum, reward) => sum + reward, 0),
  baseline: ({ baselineReward }) => baselineReward,
  truncated: ({ truncated }) => Number(truncated),
  tokenLimit: ({ tokenLimit }) => tokenLimit ?? Infinity,
}

function inputValue(name: InputName, { rows, layout, heads }: Place): Value {
  const ofSequence = sequenceInputs[name]
  if (ofSequence) return constant(Float64Array.from(rows, (row) => ofSequence(row) ?? missing(name)))
  const data = new Float64Array(layout.counts.token)
  rows.forEach((row, i) => fill(data.subarray(layout.offsets[i], layout.offsets[i + 1]), name, row))
  const head = headNames.find((each) => each === name)
  if (head === undefined) return constant(data)
  const value = heads.get(head) ?? variable(data)
  heads.set(head, value)
  return value
}

/** 0 outside the action mask, where inputs hold nothing meaningful. */
function fill(into: Float64Array, name: InputName, row: LossRow): void {
  const { actionMask, turnIds, correction } = row
  const given =
    name === 'turns' ? (turnIds ?? into) : name === 'correction' ? correction : tokenInputs[name]?.(row)
  for (let t = 0; t < into.length; t++) {
    if (actionMask[t] !== 1) continue
    into[t] = given?.[t] ?? (name === 'correction' ? 1 : missing(name))
  }
}

function missing(name: InputName): never {
  throw new Error(`Expected “${name}” of every row.`)
}

function coefficientsOf(
  rows: readonly LossRow[],
  { offsets }: Layout,
  heads: ReadonlyMap<HeadName, Value>,
  gradients: ReadonlyMap<Value, Float64Array>,
): HeadCoefficients[] {
  return rows.map(({ actionMask }, i) => {
    const head = (name: HeadName): Float64Array | null => {
      const variable = heads.get(name)
      const gradient = variable && gradients.get(variable)
      return gradient ? gradient.slice(offsets[i], offsets[i + 1]) : null
    }
    return {
      logprobs: head('logp') ?? new Float64Array(actionMask.length),
      entropies: head('entropy'),
      values: head('values'),
    }
  })
}
