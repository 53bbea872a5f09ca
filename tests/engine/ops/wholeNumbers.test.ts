/** Products in whole numbers: what they compute, against the same in f32. */
import { describe, expect, test } from 'vitest'
import { gradients } from '#engine/ops/gradient.ts'
import { constant, input, type Value } from '#engine/graph/value.ts'
import { byteMatmul, floatRows, integerMatmul, roundFewRows, roundRows } from '#engine/ops/frozenMatmul.ts'
import { gather } from '#engine/ops/gather.ts'
import { piece } from '#engine/ops/layout.ts'
import { matmul } from '#engine/ops/matmul.ts'
import { slicedHead, vocabularyHead } from '#engine/ops/vocabularyHead.ts'
import { int8Form } from '#engine/runtime/device.ts'
import { int64s } from '#engine/runtime/session.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { evaluate } from '../graph/evaluate.ts'
import { largestDifference, relativeError } from '../runtime/differences.ts'
import { storedIn } from './storedTensor.ts'

const stored = storedIn(temporaryFolder())

const largest = (x: readonly number[]) => Math.max(...x.map(Math.abs))

describe.each([
  ['their largest magnitudes', roundRows, (x: readonly number[]) => largest(x) / (127 * 254)],
  ['their norms', roundFewRows, (x: readonly number[]) => Math.hypot(...x) / 32_639],
] as const)('a product in whole numbers, rows in parts of %s', (_, round, stepOf) => {
  const [inputs, outputs] = [37, 5]
  // Sums of two products stay below 2¹⁵, which a processor without VNNI needs.
  const weights = Int8Array.from({ length: outputs * inputs }, (_, at) => ((at * 29) % 127) - 63)
  const scales = [1, 0.5, 2, 0.25, 3]
  const multiply = async (rows: readonly (readonly number[])[]) => {
    const rounded = round(input('x', 'float32', ['N', inputs]))
    const w = stored('bytes with signs', 'int8', [inputs, outputs], new Uint8Array(weights.buffer))
    const y = integerMatmul(rounded, w, constant(scales, [outputs]))
    const { y: found } = await evaluate({ y }, { x: { data: rows.flat(), dims: [rows.length, inputs] } })
    return rows.map((_, row) => [...found!.subarray(row * outputs, (row + 1) * outputs)])
  }
  const waves = (size: number) => Array.from({ length: inputs }, (_, at) => Math.sin(at * 7 + 1) * size)
  const spike = waves(0.01).map((value, at) => (at === 11 ? -4e3 : value))

  test('rounds its rows to 16 bits, whatever their sizes, and nothing else', async () => {
    const rows = [waves(1), waves(1e-6), waves(0), waves(3e4), spike, spike.map((value) => -value)]
    const found = await multiply(rows)
    for (const [row, x] of rows.entries()) {
      for (let output = 0; output < outputs; output++) {
        const column = x.map((_, k) => weights[k * outputs + output]! * scales[output]!)
        const exact = column.reduce((sum, weight, k) => sum + weight * x[k]!, 0)
        const most = (stepOf(x) / 2) * column.reduce((sum, weight) => sum + Math.abs(weight), 0)
        // A number of almost 2¹⁶ steps has 7 binary digits behind the point in f32.
        expect(Math.abs(found[row]![output]! - exact)).toBeLessThanOrEqual(most * 1.03)
      }
    }
  })

  test('of a row does not depend on the others, to the bit', async () => {
    const rows = [spike, waves(2), waves(1e-9), waves(500)]
    const together = await multiply(rows)
    for (const [row, x] of rows.entries()) expect(await multiply([x])).toEqual([together[row]])
  })
})

/** The bytes of a matrix [rows, columns] the other way round. */
const turned = (bytes: Int8Array, rows: number, columns: number): Uint8Array =>
  Uint8Array.from(bytes, (_, at) => bytes[(at % rows) * columns + Math.floor(at / rows)]!)

/** Products of signed bytes are wrong on a processor without VNNI, where two of them overflow 16 bits. */
const multipliesBytes = int8Form({ kind: 'cpu', threads: 1, deviceId: 0 }) === 'rows'

describe.skipIf(!multipliesBytes)('a product with a matrix of bytes', () => {
  const [rows, inputs, outputs] = [24, 320, 192]
  const random = new SequentialRandom(randomStream(11))
  const normals = (count: number) => Array.from({ length: count }, () => random.normal())
  const bytes = Int8Array.from({ length: inputs * outputs }, () => Math.floor(255 * random.uniform()) - 127)
  const matrix = {
    columns: stored('matrix of bytes', 'int8', [inputs, outputs], new Uint8Array(bytes.buffer)),
    rows: stored('the same both ways', 'int8', [outputs, inputs], turned(bytes, inputs, outputs)),
    scales: constant(
      Array.from({ length: outputs }, () => 0.001 + random.uniform()),
      [outputs],
    ),
  }
  /** Tokens differ in size by orders of magnitude; one has a channel a hundred times as large as the others. */
  const sized = (values: number[], width: number) =>
    values.map((value, at) => {
      const row = Math.floor(at / width)
      return value * 10 ** ((row % 9) - 6) * (row === 2 && at % width === 7 ? 100 : 1)
    })
  const xData = sized(normals(rows * inputs), inputs)
  const cotangentData = sized(normals(rows * outputs), outputs)
  const x = input('x', 'float32', ['N', inputs])
  const cotangent = input('cotangent', 'float32', ['N', outputs])
  const sides = { whole: byteMatmul(x, matrix), exact: matmul(x, floatRows(matrix), { transB: true }) }
  const both = async (feeds: { readonly x: number[]; readonly cotangent: number[] }) => {
    const program = Object.fromEntries(
      Object.entries(sides).flatMap(([name, value]) => [
        [`${name} product`, value],
        [`${name} gradient`, gradients([{ value, cotangent }], [x])[0] as Value],
      ]),
    )
    const count = feeds.x.length / inputs
    return evaluate(program, {
      x: { data: feeds.x, dims: [count, inputs] },
      cotangent: { data: feeds.cotangent, dims: [count, outputs] },
    })
  }

  test('equals the product with the same numbers in f32, row by row, and so does its gradient', async () => {
    const found = await both({ x: xData, cotangent: cotangentData })
    for (const [part, width] of [
      ['product', outputs],
      ['gradient', inputs],
    ] as const) {
      for (let row = 0; row < rows; row++) {
        const of = (name: string) => found[`${name} ${part}`]!.subarray(row * width, (row + 1) * width)
        expect(relativeError(of('whole'), of('exact'))).toBeLessThan(row === 2 ? 3e-4 : 1e-4)
      }
    }
    // Rounded all the same: one byte alone would be off by a hundred times as much.
    expect(found['whole product']).not.toEqual(found['exact product'])
  })

  test('so does a head whose slices are bytes, with its gradient', async () => {
    const [width, tokens] = [64, 16]
    const weights = Int8Array.from(bytes.subarray(0, 192 * width))
    const table = {
      rows: stored('head of bytes', 'int8', [192, width], new Uint8Array(weights.buffer)),
      scales: constant(
        Array.from({ length: 192 }, () => 0.0005 + 0.002 * random.uniform()),
        [192],
      ),
    }
    const exact = floatRows(table)
    const hidden = input('hidden', 'float32', ['N', width])
    const head = { hidden, targets: input('targets', 'int64', ['N']) }
    const cut = [0, 128].map((first) => {
      const count = first === 0 ? 128 : 64
      const columns = turned(weights.subarray(first * width, (first + count) * width), count, width)
      return {
        rows: piece(table.rows, first, count),
        columns: stored(`slice of bytes from ${String(first)}`, 'int8', [width, count], columns),
        scales: piece(table.scales, first, count),
      }
    })
    const rowsOf = (ids: Value) => gather(exact, ids)
    const ways = {
      exact: vocabularyHead({ ...head, table: exact }),
      whole: vocabularyHead({ ...head, table: { slices: cut, rows: rowsOf } }),
      sliced: slicedHead({ ...head, table: { slices: cut, rows: rowsOf } }),
    }
    const one = input('one', 'float32', ['N', 1])
    const slopeOf = (value: Value) => gradients([{ value, cotangent: one }], [hidden])[0] as Value
    const program = Object.fromEntries(
      Object.entries(ways).flatMap(([way, { logprob, entropy }]) => [
        [`${way} logprob`, logprob],
        [`${way} entropy`, entropy],
        [`${way} slope`, slopeOf(logprob)],
        ...(way === 'sliced' ? [] : [[`${way} entropy slope`, slopeOf(entropy)]]),
      ]),
    ) as Record<string, Value>
    const found = await evaluate(program, {
      hidden: { data: normals(tokens * width), dims: [tokens, width] },
      targets: int64s(
        Int32Array.from({ length: tokens }, (_, token) => 12 * token),
        [tokens],
      ),
      one: { data: new Array<number>(tokens).fill(1), dims: [tokens, 1] },
    })
    for (const way of ['whole', 'sliced']) {
      expect(largestDifference(found[`${way} logprob`]!, found['exact logprob']!)).toBeLessThan(2e-4)
      expect(largestDifference(found[`${way} entropy`]!, found['exact entropy']!)).toBeLessThan(2e-4)
      expect(relativeError(found[`${way} slope`]!, found['exact slope']!)).toBeLessThan(1e-4)
      expect(found[`${way} slope`]).not.toEqual(found['exact slope'])
    }
    expect(relativeError(found['whole entropy slope']!, found['exact entropy slope']!)).toBeLessThan(1e-3)
  })

  test.each([NaN, Infinity, -Infinity])('is no number where a row has %d', async (value) => {
    const bad = (values: number[]) => values.map((own, at) => (at === 5 ? value : own))
    const found = await both({ x: bad(xData), cotangent: bad(cotangentData) })
    for (const part of ['product', 'gradient']) {
      expect(found[`whole ${part}`]![0]).toBeNaN()
      expect(found[`whole ${part}`]!.at(-1)).toBeCloseTo(found[`exact ${part}`]!.at(-1)!, 1)
    }
  })
})
