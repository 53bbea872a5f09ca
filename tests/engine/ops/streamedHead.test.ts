/** The head a slice of the vocabulary at a time, where logits are large, alike, or far from the target's. */
import { expect, test } from 'vitest'
import { gradients } from '#engine/ops/gradient.ts'
import { input, type Value } from '#engine/graph/value.ts'
import { slicedRows } from '#engine/ops/frozenMatmul.ts'
import { splitSizes } from '#engine/ops/layout.ts'
import { vocabularyHead, type Vocabulary } from '#engine/ops/vocabularyHead.ts'
import { floats, int64s, Session } from '#engine/runtime/session.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'

const [rows, width, vocabulary] = [5, 12, 31]
const random = new SequentialRandom(randomStream(3))
const normal = (count: number) => Float32Array.from({ length: count }, () => random.normal())
const [hidden, table] = [normal(rows * width), normal(vocabulary * width)]
const targets = Int32Array.from([0, 10, 11, 30, 17])

/** Log-probabilities, entropies and the gradients of both, of hidden states that are so many times as large. */
async function computed(sizes: readonly number[], magnitude: number) {
  const x = input('hidden', 'float32', ['N', width])
  const matrix = input('table', 'float32', [vocabulary, width])
  const slices = sizes.length === 1 ? [matrix] : splitSizes(matrix, 0, sizes)
  const sliced: Vocabulary = { slices, rows: (ids) => slicedRows(slices, ids) }
  const { logprob, entropy } = vocabularyHead({
    hidden: x,
    table: sliced,
    targets: input('targets', 'int64', ['N']),
  })
  const by = (value: Value) =>
    gradients([{ value, cotangent: input('one', 'float32', ['N', 1]) }], [x])[0] as Value
  const program = { logprob, entropy, byLogprob: by(logprob), byEntropy: by(entropy) }
  using session = await Session.create({
    name: 'head',
    program,
    device: { kind: 'cpu', threads: 1, deviceId: 0 },
    purpose: 'learn',
  })
  return await session.run({
    hidden: floats(
      hidden.map((value) => value * magnitude),
      [rows, width],
    ),
    table: floats(table, [vocabulary, width]),
    targets: int64s(targets, [rows]),
    one: floats(new Float32Array(rows).fill(1), [rows, 1]),
  })
}

test.each([1, 30, 1000, 1e-3])('is what the whole head is, of logits around %s', async (magnitude) => {
  const whole = await computed([vocabulary], magnitude)
  const expected = exact(magnitude)
  for (const sizes of [
    [11, 19, 1],
    [1, 30],
    [10, 10, 10, 1],
  ]) {
    const streamed = await computed(sizes, magnitude)
    for (const name of ['logprob', 'entropy', 'byLogprob', 'byEntropy'] as const) {
      const size = Math.max(1, ...Array.from(whole[name]!, Math.abs))
      for (const [at, value] of streamed[name]!.entries())
        expect(Math.abs(value - whole[name]![at]!) / size).toBeLessThan(3e-6)
    }
    for (const [row, { logprob, entropy, largest }] of expected.entries()) {
      // The logits themselves are rounded to f32.
      const limit = 1e-6 + 4 * 2 ** -24 * largest
      expect(Math.abs(streamed['logprob']![row]! - logprob)).toBeLessThan(limit)
      expect(Math.abs(streamed['entropy']![row]! - entropy)).toBeLessThan(limit)
    }
  }
})

/** In f64. */
function exact(magnitude: number) {
  return Array.from({ length: rows }, (_, row) => {
    const logits = Array.from({ length: vocabulary }, (_, id) => {
      let sum = 0
      for (let k = 0; k < width; k++)
        sum += Math.fround(hidden[row * width + k]! * magnitude) * table[id * width + k]!
      return sum
    })
    const largest = Math.max(...logits)
    const total = logits.reduce((sum, z) => sum + Math.exp(z - largest), 0)
    const logprobs = logits.map((z) => z - largest - Math.log(total))
    const entropy = -logprobs.reduce((sum, logp) => sum + Math.exp(logp) * logp, 0)
    return { logprob: logprobs[targets[row]!]!, entropy, largest: Math.max(...logits.map(Math.abs)) }
  })
}
