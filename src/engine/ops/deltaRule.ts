/**
 * Linear attention by the gated delta rule (Yang et al. 2024, arXiv:2412.06464): a matrix S of each head is read with the query,
 * forgets by α = exp(g), and has what it answers to the key k moved towards the value v by β:
 * S ← α·S + k·(β·(v − (α·S)ᵀk))ᵀ, o = Sᵀq.
 *
 * Positions are computed in chunks (§3.3): within one, the moves of all positions follow from a triangular system, so that only the
 * states between chunks depend on each other. They are the turns of an ONNX `Loop`, forwards and in the gradient backwards; all else
 * is computed for all chunks at once. Memory grows with the number of chunks.
 */
import type { Dim } from '../graph/shape.ts'
import type { CompositeOp, Value } from '../graph/value.ts'
import { apply, compose, constant, integers, loop, outputOf } from '../graph/value.ts'
import { add, div, exp, mul, neg, sqrt, sub } from './arithmetic.ts'
import { sigmoid } from './activation.ts'
import { addMask, HIDDEN } from './attention.ts'
import { defineOp, inputOf, onlyCotangent } from './define.ts'
import { gather } from './gather.ts'
import { lengthOf, reshape, reshapeTo, transpose } from './layout.ts'
import { matmul } from './matmul.ts'
import { expandLike, reduceSum, reduceSumSquare } from './reduce.ts'

/** M chunks of C positions (a power of two) of G heads of all sequences; a position that is padding has zeros throughout. */
export interface DeltaRuleInputs {
  /** [M, G, C, K] */
  readonly queries: Value
  /** [M, G, C, K]: of length 1, or shorter. */
  readonly keys: Value
  /** [M, G, C, V] */
  readonly values: Value
  /** [M, G, C, 1]: g ≤ 0. */
  readonly decays: Value
  /** [M, G, C, 1]: β from 0 to 1. */
  readonly strengths: Value
  /** [G, K, V]: S before the first chunk. */
  readonly initial: Value
  /** [M] i64: M − 1, …, 0; the order in which the gradient takes the chunks. */
  readonly backwards: Value
}

/** → mixed [M, G, C, V], and S after the last chunk, [G, K, V]. */
export function gatedDeltaRule(inputs: DeltaRuleInputs): { readonly mixed: Value; readonly last: Value } {
  const { queries, keys, values, strengths, initial, backwards } = inputs
  const { between, fromStart, toEnd, whole } = chunkDecays(inputs)
  const moved = mul(keys, strengths)
  const length = keys.shape[2] as number
  const system = mul(
    mul(matmul(moved, keys, { transB: true }), between),
    squareOf(length, (row, column) => Number(column < row), keys),
  )
  const inverse = unitLowerInverse(system)
  const updates = matmul(inverse, mul(values, strengths))
  const reads = matmul(inverse, mul(moved, fromStart))
  const written = mul(keys, toEnd)
  const { states, last } = scanStates({ whole, written, reads, updates, initial, backwards })
  const own = mul(matmul(queries, keys, { transB: true }), between)
  const corrections = sub(updates, matmul(reads, states))
  return { mixed: add(matmul(mul(queries, fromStart), states), matmul(own, corrections)), last }
}

/**
 * The same without a correction: S ← α·S + k·vᵀ, o = Sᵀq, the state space of Mamba-2 (Dao and Gu 2024, arXiv:2405.21060, §6), whose
 * keys need no length of 1.
 */
export function decayingSum(inputs: Omit<DeltaRuleInputs, 'strengths'>): {
  readonly mixed: Value
  readonly last: Value
} {
  const { queries, keys, values, initial, backwards } = inputs
  const { between, fromStart, toEnd, whole } = chunkDecays(inputs)
  const written = mul(keys, toEnd)
  const { states, last } = scanStates({ whole, written, reads: null, updates: values, initial, backwards })
  const own = mul(matmul(queries, keys, { transB: true }), between)
  return { mixed: add(matmul(mul(queries, fromStart), states), matmul(own, values)), last }
}

/**
 * Either rule for one position of G heads, without chunks: S ← α·S + k·moveᵀ, o = Sᵀq = α·Sᵀq + (kᵀq)·move, so that the state is read
 * before it changes. Shapes as in chunks, without M and with C = 1.
 */
export function recurrentStep({
  queries,
  keys,
  values,
  decays,
  strengths,
  initial,
}: Omit<DeltaRuleInputs, 'backwards' | 'strengths'> & { readonly strengths?: Value }): {
  readonly mixed: Value
  readonly last: Value
} {
  const kept = exp(decays) // [G, 1, 1]
  const read = (x: Value) => mul(matmul(x, initial), kept) // [G, 1, V]
  const move = strengths ? mul(sub(values, read(keys)), strengths) : values
  const [heads, , width] = keys.shape as readonly [Dim, number, number]
  const written = mul(reshape(keys, [heads, width, 1]), move)
  return {
    mixed: add(read(queries), mul(matmul(queries, keys, { transB: true }), move)),
    last: add(mul(initial, kept), written),
  }
}

/** The products of α between the positions of a chunk. */
interface ChunkDecays {
  /** [M, G, C, C]: from after j to i; 0 where j is after i. */
  readonly between: Value
  /** [M, G, C, 1]: from the start of the chunk to i. */
  readonly fromStart: Value
  /** [M, G, C, 1]: from after j to the end. */
  readonly toEnd: Value
  /** [M, G, 1, 1] */
  readonly whole: Value
}

function chunkDecays({ decays }: Pick<DeltaRuleInputs, 'decays'>): ChunkDecays {
  const length = decays.shape[2] as number
  const square = (at: (row: number, column: number) => number) => squareOf(length, at, decays)
  const sums = matmul(
    square((row, column) => Number(column <= row)),
    decays,
  )
  const total = reduceSum(decays, [2])
  const differences = sub(sums, transpose(sums, [0, 1, 3, 2]))
  const future = square((row, column) => (column > row ? HIDDEN : 0))
  return {
    between: exp(addMask(differences, future)),
    fromStart: exp(sums),
    toEnd: exp(sub(total, sums)),
    whole: exp(total),
  }
}

const squareOf = (length: number, at: (row: number, column: number) => number, like: Value): Value => {
  const numbers = Array.from({ length: length * length }, (_, index) =>
    at(Math.floor(index / length), index % length),
  )
  return constant(numbers, [length, length], like.dtype === 'float64' ? 'float64' : 'float32')
}

/**
 * (I + A)⁻¹ of strictly lower triangular matrices A […, C, C], whose other elements are 0. Block by block: with the inverses of two
 * neighbouring diagonal blocks in X, X − X·B·X has that of both together, where B is what A has below them. Its gradient is −XᵀdXXᵀ.
 */
export function unitLowerInverse(lower: Value): Value {
  const length = lower.shape.at(-1) as number
  const below = (size: number) =>
    mul(
      lower,
      squareOf(
        length,
        (row, column) =>
          Number(
            Math.floor(row / size) % 2 === 1 && Math.floor(column / size) === Math.floor(row / size) - 1,
          ),
        lower,
      ),
    )
  let inverse = sub(
    squareOf(length, (row, column) => Number(row === column), lower),
    below(1),
  )
  for (let size = 2; size < length; size *= 2)
    inverse = sub(inverse, matmul(matmul(inverse, below(size)), inverse))
  const vjp: CompositeOp['vjp'] = ({ node, cotangents }) => {
    const x = outputOf(node)
    return [neg(matmul(matmul(x, onlyCotangent(cotangents), { transA: true }), x, { transB: true }))]
  }
  return compose({ name: 'UnitLowerInverse', vjp }, [lower], [inverse])[0] as Value
}

interface ScanInputs {
  /** [M, G, 1, 1]: what is left of a state after a chunk. */
  readonly whole: Value
  /** [M, G, C, K]: keys as they are written into the state at the chunk's end. */
  readonly written: Value
  /** [M, G, C, K]: what each position reads of the state at the chunk's start to correct it; null: nothing. */
  readonly reads: Value | null
  /** [M, G, C, V]: the moves if that state were 0. */
  readonly updates: Value
  readonly initial: Value
  readonly backwards: Value
}

/** S′ = whole·S + writtenᵀ(updates − reads·S) → the state before each chunk, [M, G, K, V], and after the last, [G, K, V]. */
function scanStates(inputs: ScanInputs): { readonly states: Value; readonly last: Value } {
  const { whole, written, reads, updates, initial, backwards } = inputs
  const corrected = reads ? [reads] : []
  const { last, stacked } = loop({
    turns: lengthOf(whole, 0),
    reads: [whole, written, updates, ...corrected],
    initial: [initial],
    body(turn, chunks, [carried]) {
      const [kept, keys, update, read] = chunkAt(chunks, turn)
      const state = carried as Value
      const move = read ? sub(update, matmul(read, state)) : update
      return { next: [add(mul(state, kept), matmul(keys, move, { transA: true }))], stacked: [state] }
    },
  })
  const states = chunksOf(stacked[0] as Value, whole)
  const vjp: CompositeOp['vjp'] = ({ node, cotangents }) => scanGradients(inputs, outputOf(node), cotangents)
  const values = [whole, written, updates, initial, backwards, ...corrected]
  const [all, end] = compose({ name: 'DeltaStates', vjp }, values, [states, last[0] as Value]) as [
    Value,
    Value,
  ]
  return { states: all, last: end }
}

/** One chunk of each of three or four. */
const chunkAt = (chunks: readonly Value[], turn: Value) =>
  chunks.map((each) => gather(each, turn)) as [Value, Value, Value, Value | undefined]

/** Names the first axis of what turns stacked as the chunks are named. */
const chunksOf = (stacked: Value, like: Value): Value =>
  reshapeTo(
    stacked,
    [like.shape[0] as string, ...stacked.shape.slice(1)],
    integers(stacked.shape.map(() => 0)),
  )

/** Gradients of the scan: with λ that of the state after a chunk, dMoves = written·λ, and before it dS + whole·λ − readsᵀ·dMoves. */
function scanGradients(
  { whole, written, reads, updates, initial, backwards }: ScanInputs,
  states: Value,
  [dStates, dLast]: readonly (Value | null)[],
): (Value | null)[] {
  const zero = constant([0], [1, 1, 1], initial.dtype === 'float64' ? 'float64' : 'float32')
  const { last, stacked } = loop({
    turns: lengthOf(whole, 0),
    reads: [backwards, whole, written, dStates ?? expandLike(zero, states), ...(reads ? [reads] : [])],
    initial: [dLast ?? expandLike(zero, initial)],
    body(turn, [order, ...chunks], [carried]) {
      const at = gather(order as Value, turn)
      const [kept, keys, dState, read] = chunkAt(chunks, at)
      const after = carried as Value
      const direct = add(dState, mul(after, kept))
      const before = read ? sub(direct, matmul(read, matmul(keys, after), { transA: true })) : direct
      return { next: [before], stacked: [after] }
    },
  })
  const after = gather(chunksOf(stacked[0] as Value, whole), backwards)
  const dMoves = matmul(written, after)
  const moves = reads ? sub(updates, matmul(reads, states)) : updates
  return [
    reduceSum(mul(after, states), [2, 3]),
    matmul(moves, after, { transB: true }),
    dMoves,
    last[0] as Value,
    null,
    ...(reads ? [neg(matmul(dMoves, states, { transB: true }))] : []),
  ]
}

// y = log(1 + exp(x)): dx = dy·σ(x)
export const softplusOp = defineOp('Softplus', ({ node, cotangents }) => [
  mul(onlyCotangent(cotangents), sigmoid(inputOf(node, 0))),
])
/** log(1 + exp(x)). float32 only: the runtime's kernel has no other. */
export const softplus = (x: Value): Value => apply(softplusOp, [x], {}, [x])[0] as Value

/** Rows of length 1: x / √(Σ x² + ε) along the last axis. */
export function unitRows(x: Value, epsilon: number): Value {
  const floor = constant([epsilon], [], x.dtype === 'float64' ? 'float64' : 'float32')
  return div(x, sqrt(add(reduceSumSquare(x), floor)))
}
