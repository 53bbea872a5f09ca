/**
 * One expression or more for every operator with a gradient, small enough to be differentiated numerically. The tests
 * and the self-test of an installation compare each with central differences (runtime/gradientCheck.ts).
 */
import { product } from '../graph/shape.ts'
import { constant as fixed, type Value } from '../graph/value.ts'
import {
  clampedSwiglu,
  geluTanh,
  preciseSilu,
  reluSquared,
  sigmoid,
  silu,
  softcap,
  softmax,
  swiglu,
} from './activation.ts'
import { add, div, exp, log, mul, neg, sqrt, sub } from './arithmetic.ts'
import { expertCases } from './expertCases.ts'
import { gather, packRows, unpackRows } from './gather.ts'
import { constant, gradientCase, type GradientCase, integer, positive, real } from './gradientCase.ts'
import { concat, flatten, split, splitSizes, reshape, transpose } from './layout.ts'
import { matmul, matmulAdd } from './matmul.ts'
import { layerNorm, rmsNorm } from './normalization.ts'
import { expandLike, forEachRow, meanLastAxis, reduceSum, reduceSumSquare } from './reduce.ts'
import { rotary, addMask, attention, type ScoreRule } from './attention.ts'
import { blockColumns, blockwiseAttention, type QueryBlocks } from './blockwiseAttention.ts'
import { deltaCases } from './deltaCases.ts'
import { slicedRows } from './frozenMatmul.ts'
import { shortConvolution } from './shortConvolution.ts'
import { alternativesHead, slicedHead, type Vocabulary, vocabularyHead } from './vocabularyHead.ts'

const arithmetic = [
  gradientCase('Add', 'a row over a matrix', {
    inputs: [real('B', 'T', 4), real(4)],
    build: ([a, b]) => add(a, b),
  }),
  gradientCase('Add', 'both broadcast', {
    inputs: [real('B', 1, 4), real('T', 1)],
    build: ([a, b]) => add(a, b),
  }),
  gradientCase('Add', 'one value twice', { inputs: [real('N', 3)], build: ([a]) => add(a, a) }),
  gradientCase('Sub', 'a column from a matrix', {
    inputs: [real('T', 4), real('T', 1)],
    build: ([a, b]) => sub(a, b),
  }),
  gradientCase('Mul', 'a scalar', { inputs: [real('T', 4), real(1)], build: ([a, b]) => mul(a, b) }),
  gradientCase('Mul', 'both broadcast', {
    inputs: [real('B', 1, 4), real('T', 1)],
    build: ([a, b]) => mul(a, b),
  }),
  gradientCase('Mul', 'a square', { inputs: [real('N')], build: ([a]) => mul(a, a) }),
  gradientCase('Div', 'a row below a matrix', {
    inputs: [real('B', 'T', 4), positive(4)],
    build: ([a, b]) => div(a, b),
  }),
  gradientCase('Div', 'a column over a matrix', {
    inputs: [real('T', 1), positive('T', 4)],
    build: ([a, b]) => div(a, b),
  }),
  gradientCase('Neg', '', { inputs: [real('N', 3)], build: ([a]) => neg(a) }),
  gradientCase('Exp', '', { inputs: [real('N', 3)], build: ([a]) => exp(a) }),
  gradientCase('Log', '', { inputs: [positive('N', 3)], build: ([a]) => log(a) }),
  gradientCase('Sqrt', '', { inputs: [positive('N', 3)], build: ([a]) => sqrt(a) }),
  gradientCase('AddMask', '', {
    inputs: [real('B', 2, 'T', 3), constant(['B', 1, 1, 3], [0, -0.5, 1, 0.25, 0, -1])],
    build: ([scores, mask]) => addMask(scores, mask),
  }),
]

const layout = [
  gradientCase('Reshape', 'two symbols joined', {
    inputs: [real('B', 'T', 6)],
    build: ([x]) => reshape(x, [product(['B', 'T']), 6]),
  }),
  gradientCase('Reshape', 'two symbols apart, one inferred', {
    inputs: [real('B', 2, 'T', 3)],
    build: ([x]) => reshape(x, ['B', -1, 3]),
  }),
  gradientCase('Reshape', 'an axis split and joined', {
    inputs: [real('N', 12)],
    build: ([x]) => reshape(reshape(x, ['N', 2, 3, 2]), ['N', 6, 2]),
  }),
  gradientCase('Flatten', 'two symbols on each side', {
    inputs: [real('B', 'T', 2, 'N')],
    build: ([x]) => flatten(x, 2),
  }),
  gradientCase('Transpose', 'five axes', {
    inputs: [real('B', 'T', 2, 3, 4)],
    build: ([x]) => mul(transpose(x, [0, 2, 3, 1, 4]), transpose(x, [0, 2, 3, 1, 4])),
  }),
  gradientCase('Transpose', 'no inverse of itself', {
    inputs: [real('B', 'T', 4)],
    build: ([x]) => transpose(x, [1, 2, 0]),
  }),
  gradientCase('Split', 'three equal parts', {
    inputs: [real('B', 6, 2)],
    build([x]) {
      const [first, second, third] = split(x, 1, 3)
      return [exp(first as Value), mul(second as Value, third as Value)]
    },
  }),
  gradientCase('Split', 'parts of different lengths', {
    inputs: [real('N', 6)],
    build([x]) {
      const [first, second, third] = splitSizes(x, -1, [1, 3, 2])
      return [exp(first as Value), exp(second as Value), mul(third as Value, third as Value)]
    },
  }),
  gradientCase('Concat', 'three parts of different lengths', {
    inputs: [real('B', 'T', 2), real('B', 'P', 2), real('B', 1, 2)],
    build: (parts) => exp(concat(parts, 1)),
  }),
  gradientCase('Concat', 'along the last axis', {
    inputs: [real('N', 'P'), real('N', 'T')],
    build: (parts) => exp(concat(parts, -1)),
  }),
]

const reductions = [
  gradientCase('ReduceSum', 'two axes', {
    inputs: [real('B', 'T', 4)],
    build: ([x]) => reduceSum(mul(x, x), [0, 2]),
  }),
  gradientCase('ReduceSum', 'a mean', { inputs: [real('N', 6)], build: ([x]) => mul(x, meanLastAxis(x)) }),
  gradientCase('ReduceSumSquare', '', {
    inputs: [real('B', 'T', 4)],
    build: ([x]) => mul(x, reduceSumSquare(x)),
  }),
  gradientCase('Expand', '', {
    inputs: [real('T', 1), real('B', 'T', 4)],
    build: ([x, like]) => expandLike(x, like),
  }),
]

const activations = [
  gradientCase('Sigmoid', '', { inputs: [real('N', 3)], build: ([x]) => sigmoid(x) }),
  gradientCase('PreciseSilu', '', { inputs: [real('N', 3)], build: ([x]) => preciseSilu(x) }),
  gradientCase('Silu', '', { dtype: 'float32', inputs: [real('N', 3)], build: ([x]) => silu(x) }),
  gradientCase('Tanh', 'as a soft cap', { inputs: [real('N', 3)], build: ([x]) => softcap(x, 0.8) }),
  gradientCase('GeluTanh', '', { dtype: 'float32', inputs: [real('N', 3)], build: ([x]) => geluTanh(x) }),
  gradientCase('LayerNorm', '', {
    dtype: 'float32',
    inputs: [real('N', 8), positive(8), real(8)],
    build: ([x, weight, bias]) => layerNorm(x, { weight, bias, epsilon: 1e-2 }),
  }),
  gradientCase('Softmax', '', { inputs: [real('B', 'T', 4)], build: ([x]) => softmax(x) }),
  gradientCase('RmsNorm', '', {
    dtype: 'float32',
    inputs: [real('N', 8), positive(8)],
    build: ([x, weight]) => rmsNorm(x, weight, 1e-2),
  }),
  gradientCase('RmsNorm', 'each head', {
    dtype: 'float32',
    inputs: [real('B', 'T', 2, 4), positive(4)],
    build: ([x, weight]) => rmsNorm(x, weight, 1e-6),
  }),
  ...[8, 12].map((width) =>
    gradientCase('Rotary', `two heads of ${width / 2} channels, positions out of order`, {
      dtype: 'float32',
      inputs: [
        real('B', 'T', width),
        integer(['B', 'T'], [0, 1, 2, 3, 4, 3, 0, 5, 1, 2]),
        constant(
          [6, 2],
          Array.from({ length: 12 }, (_, index) => Math.cos(index)),
        ),
        constant(
          [6, 2],
          Array.from({ length: 12 }, (_, index) => Math.sin(index)),
        ),
      ],
      build: ([x, positions, cos, sin]) => rotary(x, 2, { positions, cos, sin }),
    }),
  ),
]

const orientations = [
  { transA: false, transB: false },
  { transA: true, transB: false },
  { transA: false, transB: true },
  { transA: true, transB: true },
]

const products = [
  ...orientations.map(({ transA, transB }) =>
    gradientCase('FusedMatMul', `${transA ? 'Aᵀ' : 'A'}${transB ? 'Bᵀ' : 'B'} times alpha in batches`, {
      inputs: [
        transA ? real('B', 2, 6, 'T') : real('B', 2, 'T', 6),
        transB ? real('B', 2, 4, 6) : real('B', 2, 6, 4),
      ],
      build: ([a, b]) => matmul(a, b, { transA, transB, alpha: -0.7 }),
    }),
  ),
  gradientCase('MatmulAdd', 'onto another product', {
    inputs: [real('N', 6), real(4, 6), real('N', 4)],
    build: ([a, b, c]) => matmulAdd(a, b, c),
  }),
  gradientCase('FusedMatMul', 'one matrix for a batch', {
    inputs: [real('B', 'T', 6), real(4, 6)],
    build: ([a, b]) => matmul(a, b, { transB: true }),
  }),
  gradientCase('FusedMatMul', 'batch axes broadcast on both sides', {
    inputs: [real('B', 1, 'T', 6), real(3, 6, 4)],
    build: ([a, b]) => matmul(a, b),
  }),
]

/** Slots of two sequences of 5 and 2 rows in blocks [2, 3] and [2, 2]; 7 marks padding. */
const slots = [integer(['B', 3], [0, 1, 2, 5, 6, 7]), integer(['B', 2], [3, 4, 7, 7])] as const
const rows = integer(['N'], [0, 1, 2, 6, 7, 3, 4])
/** Blocks [2, 3] and [2, 2] that both have rows 0 and 2; the second place of the others is behind the ten slots. */
const repeatedSlots = [integer(['B', 3], [0, 1, 2, 3, 4, 5]), integer(['B', 2], [6, 2, 7, 0])] as const
const repeatedRows = integer([2, 'N'], [0, 1, 2, 3, 4, 5, 6, 9, 10, 7, 10, 10, 10, 10])
/** Row 1 stands in four slots, of which one is among `rows`; rows 0 and 2 in two and one. */
const sharedSlots = [integer(['B', 3], [0, 1, 1, 1, 2, 7]), integer(['B', 2], [1, 0, 7, 7])] as const
const sharedRows = integer([1, 'N'], [0, 1, 4, 10, 10, 10, 10])
const furtherSlots = integer(['M', 'R'], [2, 7, 3, 10, 6, 10])
const sharedPlaces = integer(['N'], [1, 0, 2, 2, 2, 2, 2])
const sharedCases = [...sharedSlots, sharedRows, furtherSlots, sharedPlaces] as const
/** Two causal masks over 5 positions, one below the other. */
const causalMask = constant(
  ['2*T', 'T'],
  Array.from({ length: 50 }, (_, at) => (at % 5 > Math.floor(at / 5) % 5 ? -1e9 : 0)),
)

const beyondBounds = fixed([-3.5, 0, 3.5, 0], [4])

const sinksOfQueries = constant(
  ['B', 2, '2*T', 1],
  Array.from({ length: 40 }, (_, at) => Math.sin(at)),
)

/** Sequences of four and five tokens with two in common, in blocks of up to two queries. */
const blockInputs = [
  integer(
    [4, blockColumns.length],
    [...[0, 2, 0, 2, 4, 6, 0], ...[2, 4, 0, 4, 2, 6, 0], ...[4, 6, 4, 8, 2, 6, 0], ...[6, 7, 4, 9, 0, 5, 1]],
  ),
  integer([9], [0, 1, 2, 3, 0, 1, 4, 5, 6]),
  integer(['N'], [0, 1, 2, 3, 4, 5, 6]),
  constant([2, 6], [0, 0, 0, 0, 0, -1e9, 0, 0, 0, 0, 0, 0]),
] as const

const twoHeads = (
  [table, keyRows, places, mask]: readonly [Value, Value, Value, Value],
  softcap: number | null,
): { blocks: QueryBlocks; kvHeads: number; headDim: number; scores: ScoreRule } => ({
  blocks: { table, keyRows, places, mask },
  // Scale and scale over cap are exact in f32, in which the product's factor is kept.
  kvHeads: 2,
  headDim: 2,
  scores: { scale: 0.75, softcap },
})

/**
 * Seven rows in two sequences that share the first two: the rows one and two before each, 7 where there is none; the slots
 * that read each of the others, and those that read the first two.
 */
const rowsBefore = [
  integer(['N'], [7, 0, 1, 2, 1, 4, 5]),
  integer(['N'], [7, 7, 0, 1, 0, 1, 4]),
  integer([2, 'N'], [14, 14, 3, 14, 5, 6, 14, 14, 14, 14, 14, 13, 14, 14]),
  integer([4, 'R'], [1, 2, 9, 4, 11, 10, 14, 12]),
  integer(['N'], [0, 1, 2, 2, 2, 2, 2]),
] as const

const composites = [
  gradientCase('ReluSquared', 'on both sides of zero', {
    inputs: [real('N', 6)],
    build: ([x]) => reluSquared(x),
  }),
  gradientCase('ShortConvolution', 'of sequences that share their beginning', {
    inputs: [real('N', 3), real(3, 1, 3), ...rowsBefore],
    build: ([x, weight, one, two, back, slots, places]) => {
      const before = unpackRows(x, { slots: [one, two], rows: back, shared: { slots, places } })
      return exp(shortConvolution([x, ...before], weight))
    },
  }),
  gradientCase('UnpackRows', 'ragged', {
    inputs: [real('N', 3), ...slots, rows],
    build: ([x, first, second, back]) =>
      unpackRows(x, { slots: [first, second], rows: back }).map((block) => exp(block)),
  }),
  gradientCase('PackRows', 'ragged', {
    inputs: [real('B', 3, 4), real('B', 2, 4), ...slots, rows],
    build: ([a, b, first, second, back]) => exp(packRows([a, b], { slots: [first, second], rows: back })),
  }),
  gradientCase('UnpackRows', 'rows in several blocks', {
    inputs: [real('N', 3), ...repeatedSlots, repeatedRows],
    build: ([x, first, second, back]) =>
      unpackRows(x, { slots: [first, second], rows: back }).map((block) => exp(block)),
  }),
  gradientCase('PackRows', 'rows in several blocks', {
    inputs: [real('B', 3, 4), real('B', 2, 4), ...repeatedSlots, repeatedRows],
    build: ([a, b, first, second, back]) => exp(packRows([a, b], { slots: [first, second], rows: back })),
  }),
  gradientCase('UnpackRows', 'rows that many share', {
    inputs: [real('N', 3), ...sharedCases],
    build: ([x, first, second, back, slots, places]) =>
      unpackRows(x, { slots: [first, second], rows: back, shared: { slots, places } }).map((block) =>
        exp(block),
      ),
  }),
  gradientCase('PackRows', 'rows that many share', {
    inputs: [real('B', 3, 4), real('B', 2, 4), ...sharedCases],
    build: ([a, b, first, second, back, slots, places]) =>
      exp(packRows([a, b], { slots: [first, second], rows: back, shared: { slots, places } })),
  }),
  gradientCase('Attention', 'two query heads per key head', {
    inputs: [real('B', 2, '2*T', 3), real('B', 2, 'T', 3), real('B', 2, 'T', 3), causalMask],
    build: ([queries, keys, values, mask]) =>
      attention({ queries, keys, values, mask, scores: { scale: 0.6, softcap: null }, sinks: null }),
  }),
  gradientCase('Attention', 'capped scores', {
    inputs: [real('B', 2, '2*T', 3), real('B', 2, 'T', 3), real('B', 2, 'T', 3), causalMask],
    build: ([queries, keys, values, mask]) =>
      attention({ queries, keys, values, mask, scores: { scale: 0.6, softcap: 1.5 }, sinks: null }),
  }),
  gradientCase('Attention', 'sinks', {
    inputs: [real('B', 2, '2*T', 3), real('B', 2, 'T', 3), real('B', 2, 'T', 3), causalMask, sinksOfQueries],
    build: ([queries, keys, values, mask, sinks]) =>
      attention({ queries, keys, values, mask, scores: { scale: 0.6, softcap: null }, sinks }),
  }),
  gradientCase('BlockwiseAttention', 'a shared prefix', {
    inputs: [real('N', 8), real('N', 4), real('N', 4), ...blockInputs],
    build: ([queries, keys, values, ...blocks]) =>
      blockwiseAttention({ queries, keys, values, ...twoHeads(blocks, null), sinks: null }),
  }),
  gradientCase('BlockwiseAttention', 'capped scores', {
    inputs: [real('N', 8), real('N', 4), real('N', 4), ...blockInputs],
    build: ([queries, keys, values, ...blocks]) =>
      blockwiseAttention({ queries, keys, values, ...twoHeads(blocks, 1.5), sinks: null }),
  }),
  gradientCase('BlockwiseAttention', 'sinks', {
    inputs: [real('N', 8), real('N', 4), real('N', 4), ...blockInputs, constant([4], [-0.5, 2, 0.25, 1])],
    build: ([queries, keys, values, table, keyRows, places, mask, sinks]) =>
      blockwiseAttention({
        queries,
        keys,
        values,
        ...twoHeads([table, keyRows, places, mask], null),
        sinks: forEachRow(sinks, queries),
      }),
  }),
  gradientCase('Swiglu', '', {
    dtype: 'float32',
    inputs: [real('N', 4), real('N', 4)],
    build: ([gate, up]) => swiglu(gate, up),
  }),
  gradientCase('ClampedSwiglu', 'numbers on both sides of the bounds', {
    dtype: 'float32',
    inputs: [real('N', 4), real('N', 4)],
    // Far from the bounds on either side, where there is no slope to compare with.
    build: ([gate, up]) =>
      clampedSwiglu(add(gate, beyondBounds), add(up, beyondBounds), { limit: 1.75, alpha: 1.702 }),
  }),
]

const vocabulary = 9
const frozenTable = Array.from({ length: vocabulary * 6 }, (_, index) => Math.sin(index + 1))
const targets = integer(['N'], [3, 0, 8, 8, 1, 5, 2])
const inSlices = (table: Value, sizes: readonly number[]): Vocabulary => ({
  slices: splitSizes(table, 0, sizes),
  rows: (ids) => gather(table, ids),
})
const headInputs = [real('N', 6), real(vocabulary, 6), targets] as const

const headCases = [
  gradientCase('VocabularyHead', 'log-probability', {
    dtype: 'float32',
    inputs: headInputs,
    build: ([hidden, table, ids]) => vocabularyHead({ hidden, table, targets: ids }).logprob,
  }),
  gradientCase('VocabularyHead', 'entropy', {
    inputs: headInputs,
    build: ([hidden, table, ids]) => vocabularyHead({ hidden, table, targets: ids }).entropy,
  }),
  gradientCase('VocabularyHead', 'bent logits', {
    dtype: 'float32',
    inputs: [...headInputs, constant([1], [1.25])],
    build([hidden, table, ids, factor]) {
      const logitCap = { cap: 1.5, factor }
      const { logprob, entropy } = vocabularyHead({ hidden, table, targets: ids, logitCap })
      return [logprob, entropy]
    },
  }),
  gradientCase('VocabularyHead', 'frozen table', {
    inputs: [real('N', 6), constant([vocabulary, 6], frozenTable), targets],
    build([hidden, table, ids]) {
      const { logprob, entropy } = vocabularyHead({ hidden, table, targets: ids })
      return [logprob, entropy]
    },
  }),
  ...(['three slices', 'bent logits'] as const).map((name) =>
    gradientCase('StreamedHead', name, {
      dtype: 'float32',
      inputs: [real('N', 6), constant([vocabulary, 6], frozenTable), targets, constant([1], [1.25])],
      build([hidden, table, ids, factor]) {
        const { slices } = inSlices(table, [4, 4, 1])
        const logitCap = name === 'bent logits' ? { logitCap: { cap: 1.5, factor } } : {}
        const sliced = { slices, rows: (wanted: Value) => slicedRows(slices, wanted) }
        const { logprob, entropy } = vocabularyHead({ hidden, table: sliced, targets: ids, ...logitCap })
        return [logprob, entropy]
      },
    }),
  ),
  gradientCase('SlicedHead', 'three slices', {
    inputs: [real('N', 6), constant([vocabulary, 6], frozenTable), targets],
    build: ([hidden, table, ids]) =>
      slicedHead({ hidden, table: inSlices(table, [4, 4, 1]), targets: ids }).logprob,
  }),
  gradientCase('SlicedHead', 'bent logits', {
    dtype: 'float32',
    inputs: [real('N', 6), constant([vocabulary, 6], frozenTable), targets, constant([1], [1.25])],
    build([hidden, table, ids, factor]) {
      const logitCap = { cap: 1.5, factor }
      return slicedHead({ hidden, table: inSlices(table, [5, 4]), targets: ids, logitCap }).logprob
    },
  }),
  gradientCase('VocabularyHead', 'both', {
    dtype: 'float32',
    inputs: headInputs,
    build([hidden, table, ids]) {
      const { logprob, entropy } = vocabularyHead({ hidden, table, targets: ids })
      return [logprob, entropy]
    },
  }),
]

const threeOfEach = integer(['N', 3], [0, 8, 3, 1, 2, 3, 7, 6, 5, 0, 1, 0, 4, 8, 2, 5, 5, 1, 3, 0, 8])
const alternativesCases = (['one slice', 'three slices', 'bent logits'] as const).map((name) =>
  gradientCase('AlternativeLogits', name, {
    dtype: 'float32',
    inputs: [
      real('N', 6),
      constant([vocabulary, 6], frozenTable),
      targets,
      threeOfEach,
      constant([1], [1.25]),
    ],
    build([hidden, table, ids, alternatives, factor]) {
      const { slices } = name === 'one slice' ? { slices: [table] } : inSlices(table, [4, 4, 1])
      const logitCap = name === 'bent logits' ? { logitCap: { cap: 1.5, factor } } : {}
      const sliced = { slices, rows: (wanted: Value) => slicedRows(slices, wanted) }
      const inputs = { hidden, table: sliced, targets: ids, ...logitCap }
      return alternativesHead(inputs, alternatives, vocabularyHead(inputs).logTotal)
    },
  }),
)

export const gradientCases: readonly GradientCase[] = [
  ...arithmetic,
  ...layout,
  ...reductions,
  ...activations,
  ...products,
  ...composites,
  ...deltaCases,
  ...expertCases,
  ...headCases,
  ...alternativesCases,
]
