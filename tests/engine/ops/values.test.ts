/** What the ops compute, and what they refuse. Their gradients are in gradients.test.ts. */
import { describe, expect, test } from 'vitest'
import { constant, input } from '#engine/graph/value.ts'
import { silu } from '#engine/ops/activation.ts'
import { add, mul, cast } from '#engine/ops/arithmetic.ts'
import type { Value } from '#engine/graph/value.ts'
import { dequantize } from '#engine/ops/blocks.ts'
import { gather, packRows, unpackRows } from '#engine/ops/gather.ts'
import { concat, lengthOf, reshape, splitAt, splitRows, splitSizes, transpose } from '#engine/ops/layout.ts'
import { matmul } from '#engine/ops/matmul.ts'
import { rmsNorm } from '#engine/ops/normalization.ts'
import { meanLastAxis, reduceSum, sumToShape } from '#engine/ops/reduce.ts'
import { slicedHead, type Vocabulary, vocabularyHead } from '#engine/ops/vocabularyHead.ts'
import { dot } from '#engine/runtime/gradientCheck.ts'
import { floats, int64s } from '#engine/runtime/session.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { evaluate } from '../graph/evaluate.ts'
import { largestDifference } from '../runtime/differences.ts'
import { storedIn } from './storedTensor.ts'

const inSlices = (table: Value, slices: readonly Value[]): Vocabulary => ({
  slices,
  rows: (ids) => gather(table, ids),
})

describe('numbers', () => {
  test('silu is x · sigmoid(x)', async () => {
    const { y } = await evaluate({ y: silu(input('x', 'float32', ['N'])) }, { x: [-2, 0, 3] })
    for (const [index, x] of [-2, 0, 3].entries()) expect(y![index]).toBeCloseTo(x / (1 + Math.exp(-x)), 6)
  })

  test('rmsNorm divides by the root of the mean square plus epsilon, then scales', async () => {
    const y = rmsNorm(input('x', 'float32', ['N', 2]), constant([2, 10], [2]), 0.5)
    const { y: found } = await evaluate({ y }, { x: { data: [3, 4, 0, 0], dims: [2, 2] } })
    const root = Math.sqrt((9 + 16) / 2 + 0.5)
    expect(found![0]).toBeCloseTo((2 * 3) / root, 5)
    expect(found![1]).toBeCloseTo((10 * 4) / root, 5)
    expect([found![2], found![3]]).toEqual([0, 0])
  })

  test('packRows takes out what unpackRows put into its blocks; padding is zero', async () => {
    const x = input('x', 'float32', ['N', 2])
    const slots = [input('left', 'int64', ['B', 'T']), input('right', 'int64', ['B'])]
    const map = { slots, rows: input('rows', 'int64', ['N']) }
    const [left, right] = unpackRows(x, map) as [Value, Value]
    const found = await evaluate(
      { 'block 0': left, 'block 1': right, packed: packRows([left, right], map) },
      {
        x: { data: [1, 2, 3, 4, 5, 6], dims: [3, 2] },
        left: int64s(Int32Array.of(2, 0, 3, 3), [2, 2]),
        right: int64s(Int32Array.of(3, 1), [2]),
        rows: int64s(Int32Array.of(1, 5, 0), [3]),
      },
    )
    expect([...found['block 0']!]).toEqual([5, 6, 1, 2, 0, 0, 0, 0])
    expect([...found['block 1']!]).toEqual([0, 0, 3, 4])
    expect([...found['packed']!]).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('splitAt takes a concatenation apart, also where the first part is empty', async () => {
    const [a, b] = [input('a', 'float32', ['N', 'P']), input('b', 'float32', ['N', 'T'])]
    const [first, second] = splitAt(concat([a, b], 1), 1, { at: lengthOf(a, 1), lengths: ['P', 'T'] })
    expect([first.shape, second.shape]).toEqual([a.shape, b.shape])
    const full = { data: [1, 2], dims: [2, 1] }
    const rest = { data: [3, 4, 5, 6], dims: [2, 2] }
    const found = await evaluate({ first, second }, { a: full, b: rest })
    expect([[...found['first']!], [...found['second']!]]).toEqual([full.data, rest.data])
    const empty = await evaluate({ first, second }, { a: floats(new Float32Array(0), [2, 0]), b: rest })
    expect([[...empty['first']!], [...empty['second']!]]).toEqual([[], rest.data])
  })

  test('splitRows takes its first two lengths from another value', async () => {
    const x = input('x', 'float32', ['B*T', 2])
    const y = splitRows(x, input('positions', 'int64', ['B', 'T']))
    expect(y.shape).toEqual(['B', 'T', 2])
    const first = reduceSum(y, [1]) // [B, 1, 2]: tells [2, 3] from [3, 2]
    const rows = { data: Array.from({ length: 12 }, (_, i) => i), dims: [6, 2] }
    const found = await evaluate({ first }, { x: rows, positions: int64s(new Int32Array(6), [2, 3]) })
    expect([...found['first']!]).toEqual([6, 9, 24, 27])
  })

  test('the vocabulary head stays exact for logits far apart', async () => {
    const head = vocabularyHead({
      hidden: input('hidden', 'float32', ['N', 1]),
      table: constant([0, 1, 2, 3], [4, 1]),
      targets: input('targets', 'int64', ['N']),
    })
    const hidden = [100, -100, 0.5]
    const found = await evaluate(
      { ...head },
      { hidden: { data: hidden, dims: [3, 1] }, targets: int64s(Int32Array.of(0, 0, 2), [3]) },
    )
    const expected = hidden.map((h, row) => {
      const weights = [0, 1, 2, 3].map((id) => Math.exp(h * id - Math.max(0, 3 * h)))
      const total = weights.reduce((sum, weight) => sum + weight, 0)
      const logprobs = [0, 1, 2, 3].map((id) => h * id - Math.max(0, 3 * h) - Math.log(total))
      const entropy = logprobs.reduce((sum, logprob) => sum - Math.exp(logprob) * logprob, 0)
      return { logprob: logprobs[[0, 0, 2][row]!]!, entropy }
    })
    expected.forEach(({ logprob, entropy }, row) => {
      expect(Math.abs(found['logprob']![row]! - logprob)).toBeLessThan(5e-5)
      expect(Math.abs(found['entropy']![row]! - entropy)).toBeLessThan(5e-5)
    })
  })

  test.each([0, 1, 2])(
    'entropies of a large vocabulary are exact to 1e-5 (common part of the logits: %s)',
    async (shift) => {
      const [rows, width, vocabulary] = [4, 64, 49_152]
      const random = new SequentialRandom(randomStream(3, shift))
      const common = Float64Array.from({ length: width }, () => shift * random.normal())
      const table = Float32Array.from(
        { length: vocabulary * width },
        (_, i) => random.normal() + common[i % width]!,
      )
      const hidden = Float32Array.from(
        { length: rows * width },
        (_, i) => (3 * random.normal() + common[i % width]!) / Math.sqrt(width),
      )
      const slices = Array.from({ length: vocabulary / 2048 }, (_, s) =>
        input(`slice ${s}`, 'float32', [2048, width]),
      )
      const head = {
        hidden: input('hidden', 'float32', ['N', width]),
        table: input('table', 'float32', [vocabulary, width]),
        targets: input('targets', 'int64', ['N']),
      }
      const [whole, sliced] = [
        vocabularyHead(head),
        slicedHead({ ...head, table: inSlices(head.table, slices) }),
      ]
      const found = await evaluate(
        { whole: whole.entropy, sliced: sliced.entropy },
        {
          hidden: floats(hidden, [rows, width]),
          table: floats(table, [vocabulary, width]),
          targets: int64s(Int32Array.of(0, 7, 40_000, 49_151), [rows]),
          ...Object.fromEntries(
            slices.map((_, s) => [
              `slice ${s}`,
              floats(table.slice(s * 2048 * width, (s + 1) * 2048 * width), [2048, width]),
            ]),
          ),
        },
      )
      const exact = Float32Array.from({ length: rows }, (_, row) =>
        entropyOf(hidden.subarray(row * width, (row + 1) * width), table),
      )
      expect(largestDifference(found['whole']!, exact)).toBeLessThan(1e-5)
      expect(largestDifference(found['sliced']!, exact)).toBeLessThan(1e-5)
    },
  )

  test.each([null, 1.5])('a head in slices is the whole one (soft cap: %s)', async (cap) => {
    const numbers = (count: number, factor: number) =>
      Array.from({ length: count }, (_, i) => factor * Math.sin(i * i + 1))
    const table = constant(numbers(9 * 4, 3), [9, 4])
    const logitCap = cap === null ? {} : { logitCap: { cap, factor: constant([1.25], [1]) } }
    const head = {
      hidden: input('hidden', 'float32', ['N', 4]),
      table,
      targets: input('targets', 'int64', ['N']),
      ...logitCap,
    }
    const whole = vocabularyHead(head)
    const sliced = slicedHead({ ...head, table: inSlices(table, splitSizes(table, 0, [4, 4, 1])) })
    const found = await evaluate(
      {
        whole: whole.logprob,
        sliced: sliced.logprob,
        entropy: whole.entropy,
        'sliced entropy': sliced.entropy,
      },
      {
        hidden: { data: numbers(6 * 4, 4), dims: [6, 4] },
        targets: int64s(Int32Array.of(0, 3, 4, 7, 8, 1), [6]),
      },
    )
    expect(Math.min(...found['whole']!)).toBeLessThan(cap === null ? -20 : -2)
    expect(largestDifference(found['sliced']!, found['whole']!)).toBeLessThan(2e-5)
    expect(largestDifference(found['sliced entropy']!, found['entropy']!)).toBeLessThan(2e-5)
  })
})

/** In nats, of the softmax of a hidden state's products with the rows of the table; in f64. */
function entropyOf(hidden: Float32Array, table: Float32Array): number {
  const logits = Float64Array.from({ length: table.length / hidden.length }, (_, id) =>
    dot(hidden, table.subarray(id * hidden.length, (id + 1) * hidden.length)),
  )
  const largest = logits.reduce((a, b) => Math.max(a, b))
  const total = logits.reduce((sum, z) => sum + Math.exp(z - largest), 0)
  const normalizer = largest + Math.log(total)
  return logits.reduce((sum, z) => sum + Math.exp(z - normalizer) * (normalizer - z), 0)
}

const stored = storedIn(temporaryFolder())

describe('stored weights', () => {
  const scales = (shape: readonly number[], values: readonly number[]): Value => constant(values, shape)

  test('blocks of bytes: (value − zero) · the scale of its block', async () => {
    const bytes = Uint8Array.from({ length: 64 }, (_, index) => 100 + index)
    const blocks = stored('bytes', 'uint8', [2, 32], bytes)
    const zeros = stored('zeros of bytes', 'uint8', [2, 2], Uint8Array.of(128, 128, 128, 128))
    const factors = [0.5, 2, -1, 0]
    const y = dequantize({ blocks, scales: scales([2, 2], factors), zeros, blockSize: 16 })
    const { y: found } = await evaluate({ y })
    const expected = [...bytes].map((byte, index) => (byte - 128) * factors[index >> 4]!)
    expect(largestDifference(found!, expected)).toBe(0)
  })

  test('blocks of half bytes: the lower half comes first', async () => {
    const bytes = Uint8Array.from({ length: 16 }, (_, index) => index | ((15 - index) << 4))
    const blocks = stored('halves', 'uint4', [1, 32], bytes)
    const zeros = stored('zeros of halves', 'uint4', [1, 2], Uint8Array.of(0x88))
    const y = dequantize({ blocks, scales: scales([1, 2], [1, -0.25]), zeros, blockSize: 16 })
    const { y: found } = await evaluate({ y })
    const halves = [...bytes].flatMap((byte) => [byte & 15, byte >> 4])
    const expected = halves.map((half, index) => (half - 8) * (index < 16 ? 1 : -0.25))
    expect(largestDifference(found!, expected)).toBe(0)
  })

  test('16 bits widen exactly', async () => {
    const half = stored('half', 'float16', [3], new Uint8Array(Uint16Array.of(0x3c00, 0xc100, 0x0001).buffer))
    const brain = stored(
      'brain',
      'bfloat16',
      [3],
      new Uint8Array(Uint16Array.of(0x3f80, 0xc020, 0x3e20).buffer),
    )
    const found = await evaluate({ fromHalf: cast(half, 'float32'), fromBrain: cast(brain, 'float32') })
    expect([...found['fromHalf']!]).toEqual([1, -2.5, 2 ** -24])
    expect([...found['fromBrain']!]).toEqual([1, -2.5, 0.15625])
  })
})

describe('refusals', () => {
  const [x, w] = [input('x', 'float32', ['N', 6]), input('w', 'float32', [4, 5])]

  test.each([
    ['a product of unlike inner dimensions', () => matmul(x, w), 'Cannot multiply [N, 6] by [4, 5].'],
    ['a product with a vector', () => matmul(x, input('v', 'float32', [6])), '[6]'],
    [
      'mixed types',
      () => mul(x, input('d', 'float64', ['N', 6])),
      'Mul needs one dtype, got float32 and float64.',
    ],
    ['shapes that do not broadcast', () => add(x, w), 'Shapes [N, 6] and [4, 5] do not broadcast.'],
    ['a reshape to another size', () => reshape(x, ['N', 5]), 'Cannot reshape [N, 6] to [N, 5].'],
    [
      'a reshape with two unknowns',
      () => reshape(input('y', 'float32', ['M', 6]), ['B', -1]),
      'Cannot reshape',
    ],
    [
      'a reshape that tells two symbols apart',
      () => reshape(input('y', 'float32', ['B*T', 6]), ['T', 'B', 6]),
      'two dimensions are unknown',
    ],
    [
      'a mean over a symbol',
      () => meanLastAxis(transpose(x, [1, 0])),
      'Expected a fixed last dimension, got [6, N].',
    ],
    ['a cotangent of another shape', () => sumToShape(x, ['N', 5]), 'does not fit'],
    ['nothing to concatenate', () => concat([], 0), 'Expected something to concatenate.'],
  ] as const)('%s', (_, build, message) => {
    expect(build).toThrow(message)
  })

  test('shapes follow from the operands', () => {
    expect(matmul(x, input('t', 'float32', ['B', 1, 4, 6]), { transB: true }).shape).toEqual(['B', 1, 'N', 4])
    expect(transpose(input('y', 'float32', ['B', 'T', 3]), [2, 0, 1]).shape).toEqual([3, 'B', 'T'])
    expect(reshape(input('y', 'float32', ['B', 'T', 6]), [-1, 3]).shape).toEqual(['2*B*T', 3])
  })
})
