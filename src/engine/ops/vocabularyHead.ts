import type { Dim } from '../graph/shape.ts'
import type { CompositeOp, Value } from '../graph/value.ts'
import { apply, compose, constant, integers } from '../graph/value.ts'
import { softmax } from './activation.ts'
import { add, log, mul, neg, sub } from './arithmetic.ts'
import { defineOp, int } from './define.ts'
import { gather, gatherElements } from './gather.ts'
import { reshape } from './layout.ts'
import { matmul } from './matmul.ts'
import { dotLastAxis, reduceMax } from './reduce.ts'

export const oneHotOp = defineOp('OneHot', 'Indices are not differentiable.')
/** Rows with a 1 at their index, in the type of `like`. indices [N] i64 → [N, V]. */
function oneHot(indices: Value, size: number, like: Value): Value {
  const type = { dtype: like.dtype, shape: [...indices.shape, size] }
  const levels = constant([0, 1], [2], like.dtype === 'float64' ? 'float64' : 'float32')
  return apply(oneHotOp, [indices, integers([size]), levels], { axis: int(-1) }, [type])[0] as Value
}

export interface VocabularyHeadInputs {
  /** [N, D] */
  readonly hidden: Value
  /** [V, D] */
  readonly table: Value
  /** [N] i64 */
  readonly targets: Value
  /** The slopes will be asked for, so the mean row p E is computed anyway. */
  readonly isLearning: boolean
  /**
   * Which entry tells log Σ exp(z) = z − log p. The largest always does and costs two passes over the vocabulary; the
   * target is read anyway, but where its probability underflows, log-probability and entropy come out infinite.
   */
  readonly reference?: 'largest' | 'target'
}

export interface VocabularyHead {
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
export function vocabularyHead({
  hidden,
  table,
  targets,
  isLearning,
  reference = 'largest',
}: VocabularyHeadInputs): VocabularyHead {
  const [rows, size] = [hidden.shape[0] as Dim, table.shape[0] as number]
  const logits = matmul(hidden, table, { transB: true }) // [N, V]
  const probabilities = softmax(logits)
  const column = reshape(targets, [rows, 1])
  const readAt = (x: Value) => (reference === 'target' ? gatherElements(x, column) : reduceMax(x, [-1]))
  const normalizer = sub(readAt(logits), log(readAt(probabilities)))
  const logprob = sub(gatherElements(logits, column), normalizer)
  const meanRow = matmul(probabilities, table) // p E: [N, D]
  // Σ p z = h · (p E): where the mean row is there, the entropy needs no pass of its own over the vocabulary.
  const meanLogit = isLearning ? dotLastAxis(hidden, meanRow) : dotLastAxis(probabilities, logits)
  const entropy = sub(normalizer, meanLogit)

  const vjp: CompositeOp['vjp'] = ({ cotangents: [dLogprob, dEntropy] }) => {
    const logitsByEntropy = dEntropy
      ? mul(neg(dEntropy), mul(probabilities, add(sub(logits, normalizer), entropy)))
      : null
    const hiddenParts = [
      dLogprob ? mul(dLogprob, sub(gather(table, targets), meanRow)) : null,
      logitsByEntropy ? matmul(logitsByEntropy, table) : null,
    ]
    const tableParts = [
      dLogprob ? mul(dLogprob, sub(oneHot(targets, size, probabilities), probabilities)) : null,
      logitsByEntropy,
    ].map((dLogits) => dLogits && matmul(dLogits, hidden, { transA: true }))
    return [addAll(hiddenParts), addAll(tableParts), null]
  }
  const [logprobOut, entropyOut] = compose(
    { name: 'VocabularyHead', vjp },
    [hidden, table, targets],
    [logprob, entropy],
  )
  return { logprob: logprobOut as Value, entropy: entropyOut as Value }
}

const addAll = (parts: readonly (Value | null)[]): Value | null =>
  parts.reduce((total, part) => (total && part ? add(total, part) : (total ?? part)), null)
