import type { CompositeOp, Value } from '../graph/value.ts'
import { compose } from '../graph/value.ts'
import { add, div, exp, log, mul, neg, sub } from './arithmetic.ts'
import { gather } from './gather.ts'
import { concat, splitSizes } from './layout.ts'
import { matmul } from './matmul.ts'
import { dotLastAxis, reduceSum } from './reduce.ts'
import type { LogitBend, VocabularyHead } from './vocabularyHead.ts'
import { bendLogits, vocabularyLogits } from './vocabularyHead.ts'

export interface SlicedHeadInputs {
  /** [N, D] */
  readonly hidden: Value
  /** [V, D] */
  readonly table: Value
  /** The rows of the table once more, cut into pieces [S, D]. */
  readonly slices: readonly Value[]
  /** [N] i64 */
  readonly targets: Value
  readonly bend?: LogitBend
}

/**
 * What `vocabularyHead` computes, a slice of the vocabulary at a time, so that no more than N × S logits exist at once and
 * both products of a slice find them in the cache. The softmax needs no second pass, for it is taken relative to the
 * target: o = exp(z − z_target), log p_target = −log Σ o, p E = (Σ o E) / Σ o. So nothing is finite where log p_target is
 * below about −88. Only the log-probability has a gradient, and only with respect to h.
 */
export function slicedHead({ hidden, table, slices, targets, bend }: SlicedHeadInputs): VocabularyHead {
  const targetRow = gather(table, targets)
  const target = bendLogits(dotLastAxis(hidden, targetRow), bend)
  const sums = slices.map((slice) => {
    const { logits, back } = vocabularyLogits(hidden, slice, bend)
    const odds = exp(sub(logits, target.logits))
    // Without a bend Σ o z is h · Σ o E, which is there anyway.
    return concat(
      [matmul(back(odds), slice), reduceSum(odds, [-1]), ...(bend ? [dotLastAxis(odds, logits)] : [])],
      -1,
    )
  })
  const width = hidden.shape.at(-1) as number
  const [row, total, logit] = splitSizes(sliceBySlice(sums), -1, [width, 1, ...(bend ? [1] : [])]) as [
    Value,
    Value,
    Value?,
  ]
  const logTotal = log(total)
  const meanRow = div(row, total)
  const meanLogit = logit ? div(logit, total) : dotLastAxis(hidden, meanRow)
  const logprob = neg(logTotal)
  const entropy = sub(add(target.logits, logTotal), meanLogit)

  const vjp: CompositeOp['vjp'] = ({ cotangents: [dLogprob = null, dEntropy = null] }) => {
    if (dEntropy) throw new Error('The entropy of a sliced head has no gradient; take vocabularyHead.')
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
