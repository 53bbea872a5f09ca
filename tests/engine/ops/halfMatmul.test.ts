/** Products with a matrix in 16 bits; on the CPU only f16, of which the runtime makes f32 products with rounded factors. */
import { beforeAll, describe, expect, test } from 'vitest'
import { gradients } from '#engine/ops/gradient.ts'
import { input, type Value } from '#engine/graph/value.ts'
import { cast } from '#engine/ops/arithmetic.ts'
import { halfMatmul } from '#engine/ops/frozenMatmul.ts'
import { floats, Session } from '#engine/runtime/session.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'

const [rows, inputs, outputs] = [4, 48, 24]
const random = new SequentialRandom(randomStream(5))
const uniform = (count: number) => Float32Array.from({ length: count }, () => 2 * random.uniform() - 1)
const matrix = uniform(outputs * inputs)

let session: Session
beforeAll(async () => {
  const x = input('x', 'float32', ['N', inputs])
  const weight = cast(input('w', 'float32', [outputs, inputs]), 'float16')
  const y = halfMatmul(x, weight, { transB: true })
  const [dx] = gradients([{ value: y, cotangent: input('dy', 'float32', ['N', outputs]) }], [x])
  session = await Session.create({
    name: 'product in 16 bits',
    program: { y, dx: dx as Value },
    device: { kind: 'cpu', threads: 1, deviceId: 0 },
    purpose: 'learn',
  })
  return () => session[Symbol.dispose]()
})

/** Σₖ a[row, k] · b(column, k) in f64, and the same of magnitudes. */
function exact(a: Float32Array, width: number, columns: number, at: (column: number, k: number) => number) {
  return Array.from({ length: rows * columns }, (_, index) => {
    const [row, column] = [Math.floor(index / columns), index % columns]
    const terms = Array.from({ length: width }, (_, k) => a[row * width + k]! * at(column, k))
    return { value: terms.reduce((x, y) => x + y), size: terms.reduce((x, y) => x + Math.abs(y), 0) }
  })
}

describe.each([
  ['usual numbers', 1],
  ['numbers beyond the largest of f16', 1e9],
  ['numbers below the smallest of f16', 1e-12],
])('%s', (_, magnitude) => {
  test('product and gradient are those of the rounded factors', async () => {
    const x = uniform(rows * inputs).map((value) => value * magnitude)
    const dy = uniform(rows * outputs).map((value) => value * magnitude)
    const feeds = {
      x: floats(x, [rows, inputs]),
      w: floats(matrix, [outputs, inputs]),
      dy: floats(dy, [rows, outputs]),
    }
    const found = await session.run(feeds)
    const expected = {
      y: exact(x, inputs, outputs, (column, k) => matrix[column * inputs + k]!),
      dx: exact(dy, outputs, inputs, (column, k) => matrix[k * inputs + column]!),
    }
    for (const name of ['y', 'dx'] as const) {
      const errors = expected[name].map(({ value, size }, at) => Math.abs(found[name]![at]! - value) / size)
      expect(Math.max(...errors)).toBeLessThan(2 ** -9) // two roundings to 11 bits, and one of the result
      expect(Math.max(...errors)).toBeGreaterThan(0) // it is in 16 bits
    }
  })
})

test('a row of zeros stays one', async () => {
  const feeds = {
    x: floats(new Float32Array(rows * inputs), [rows, inputs]),
    w: floats(matrix, [outputs, inputs]),
    dy: floats(new Float32Array(rows * outputs), [rows, outputs]),
  }
  const { y, dx } = await session.run(feeds)
  expect([...y!, ...dx!].every((value) => value === 0)).toBe(true)
})
