import { type Dim, product } from '../graph/shape.ts'
import { type CompositeOp, type Value, apply, compose, constant, integers } from '../graph/value.ts'
import { softmax, tanh } from './activation.ts'
import { add, log, mul, neg, scale, sub, div, exp } from './arithmetic.ts'
import { type TopCount, topK } from './choice.ts'
import { defineOp, int } from './define.ts'
import {
  frozenMatmul,
  isInBytes,
  type MatrixSlice,
  productWithColumns,
  rowCount,
  type RoundedRows,
  roundedRows,
  roundPositiveRows,
  roundRows,
  sliceBySlice,
  timesMatrix,
} from './frozenMatmul.ts'
import { gather, gatherElements } from './gather.ts'
import { concat, reshape, splitRows, splitSizes } from './layout.ts'
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
  readonly slices: readonly MatrixSlice[]
  /** Reads rows of the vocabulary in f32: ids [N] i64 → [N, D]. */
  readonly rows: (ids: Value) => Value
}

export interface VocabularyHeadInputs {
  /** [N, D] */
  readonly hidden: Value
  /** [V, D] in f32, which has a gradient, or frozen in another form. */
  readonly table: Value | Vocabulary
  /** [N] i64 */
  readonly targets: Value
  /** Soft cap of the product before the softmax; none if absent. */
  readonly logitCap?: LogitCap
}

/** z = cap·tanh(h Eᵀ / cap) · factor. Gemma Team 2024, arXiv:2408.00118, §2. */
export interface LogitCap {
  readonly cap: number
  /** [1] */
  readonly factor: Value
}

interface SlicedHead {
  /** [N, 1] log-probability of each row's target, nats. */
  readonly logprob: Value
  /** [N, 1] entropy of each row's distribution, nats. */
  readonly entropy: Value
}

interface VocabularyHead extends SlicedHead {
  /** [N, 1] log Σ exp z over the vocabulary. */
  readonly logTotal: Value
}

/** log softmax(h Eᵀ) at the targets, the entropy of the distribution, and what log softmax subtracts from each logit. */
export const vocabularyHead = (inputs: VocabularyHeadInputs): VocabularyHead =>
  'slices' in inputs.table && inputs.table.slices.length > 1
    ? streamedHead(inputs, inputs.table)
    : wholeHead(inputs)

/**
 * The head with the logits of the whole vocabulary at once, and with one gradient rule that needs neither the
 * log-probabilities of the whole vocabulary nor their cotangent: ∂logprob/∂h = E[target] − p E and
 * ∂entropy/∂h = −(p·(log p + entropy)) E.
 */
function wholeHead({ hidden, table, targets, logitCap }: VocabularyHeadInputs): VocabularyHead {
  const rows = hidden.shape[0] as Dim
  const { slices, rows: rowsOf } = vocabularyOf(table)
  const slice = slices[0] as MatrixSlice
  const { logits, back } = vocabularyLogits({ hidden, slice, logitCap, round: roundRows })
  const probabilities = softmax(logits)
  const column = reshape(targets, [rows, 1])
  // log p = (z − z_max) + log p_max. Sums over the vocabulary are of differences from the largest logit: of the logits
  // themselves, which may be large and nearly alike, f32 would leave an error of 10⁻³ in the entropy.
  const centered = sub(logits, reduceMax(logits, [-1]))
  const logLargest = log(reduceMax(probabilities, [-1]))
  const logprob = add(gatherElements(centered, column), logLargest)
  const entropy = neg(add(logLargest, dotLastAxis(probabilities, centered)))
  const logTotal = sub(reduceMax(logits, [-1]), logLargest)

  const vjp: CompositeOp['vjp'] = ({ cotangents: [dLogprob = null, dEntropy = null, dTotal = null] }) => {
    const logitsByTotal = dTotal && mul(dTotal, probabilities)
    const logitsByEntropy = dEntropy
      ? mul(neg(dEntropy), mul(probabilities, add(add(centered, logLargest), entropy)))
      : null
    const logitsByLogprob =
      dLogprob && mul(dLogprob, sub(oneHot(targets, rowCount(slice), probabilities), probabilities))
    const hiddenBy = (dLogits: Value | null): Value | null => dLogits && timesMatrix(back(dLogits), slice)
    // E[target] − p E is there already, unless the soft cap weighs each entry by itself.
    const hiddenByLogprob = logitCap
      ? hiddenBy(logitsByLogprob)
      : dLogprob && mul(dLogprob, sub(rowsOf(targets), timesMatrix(probabilities, slice)))
    const hiddenParts = [hiddenByLogprob, hiddenBy(logitsByEntropy), hiddenBy(logitsByTotal)]
    const tableParts = [logitsByLogprob, logitsByEntropy, logitsByTotal].map(
      (dLogits) => dLogits && matmul(back(dLogits), hidden, { transA: true }),
    )
    return [addAll(hiddenParts), ...('slices' in table ? [] : [addAll(tableParts)])]
  }
  const read = [hidden, ...('slices' in table ? [] : [table])]
  return headOf({ name: 'VocabularyHead', vjp }, read, [logprob, entropy, logTotal])
}

function headOf(op: CompositeOp, inputs: readonly Value[], results: readonly Value[]): VocabularyHead {
  const [logprob, entropy, logTotal] = compose(op, inputs, results) as [Value, Value, Value]
  return { logprob, entropy, logTotal }
}

/**
 * The same a slice of the vocabulary at a time: of each slice only sums stay, relative to its largest logit, and two slices are
 * put together relative to the larger of both (Milakov and Gimelshein 2018, arXiv:1805.02867, §3). With o = exp(z − m) and
 * m the largest logit: log p_target = z_target − m − log Σ o, entropy = log Σ o − Σ o (z − m) / Σ o, and for the gradients
 * p E = Σ o E / Σ o and Σ p log p E from Σ o (z − m) E. Nothing is as large as N × V.
 */
function streamedHead(
  { hidden, targets, logitCap }: VocabularyHeadInputs,
  { slices, rows }: Vocabulary,
): VocabularyHead {
  const round = readOnce()
  const targetRow = rows(targets)
  const target = capLogits(dotLastAxis(asMultiplied(hidden, slices, round), targetRow), logitCap)
  const parts = slices.map((slice) => ({
    slice,
    ...vocabularyLogits({ hidden, slice, logitCap, round }),
  }))
  const { odds, weighted, largest } = streamed(parts, { rows: false, weighted: true })
  const logOdds = log(odds)
  const logprob = sub(sub(target.logits, largest), logOdds)
  const entropy = sub(logOdds, div(weighted as Value, odds))

  const width = hidden.shape.at(-1) as number
  const vjp: CompositeOp['vjp'] = ({ cotangents: [dLogprob = null, dEntropy = null, dTotal = null] }) => {
    // Sums of their own: those of the way forward need no rows, and need not wait for these.
    const sums = streamed(parts, { rows: true, weighted: dEntropy !== null })
    const [total, row] = splitSizes(sums.odds, -1, [1, width]) as [Value, Value]
    const meanRow = div(row, total)
    const byLogprob = dLogprob && mul(dLogprob, sub(target.back(targetRow), meanRow))
    const byTotal = dTotal && mul(dTotal, meanRow)
    if (!dEntropy) return [addAll([byLogprob, byTotal])]
    const [mean, weightedRow] = splitSizes(div(sums.weighted as Value, total), -1, [1, width]) as [
      Value,
      Value,
    ]
    return [addAll([byLogprob, byTotal, mul(dEntropy, sub(mul(mean, meanRow), weightedRow))])]
  }
  return headOf({ name: 'StreamedHead', vjp }, [hidden], [logprob, entropy, add(largest, logOdds)])
}

/**
 * log softmax(h Eᵀ) at K further tokens of each row, ids [N, K] i64 → [N, K], from the `logTotal` of the head over the same
 * inputs. Its gradient is taken with respect to h alone.
 */
export function alternativesHead(
  { hidden, table, logitCap }: VocabularyHeadInputs,
  ids: Value,
  logTotal: Value,
): Value {
  const [rows, count, width] = [ids.shape[0] as Dim, ids.shape[1] as Dim, hidden.shape.at(-1) as Dim]
  const vocabulary = vocabularyOf(table)
  const found = splitRows(vocabulary.rows(reshape(ids, [product([rows, count])])), ids)
  const read = asMultiplied(hidden, vocabulary.slices, roundRows)
  const products = matmul(found, reshape(read, [rows, width, 1]))
  const { logits, back } = capLogits(reshape(products, [rows, count]), logitCap)
  const vjp: CompositeOp['vjp'] = ({ cotangents: [dLogits = null] }) => [
    dLogits &&
      reshape(matmul(reshape(back(dLogits), [rows, count, 1]), found, { transA: true }), [rows, width]),
  ]
  const [out] = compose({ name: 'AlternativeLogits', vjp }, [hidden], [logits]) as [Value]
  return sub(out, logTotal)
}

/** The K likeliest tokens of each row, the likeliest first, and their log-probabilities: [N, K] each, no gradient. */
export function topTokens(
  { hidden, table, logitCap }: Omit<VocabularyHeadInputs, 'targets'>,
  count: TopCount,
  logTotal: Value,
): { readonly ids: Value; readonly logprobs: Value } {
  const round = readOnce()
  const parts = vocabularyOf(table).slices.map(
    (slice) => vocabularyLogits({ hidden, slice, logitCap, round }).logits,
  )
  const [logits, ids] = topK(parts.length === 1 ? (parts[0] as Value) : concat(parts, -1), count)
  return { ids, logprobs: sub(logits, logTotal) }
}

interface LogitSlice extends BentLogits {
  readonly slice: MatrixSlice
}

/** Sums taken over the vocabulary: o, with `rows` also o E, and with `weighted` both times (z − m). */
interface Sums {
  readonly rows: boolean
  readonly weighted: boolean
}

/** Computes the sums of all slices: of o [N, 1] or, with o E behind it, [N, 1 + D]; the same weighted; and m [N, 1]. */
function streamed(parts: readonly LogitSlice[], { rows, weighted }: Sums) {
  const sums = parts.map(({ slice, logits, back }) => {
    const largest = reduceMax(logits, [-1])
    const centered = sub(logits, largest)
    const odds = exp(centered)
    const summed = (x: Value) => [reduceSum(x, [-1]), ...(rows ? [timesMatrix(back(x), slice)] : [])]
    return concat([...summed(odds), ...(weighted ? summed(mul(odds, centered)) : []), largest], -1)
  })
  const width = ((sums[0] as Value).shape.at(-1) as number) - 1
  const sizes = weighted ? [width / 2, width / 2, 1] : [width, 1]
  const taken = (sum: Value) => {
    const split = splitSizes(sum, -1, sizes)
    return {
      odds: split[0] as Value,
      weighted: weighted ? (split[1] as Value) : null,
      largest: split.at(-1) as Value,
    }
  }
  const join = (term: Value, rest: Value): Value => {
    const both = [taken(term), taken(rest)]
    const largest = reduceMax(
      concat(
        both.map((part) => part.largest),
        -1,
      ),
      [-1],
    )
    const moved = both.map((part) => {
      const shift = sub(part.largest, largest)
      const factor = exp(shift)
      const ofOdds = mul(part.odds, factor)
      return {
        odds: ofOdds,
        weighted: part.weighted && add(mul(part.weighted, factor), mul(ofOdds, shift)),
      }
    })
    const odds = addAll(moved.map((part) => part.odds)) as Value
    const sum = addAll(moved.map((part) => part.weighted))
    return concat([odds, ...(sum ? [sum] : []), largest], -1)
  }
  return taken(sliceBySlice(sums, join))
}

/** Returns h as products with those slices read it: rows in bytes where the slices are in bytes. */
const asMultiplied = (hidden: Value, slices: readonly MatrixSlice[], round: typeof roundRows): Value =>
  slices.some(isInBytes) ? roundedRows(round(hidden)) : hidden

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
  /**
   * Maps a cotangent of the logits to one of the plain products: times factor·(1 − tanh²), unchanged without a soft
   * cap.
   */
  readonly back: (dLogits: Value) => Value
}

interface SliceOfLogits {
  /** [N, D] */
  readonly hidden: Value
  /** [S, D] */
  readonly slice: MatrixSlice
  readonly logitCap: LogitCap | undefined
  readonly round: typeof roundRows
}

/** The logits [N, S] of hidden states and rows of the vocabulary. */
const vocabularyLogits = ({ hidden, slice, logitCap, round }: SliceOfLogits): BentLogits =>
  capLogits(
    isInBytes(slice) ? productWithColumns(round(hidden), slice) : frozenMatmul(hidden, slice),
    logitCap,
  )

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
 * Computes the same as `vocabularyHead`, one slice of the vocabulary at a time, so that no more than N × S logits exist
 * at once and both products of a slice find them in the cache. The softmax needs no second pass, for it is taken
 * relative to the target: o = exp(z − z_target), log p_target = −log Σ o, p E = (Σ o E) / Σ o. So nothing is finite
 * where log p_target is below about −88. Only the log-probability has a gradient, and only with respect to h.
 */
export function slicedHead({ hidden, table, targets, logitCap }: VocabularyHeadInputs): SlicedHead {
  const { slices, rows } = vocabularyOf(table)
  const round = readOnce()
  const targetRow = rows(targets)
  // Products in whole numbers read what h is rounded to: so does the logit of the target, which the others are compared with.
  const read = asMultiplied(hidden, slices, round)
  const target = capLogits(dotLastAxis(read, targetRow), logitCap)
  const sums = slices.map((slice) => {
    const { logits, back } = vocabularyLogits({ hidden, slice, logitCap, round })
    const odds = exp(sub(logits, target.logits))
    // Without a soft cap Σ o z is h · Σ o E, which is there anyway.
    return concat(
      [
        timesMatrix(back(odds), slice, logitCap ? roundRows : roundPositiveRows),
        reduceSum(odds, [-1]),
        ...(logitCap ? [dotLastAxis(odds, logits)] : []),
      ],
      -1,
    )
  })
  const width = hidden.shape.at(-1) as number
  const [row, total, logit] = splitSizes(sliceBySlice(sums, add), -1, [
    width,
    1,
    ...(logitCap ? [1] : []),
  ]) as [Value, Value, Value?]
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
