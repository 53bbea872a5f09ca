/** Evaluates a program on a batch: its value, its gradient with respect to the heads of each token, and its metrics. */
import { type InputName, type Level, lossInputs, type Reduction } from '#shared/lossLanguage.ts'
import { headNames, type HeadName, type LossNode, type LossProgram, type LossWeight } from '#shared/losses.ts'
import {
  arithmetic,
  constant,
  gradientsOf,
  operate,
  pool,
  spread,
  type Value,
  variable,
  where,
} from '../algorithms/terms/differentiable.ts'
import type { HeadCoefficients, LossRow } from '../algorithms/types.ts'
import { type Layout, layoutOf } from './layout.ts'
import { alwaysZero } from './program.ts'

const { add, divide, multiply } = arithmetic

export interface Evaluation {
  /** The value of each term of the program. */
  readonly losses: readonly number[]
  /** The weight of each term on this batch. */
  readonly weights: readonly number[]
  readonly metrics: Readonly<Record<string, number>>
  /** The values inside each stopGradient, by index of the operation. */
  readonly stopped: ReadonlyMap<number, Float64Array>
  /** The values of an operation, one for each unit of its level. */
  readonly valuesOf: (operation: number) => Float64Array
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
  const zeros = alwaysZero(program)
  for (const [k, node] of program.nodes.entries()) {
    let value = zeros.has(k)
      ? constant(new Float64Array(layout.counts[node.per]))
      : valueOf(node, { program, values, rows, layout, heads })
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
    valuesOf: (k) => values[k]!.data,
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
  /** Values of the operations before. */
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
      return operate(
        node.op,
        node.of.map((k) => atLevel(k, node.per, place)),
      )
  }
}

/** The one rule of broadcasting: an operand has a value for each unit of the level of what is done with it. */
function atLevel(k: number, level: Level, { program, values, layout }: Place): Value {
  const own = program.nodes[k]!.per
  return own === level ? values[k]! : spread(values[k]!, layout.units(level, own))
}

/** [units] from [n]; entries count with their mask as weight, and those whose mask is 0 are left out. */
function reduced({ op, per, of: operands }: LossNode & { op: Reduction }, place: Place): Value {
  const level = place.program.nodes[operands[0]!]!.per
  const [x, mask = null] = operands.map((k) => atLevel(k, level, place)) as [Value, Value?]
  const counted = mask && maskData(mask)
  // Masked entries are left out rather than multiplied by 0: they may be infinite.
  const kept = (values: Value) => (counted === null ? values : where(counted, values, 0))
  const units = place.layout.units(level, per)
  if (op === 'last') {
    const of = units.of.map((unit, i) => (counted === null || counted[i] === 1 ? unit : -1))
    return pool(x, { of, sizes: units.sizes }, 'final-value')
  }
  const total = pool(kept(mask === null ? x : multiply(x, mask)), units, 'sum')
  if (op === 'sum') return total
  const weight = pool(kept(mask ?? constant(new Float64Array(units.of.length).fill(1))), units, 'sum')
  const hasAny = Uint8Array.from(weight.data, (sum) => Number(sum !== 0))
  return where(hasAny, divide(total, where(hasAny, weight, 1)), 0)
}

/** Selects one of each pair of sequences: 0 = the chosen one, which comes first, 1 = the rejected one. */
function half(x: Value, which: 0 | 1, layout: Layout): Value {
  const count = layout.counts.pair
  const of = Int32Array.from({ length: layout.counts.sequence }, (_, i) =>
    i % 2 === which && i >> 1 < count ? i >> 1 : -1,
  )
  return pool(x, { of, sizes: new Int32Array(count).fill(1) }, 'sum')
}

const maskData = ({ data }: Value): Uint8Array => Uint8Array.from(data, (x) => Number(x !== 0))

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
  topLogp: ({ likeliestLogprobs }) => likeliestLogprobs ?? null,
  topRefLogp: ({ likeliest }) => likeliest?.logprobs ?? null,
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
  const each = lossInputs[name].per === 'alternative' ? layout.counts.alternative / layout.counts.token : 1
  const data = new Float64Array(layout.counts.token * each)
  rows.forEach((row, i) => {
    const [start, end] = [layout.offsets[i]!, layout.offsets[i + 1]!]
    fill(data.subarray(start * each, end * each), each, name, row)
  })
  const head = headNames.find((each) => each === name)
  if (head === undefined) return constant(data)
  const value = heads.get(head) ?? variable(data)
  heads.set(head, value)
  return value
}

/** 0 outside the action mask, where inputs hold nothing meaningful. */
function fill(into: Float64Array, each: number, name: InputName, row: LossRow): void {
  const { actionMask, turnIds, correction } = row
  const given =
    name === 'turns' ? (turnIds ?? into) : name === 'correction' ? correction : tokenInputs[name]?.(row)
  for (let t = 0; t < into.length; t++) {
    if (actionMask[Math.floor(t / each)] !== 1) continue
    into[t] = given?.[t] ?? (name === 'correction' ? 1 : missing(name))
  }
}

function missing(name: InputName): never {
  throw new Error(`Expected “${name}” of every row.`)
}

function coefficientsOf(
  rows: readonly LossRow[],
  { offsets, counts }: Layout,
  heads: ReadonlyMap<HeadName, Value>,
  gradients: ReadonlyMap<Value, Float64Array>,
): HeadCoefficients[] {
  return rows.map(({ actionMask }, i) => {
    const head = (name: HeadName, each = 1): Float64Array | null => {
      const variable = heads.get(name)
      const gradient = variable && gradients.get(variable)
      return gradient ? gradient.slice(offsets[i]! * each, offsets[i + 1]! * each) : null
    }
    return {
      logprobs: head('logp') ?? new Float64Array(actionMask.length),
      entropies: head('entropy'),
      values: head('values'),
      alternatives: head('topLogp', counts.alternative / counts.token),
    }
  })
}
