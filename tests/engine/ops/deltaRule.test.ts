/** The gated delta rule beside its recurrence, position by position in f64. */
import { describe, expect, test } from 'vitest'
import { input } from '#engine/graph/value.ts'
import { gatedDeltaRule, unitLowerInverse } from '#engine/ops/deltaRule.ts'
import { floats, int64s } from '#engine/runtime/session.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { evaluate } from '../graph/evaluate.ts'
import { largestDifference, relativeError } from '../runtime/differences.ts'

interface Head {
  readonly queries: readonly (readonly number[])[]
  readonly keys: readonly (readonly number[])[]
  readonly values: readonly (readonly number[])[]
  readonly decays: readonly number[]
  readonly strengths: readonly number[]
}

/** S ← α·S + k·(β·(v − (α·S)ᵀk))ᵀ and o = Sᵀq. */
function recurrence({ queries, keys, values, decays, strengths }: Head, state: number[][]) {
  const mixed = queries.map((query, at) => {
    const [key, value] = [keys[at]!, values[at]!]
    state = state.map((row) => row.map((cell) => cell * Math.exp(decays[at]!)))
    const answer = value.map((_, column) => key.reduce((sum, k, row) => sum + k * state[row]![column]!, 0))
    state = state.map((row, index) =>
      row.map((cell, column) => cell + key[index]! * strengths[at]! * (value[column]! - answer[column]!)),
    )
    return value.map((_, column) => query.reduce((sum, q, row) => sum + q * state[row]![column]!, 0))
  })
  return { mixed, state }
}

function randomHead(random: SequentialRandom, length: number, [K, V]: readonly [number, number]): Head {
  const rows = (width: number) =>
    Array.from({ length }, () => Array.from({ length: width }, () => random.normal()))
  const unit = (row: readonly number[]) => row.map((x) => x / Math.hypot(...row))
  return {
    queries: rows(K),
    keys: rows(K).map(unit),
    values: rows(V),
    decays: Array.from({ length }, () => -(random.uniform() ** 3)),
    strengths: Array.from({ length }, () => random.uniform()),
  }
}

async function computed(head: Head, initial: readonly (readonly number[])[], chunk: number) {
  const length = head.queries.length
  const [K, V] = [head.keys[0]!.length, head.values[0]!.length]
  const count = Math.ceil(length / chunk)
  const padded = (rows: readonly (readonly number[])[], width: number) =>
    floats(
      Float32Array.from(
        [
          ...rows,
          ...Array.from({ length: count * chunk - length }, () => new Array<number>(width).fill(0)),
        ].flat(),
      ),
      [count, 1, chunk, width],
    )
  const { mixed, last } = gatedDeltaRule({
    queries: input('q', 'float32', ['M', 'G', chunk, K]),
    keys: input('k', 'float32', ['M', 'G', chunk, K]),
    values: input('v', 'float32', ['M', 'G', chunk, V]),
    decays: input('g', 'float32', ['M', 'G', chunk, 1]),
    strengths: input('b', 'float32', ['M', 'G', chunk, 1]),
    initial: input('s', 'float32', ['G', K, V]),
    backwards: input('backwards', 'int64', ['M']),
  })
  const found = await evaluate(
    { mixed, last },
    {
      q: padded(head.queries, K),
      k: padded(head.keys, K),
      v: padded(head.values, V),
      g: padded(
        head.decays.map((x) => [x]),
        1,
      ),
      b: padded(
        head.strengths.map((x) => [x]),
        1,
      ),
      s: floats(Float32Array.from(initial.flat()), [1, K, V]),
      backwards: int64s(
        Int32Array.from({ length: count }, (_, at) => count - 1 - at),
        [count],
      ),
    },
  )
  return { mixed: found['mixed']!.subarray(0, length * V), last: found['last']! }
}

describe('the gated delta rule in chunks', () => {
  test.each([
    [1, 4],
    [7, 4],
    [64, 64],
    [150, 32],
    [150, 64],
  ])('%i positions in chunks of %i are the recurrence', async (length, chunk) => {
    const random = new SequentialRandom(randomStream(5, length, chunk))
    const head = randomHead(random, length, [8, 5])
    const initial = Array.from({ length: 8 }, () => Array.from({ length: 5 }, () => random.normal()))
    const expected = recurrence(head, initial)
    const found = await computed(head, initial, chunk)
    expect(relativeError(found.mixed, expected.mixed.flat())).toBeLessThan(2e-6)
    expect(relativeError(found.last, expected.state.flat())).toBeLessThan(2e-6)
  })

  test('keys that are all the same, written at full strength and never forgotten, stay exact', async () => {
    const random = new SequentialRandom(randomStream(6))
    const head = randomHead(random, 128, [8, 5])
    const same: Head = {
      ...head,
      keys: head.keys.map(() => head.keys[0]!),
      decays: head.decays.map(() => 0),
      strengths: head.strengths.map(() => 1),
    }
    const initial = Array.from({ length: 8 }, () => new Array<number>(5).fill(0))
    const found = await computed(same, initial, 64)
    expect(relativeError(found.mixed, recurrence(same, initial).mixed.flat())).toBeLessThan(2e-6)
  })

  test('a whole chunk that is forgotten at once leaves finite numbers', async () => {
    const random = new SequentialRandom(randomStream(7))
    const head = randomHead(random, 96, [4, 4])
    const forgetful: Head = { ...head, decays: head.decays.map((_, at) => (at % 3 === 0 ? -80 : -20)) }
    const initial = Array.from({ length: 4 }, () => new Array<number>(4).fill(1))
    const found = await computed(forgetful, initial, 32)
    const expected = recurrence(forgetful, initial)
    expect(largestDifference(found.mixed, expected.mixed.flat())).toBeLessThan(1e-5)
  })
})

test('unitLowerInverse of ones below the diagonal is the difference of neighbours', async () => {
  const size = 64
  const lower = Array.from({ length: size * size }, (_, at) => Number(at % size < Math.floor(at / size)))
  const { x } = await evaluate(
    { x: unitLowerInverse(input('a', 'float32', ['G', size, size])) },
    { a: { data: lower, dims: [1, size, size] } },
  )
  const expected = lower.map((_, at) => {
    const below = Math.floor(at / size) - (at % size)
    return below === 0 ? 1 : below === 1 ? -1 : 0
  })
  expect(largestDifference(x!, expected)).toBeLessThan(1e-6)
})
