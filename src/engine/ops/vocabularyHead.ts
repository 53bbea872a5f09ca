import type { Dim } from '../graph/shape.ts'
import { type CompositeOp, type Value, apply, compose, constant, integers } from '../graph/value.ts'
import { softmax, tanh } from './activation.ts'
import { add, log, mul, neg, scale, sub, div, exp } from './arithmetic.ts'
import { defineOp, int } from './define.ts'
import {
  type ByteMatrix,
  productWithColumns,
  type RoundedRows,
  roundedRows,
  roundPositiveRows,
  roundRows,
  sumOfRows,
} from './frozenMatmul.ts'
import { gather, gatherElements } from './gather.ts'
import { reshape, concat, splitSizes } from './layout.ts'
import { matmul } from './matmul.ts'
import { dotLastAxis, reduceMax, reduceSum } from './reduce.ts'

export const oneHotOp = defineOp('OneHot', 'Indices are not differentiable.')
/** Rows with a 1 at their index, in the type of `like`. indices [N] i64 → [N, V]. */
function oneHot(indices: Value, size: number, like: Value): Value {
  const type = { dtype: like.dtype, shape: [...indices.shape, size] }
  const levels = constant([0, 1], [2], like.dtype === 'float64' ? 'float64' : 'float32')
  return apply(oneHotOp, [indices, integers([size]), levels], { axis: int(-1) }, [type])[0] as Value
}

/** The matrix of the vocabulary, E [V, D]. */
export interface Vocabulary {
  /** E in pieces, one after the other. */
  readonly slices: readonly VocabularySlice[]
  /** Its rows in f32. ids [N] i64 → [N, D]. */
  readonly rows: (ids: Value) => Value
}

/** [S, D], in f32 or in bytes. */
export type VocabularySlice = Value | ByteMatrix

const isInBytes = (slice: VocabularySlice): slice is ByteMatrix => 'rows' in slice
const sizeOf = (slice: VocabularySlice): number => (isInBytes(slice) ? slice.rows : slice).shape[0] as number

/** x E, x [N, S] → [N, D] */
const weighed = (x: Value, slice: VocabularySlice, round = roundRows): Value =>
  isInBytes(slice) ? sumOfRows(x, slice, round) : matmul(x, slice)

export interface VocabularyHeadInputs {
  /** [N, D] */
  readonly hidden: Value
  /** [V, D] in f32, which has a gradient, or frozen in another form. */
  readonly table: Value | Vocabulary
  /** [N] i64 */
  readonly targets: Value
  /** What happens to the product before the softmax; nothing if absent. */
  readonly logitCap?: LogitCap
}

/** z = cap·tanh(h Eᵀ / cap) · factor. Gemma Team 2024, arXiv:2408.00118, §2. */
export interface LogitCap {
  readonly cap: number
  /** [1] */
  readonly factor: Value
}

interface VocabularyHead {
  /** [N, 1] log-probability of each row's target, nats. */
  readonly logprob: Value
  /** [N, 1] entropy of each row's distribution, nats. */
  readonly entropy: Value
}

/**
 * log softmax(h Eᵀ) at the targets, and the entropy of the distribution, with one gradient rule that needs neither the
 * log-probabilities of the whole vocabulary nor their cotangent: ∂logprob/∂h = E[target] − p E and
 * ∂entropy/∂h = −(p·(log p + entropy)) E.
 */
export function vocabularyHead({ hidden, table, targets, logitCap }: VocabularyHeadInputs): VocabularyHead {
  const rows = hidden.shape[0] as Dim
  const { slices, rows: rowsOf } = vocabularyOf(table)
  const sizes = slices.map(sizeOf)
  const round = readOnce()
  const { logits, back } = joined(slices.map((slice) => vocabularyLogits({ hidden, slice, logitCap, round })))
  const probabilities = softmax(logits)
  const column = reshape(targets, [rows, 1])
  // log p = (z − z_max) + log p_max. Sums over the vocabulary are of differences from the largest logit: of the logits
  // themselves, which may be large and nearly alike, f32 would leave an error of 10⁻³ in the entropy.
  const centered = sub(logits, reduceMax(logits, [-1]))
  const logLargest = log(reduceMax(probabilities, [-1]))
  const logprob = add(gatherElements(centered, column), logLargest)
  const entropy = neg(add(logLargest, dotLastAxis(probabilities, centered)))

  /** x E, x [N, V] */
  const timesTable = (x: Value): Value =>
    (sizes.length === 1 ? [x] : splitSizes(x, -1, sizes))
      .map((part, index) => weighed(part, slices[index] as VocabularySlice))
      .reduce((total, part) => add(total, part))
  const vjp: CompositeOp['vjp'] = ({ cotangents: [dLogprob = null, dEntropy = null] }) => {
    const logitsByEntropy = dEntropy
      ? mul(neg(dEntropy), mul(probabilities, add(add(centered, logLargest), entropy)))
      : null
    const size = sizes.reduce((total, count) => total + count, 0)
    const logitsByLogprob =
      dLogprob && mul(dLogprob, sub(oneHot(targets, size, probabilities), probabilities))
    const hiddenBy = (dLogits: Value | null): Value | null => dLogits && timesTable(back(dLogits))
    // E[target] − p E is there already, unless the soft cap weighs each entry by itself.
    const hiddenByLogprob = logitCap
      ? hiddenBy(logitsByLogprob)
      : dLogprob && mul(dLogprob, sub(rowsOf(targets), timesTable(probabilities)))
    const hiddenParts = [hiddenByLogprob, hiddenBy(logitsByEntropy)]
    const tableParts = [logitsByLogprob, logitsByEntropy].map(
      (dLogits) => dLogits && matmul(back(dLogits), hidden, { transA: true }),
    )
    return [addAll(hiddenParts), ...('slices' in table ? [] : [addAll(tableParts)])]
  }
  const [logprobOut, entropyOut] = compose(
    { name: 'VocabularyHead', vjp },
    [hidden, ...('slices' in table ? [] : [table])],
    [logprob, entropy],
  )
  return { logprob: logprobOut as Value, entropy: entropyOut as Value }
}

const vocabularyOf = (table: Value | Vocabulary): Vocabulary =>
  'slices' in table ? table : { slices: [table], rows: (ids) => gather(table, ids) }

/** Rounds what several products read once. */
function readOnce(): typeof roundRows {
  const known = new Map<Value, RoundedRows>()
  return (x) => {
    const rounded = known.get(x) ?? roundRows(x)
    known.set(x, rounded)
    return rounded
  }
}

export interface BentLogits {
  readonly logits: Value
  /** From a cotangent of the logits to one of the plain products: factor·(1 − tanh²), unchanged without a soft cap. */
  readonly back: (dLogits: Value) => Value
}

interface SliceOfLogits {
  /** [N, D] */
  readonly hidden: Value
  /** [S, D] */
  readonly slice: VocabularySlice
  readonly logitCap: LogitCap | undefined
  readonly round: typeof roundRows
}

/** The logits [N, S] of hidden states and rows of the vocabulary. */
const vocabularyLogits = ({ hidden, slice, logitCap, round }: SliceOfLogits): BentLogits =>
  capLogits(
    isInBytes(slice) ? productWithColumns(round(hidden), slice) : matmul(hidden, slice, { transB: true }),
    logitCap,
  )

/** Logits of slices as those of the whole vocabulary. */
function joined(parts: readonly BentLogits[]): BentLogits {
  const [first, ...others] = parts
  if (!first) throw new Error('A vocabulary has at least one slice.')
  if (others.length === 0) return first
  const sizes = parts.map(({ logits }) => logits.shape.at(-1) as number)
  const back = (dLogits: Value) =>
    concat(
      splitSizes(dLogits, -1, sizes).map((part, index) => (parts[index] as BentLogits).back(part)),
      -1,
    )
  return {
    logits: concat(
      parts.map(({ logits }) => logits),
      -1,
    ),
    back,
  }
}

/** The logits that products of hidden states and rows of the vocabulary become. */
const capLogits = (products: Value, logitCap: LogitCap | undefined): BentLogits =>
  logitCap
    ? bent(scale(products, 1 / logitCap.cap), logitCap)
    : { logits: products, back: (dLogits) => dLogits }

/** capped: h Eᵀ / cap */
function bent(capped: Value, logitCap: LogitCap): BentLogits {
  const bounded = tanh(capped)
  const back = (dLogits: Value) => mul(sub(dLogits, mul(dLogits, mul(bounded, bounded))), logitCap.factor)
  return { logits: mul(bounded, scale(logitCap.factor, logitCap.cap)), back }
}

const addAll = (parts: readonly (Value | null)[]): Value | null =>
  parts.reduce((total, part) => (total && part ? add(total, part) : (total ?? part)), null)

/**
 * What `vocabularyHead` computes, a slice of the vocabulary at a time, so that no more than N × S logits exist at once and
 * both products of a slice find them in the cache. The softmax needs no second pass, for it is taken relative to the
 * target: o = exp(z − z_target), log p_target = −log Σ o, p E = (Σ o E) / Σ o. So nothing is finite where log p_target is
 * below about −88. Only the log-probability has a gradient, and only with respect to h.
 */
export function slicedHead({ hidden, table, targets, logitCap }: VocabularyHeadInputs): VocabularyHead {
  const { slices, rows } = vocabularyOf(table)
  const round = readOnce()
  const targetRow = rows(targets)
  // Products in whole numbers read what h is rounded to: so does the logit of the target, which the others are compared with.
  const read = slices.some(isInBytes) ? roundedRows(round(hidden)) : hidden
  const target = capLogits(dotLastAxis(read, targetRow), logitCap)
  const sums = slices.map((slice) => {
    const { logits, back } = vocabularyLogits({ hidden, slice, logitCap, round })
    const odds = exp(sub(logits, target.logits))
    // Without a soft cap Σ o z is h · Σ o E, which is there anyway.
    return concat(
      [
        weighed(back(odds), slice, logitCap ? roundRows : roundPositiveRows),
        reduceSum(odds, [-1]),
        ...(logitCap ? [dotLastAxis(odds, logits)] : []),
      ],
      -1,
    )
  })
  const width = hidden.shape.at(-1) as number
  const [row, total, logit] = splitSizes(sliceBySlice(sums), -1, [width, 1, ...(logitCap ? [1] : [])]) as [
    Value,
    Value,
    Value?,
  ]
  const logTotal = log(total)
  const meanRow = div(row, total)
  const meanLogit = logit ? div(logit, total) : dotLastAxis(read, meanRow)
  const logprob = neg(logTotal)
  const entropy = sub(add(target.logits, logTotal), meanLogit)

  const vjp: CompositeOp['vjp'] = ({ cotangents: [dLogprob = null, dEntropy = null] }) => {
    if (dEntropy) throw new Error('The entropy of a sliced head has no gradient; use vocabularyHead.')
    return [dLogprob && mul(dLogprob, sub(target.back(targetRow), meanRow))]
  }
  const [logprobOut, entropyOut] = compose({ name: 'SlicedHead', vjp }, [hidden], [logprob, entropy])
  return { logprob: logprobOut as Value, entropy: entropyOut as Value }
}

/**
 * The sum, nested so that ONNX Runtime, which walks back from the result and takes the input that was written last first,
 * adds each term right after it is computed. A slice leaves one term: with two, summed apart, its odds would have to wait
 * for the second sum, and those of all slices would exist at once.
 */
const sliceBySlice = (terms: readonly Value[]): Value => terms.reduceRight((rest, term) => add(term, rest))
