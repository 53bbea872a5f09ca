/**
 * Products of matrices as large as those of a model with 2,048 channels and 32,000 tokens. On small ones NVIDIA's libraries may choose
 * kernels that are exact, and with the same settings read their factors in TF32 where it counts.
 */
import type { Device } from '#shared/device.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { input } from '#engine/graph/value.ts'
import { mul } from '#engine/ops/arithmetic.ts'
import { matmul } from '#engine/ops/matmul.ts'
import { floats, Session } from '#engine/runtime/session.ts'

/** x W, or x Wᵀ, or xᵀ W, as learning multiplies; [rows, columns] of both as they lie. */
interface ProductCase {
  readonly name: string
  readonly x: readonly [number, number]
  readonly w: readonly [number, number]
  readonly transA?: boolean
  readonly transB?: boolean
}

const hidden = 2048
const vocabulary = 32_000
const tokens = 512
/** Number of rows in products with the vocabulary: fewer, since these take seconds on a software GPU. */
const headTokens = 32

export const productCases: readonly ProductCase[] = [
  { name: 'linear', x: [tokens, hidden], w: [hidden, hidden], transB: true },
  { name: 'gradient of an adapter', x: [tokens, hidden], w: [tokens, 16], transA: true },
  { name: 'head', x: [headTokens, hidden], w: [vocabulary, hidden], transB: true },
]

const samples = 2048

const at = (values: Float32Array | undefined, index: number): number => values?.[index] ?? NaN

/**
 * Measures how far products of a device are from those in f64: root mean square over numbers drawn from the result, each relative to
 * the length of its sum, √Σ (x w)². f32 leaves about 10⁻⁶, factors in TF32 2·10⁻⁴, in bf16 2·10⁻³.
 *
 * W is a column times a row, made on the device: there are hundreds of megabytes of it, and none here.
 */
export async function productError(
  { name, x, w, transA = false, transB = false }: ProductCase,
  seed: number,
  device: Device,
): Promise<number> {
  const random = new SequentialRandom(randomStream(seed, 5))
  const drawn = (length: number) => Float32Array.from({ length }, () => 2 * random.uniform() - 1)
  const [left, column, row] = [drawn(x[0] * x[1]), drawn(w[0]), drawn(w[1])]
  const [a, tall, wide] = [
    input('x', 'float32', x),
    input('column', 'float32', [w[0], 1]),
    input('row', 'float32', [1, w[1]]),
  ]
  const program = { y: matmul(a, mul(tall, wide), { transA, transB }) }
  using session = await Session.create({ name: `product, ${name}`, program, device, purpose: 'learn' })
  const { y } = await session.run({
    x: floats(left, x),
    column: floats(column, [w[0], 1]),
    row: floats(row, [1, w[1]]),
  })
  const [rows, inner] = transA ? [x[1], x[0]] : x
  const columns = transB ? w[0] : w[1]
  let squares = 0
  for (let sample = 0; sample < samples; sample++) {
    const [i, j] = [random.integer(rows), random.integer(columns)]
    let [sum, length] = [0, 0]
    for (let k = 0; k < inner; k++) {
      const factor = at(left, transA ? k * x[1] + i : i * x[1] + k)
      const weight = Math.fround(transB ? at(column, j) * at(row, k) : at(column, k) * at(row, j))
      sum += factor * weight
      length += (factor * weight) ** 2
    }
    squares += (at(y, i * columns + j) - sum) ** 2 / length
  }
  return Math.sqrt(squares / samples)
}
