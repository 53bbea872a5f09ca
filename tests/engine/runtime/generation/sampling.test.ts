import { describe, expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { SamplingOptions } from '#engine/policy.ts'
import { Sampler, weighLogits } from '#engine/runtime/sampling.ts'
import { distribution } from './distribution.ts'

describe('what is drawn from', () => {
  const off = { repetitionPenalty: 1, suppressed: [], temperature: 1, topK: 0, topP: 1, minP: 0 }

  test('the repetition penalty lowers positive and negative logits once per id', () => {
    const { scores } = distribution([2, -2, 1, 4], [0, 1, 1, 0], { ...off, repetitionPenalty: 2 })
    for (const [id, score] of [1, -4, 1, 4].entries()) expect(scores[id]).toBeCloseTo(score, 12)
  })

  test('top-k acts on penalised scores, top-p on what top-k kept, min-p on what top-p kept', () => {
    const logits = [0.5, 0.2, 0.15, 0.1, 0.05].map(Math.log)
    const kept = (options: Partial<typeof off>) =>
      [...distribution(logits, [0], { ...off, ...options }).probabilities.entries()].flatMap(([id, p]) =>
        p > 0 ? [id] : [],
      )
    // log 0.5 is −0.69; five times that is −3.47, below all others.
    expect(kept({ repetitionPenalty: 5, topK: 4 })).toEqual([1, 2, 3, 4])
    // Of the three kept by top-k, 0.5 alone has 59 % of the mass, with 0.2 82 %.
    expect(kept({ topK: 3, topP: 0.58 })).toEqual([0])
    expect(kept({ topK: 3, topP: 0.6 })).toEqual([0, 1])
    expect(kept({ topP: 0.9, minP: 0.25 })).toEqual([0, 1, 2])
    expect(kept({ minP: 0.95, topP: 0.01 })).toEqual([0])
  })
})

describe('weighLogits', () => {
  const weigh = (logits: readonly number[], seen: readonly number[], penalty: number) => {
    const weights = new Float64Array(logits.length)
    return { ...weighLogits(weights, logits, seen, penalty), weights: [...weights] }
  }

  test('the total is that of the logits as they were', () => {
    const logTotal = Math.log(Math.exp(2) + Math.exp(-2) + Math.exp(1))
    for (const penalty of [1, 2, 0.5])
      expect(weigh([2, -2, 1], [0, 1], penalty).logTotal).toBeCloseTo(logTotal, 12)
  })

  test('what a penalty below 1 lifts is the new largest, however far', () => {
    expect(weigh([3000, 2900, 0], [0], 0.5)).toEqual({ offset: 6000, logTotal: 3000, weights: [1, 0, 0] })
    const { offset, weights } = weigh([3, 2], [1], 0.5)
    expect(offset).toBe(4)
    expect(weights).toEqual([expect.closeTo(Math.exp(-1), 12), 1])
  })

  test('tokens far below the largest are weighed by exp in f64', () => {
    expect(weigh([0, -300], [], 1).weights[1]).toBe(Math.exp(-300))
  })
})

const plain: SamplingOptions = {
  greedy: false,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  minNewTokens: 0,
  maxNewTokens: 10,
  stopIds: [],
  stopStrings: [],
}

/** Before the first token of a completion. */
const start = { seen: [], generated: 0 }

function softmax(logits: ArrayLike<number>, temperature: number): Float32Array {
  const values = Array.from(logits, (logit) => logit / temperature)
  const largest = Math.max(...values)
  const total = values.reduce((sum, value) => sum + Math.exp(value - largest), 0)
  return Float32Array.from(values, (value) => Math.exp(value - largest) / total)
}

describe('Sampler', () => {
  test('inverts the cumulative distribution in id order', () => {
    const sampler = new Sampler(4, plain)
    const probabilities = Float32Array.of(0.25, 0, 0.5, 0.25)
    const ids = [0, 0.2499, 0.25, 0.7499, 0.75, 0.9999].map(
      (u) => sampler.fromProbabilities(probabilities, start, u).id,
    )
    expect(ids).toEqual([0, 0, 2, 2, 3, 3])
  })

  test('takes the last possible token when rounding leaves the sum short', () => {
    const sampler = new Sampler(4, plain)
    expect(sampler.fromProbabilities(Float32Array.of(0.5, 0.49, 0, 0), start, 1).id).toBe(1)
  })

  test('never draws a token of probability 0', () => {
    expect(new Sampler(3, plain).fromProbabilities(Float32Array.of(0, 1, 0), start, 0).id).toBe(1)
  })

  test('draws tokens as often as their probabilities say', () => {
    const probabilities = softmax([0.3, 1.2, -0.5, 2, 0], 0.8)
    const sampler = new Sampler(5, { ...plain, temperature: 0.8 })
    const stream = randomStream(3)
    const counts = [0, 0, 0, 0, 0]
    const draws = 20_000
    for (let i = 0; i < draws; i++)
      counts[sampler.fromProbabilities(probabilities, start, stream.uniformAt(i)).id]!++
    for (const [id, count] of counts.entries()) {
      const deviation = Math.sqrt((probabilities[id]! * (1 - probabilities[id]!)) / draws)
      expect(Math.abs(count / draws - probabilities[id]!)).toBeLessThan(4 * deviation)
    }
  })

  test('records the unfiltered tempered log-probability', () => {
    const logits = Float32Array.of(2, 1, 0, -1)
    const sampling = { ...plain, temperature: 0.5, topK: 2 }
    const expected = Math.log(softmax(logits, 0.5)[0]!)
    const sampler = new Sampler(4, sampling)
    const fromGraph = sampler.fromProbabilities(softmax(logits, 0.5), start, 0.1)
    const tempered = logits.map((logit) => logit / 0.5)
    const fromLogits = sampler.fromLogits(tempered, start, 0.1)
    expect(fromGraph.id).toBe(0)
    expect(fromGraph.logprob).toBeCloseTo(expected, 6)
    expect(fromLogits.id).toBe(0)
    expect(fromLogits.logprob).toBeCloseTo(expected, 6)
  })

  test('greedy takes the lowest of equal ids and reports temperature 1', () => {
    const sampler = new Sampler(4, {
      ...plain,
      greedy: true,
      temperature: 0.01,
      topK: 1,
      repetitionPenalty: 1,
    })
    expect(sampler.temperature).toBe(1)
    expect(sampler.fromProbabilities(Float32Array.of(0.1, 0.4, 0.4, 0.1), start, 0.99)).toEqual({
      id: 1,
      logprob: Math.log(Math.fround(0.4)),
      top: [],
    })
    const logits = Float32Array.of(0, 3, 3, 1)
    const chosen = sampler.fromLogits(logits, start, 0.99)
    expect(chosen.id).toBe(1)
    expect(chosen.logprob).toBeCloseTo(Math.log(softmax(logits, 1)[1]!), 6)
  })

  test.each([
    {},
    { greedy: true },
    { topK: 2 },
    { topP: 0.9 },
    { minP: 0.001 },
    { repetitionPenalty: 1.0001 },
  ])(
    'a stop id is impossible before the minimum length, and log-probabilities stay the raw ones: %j',
    (change) => {
      const logits = Float32Array.of(9, 1, 0)
      const sampler = new Sampler(3, { ...plain, ...change, minNewTokens: 2, stopIds: [0] })
      const probabilities = softmax(logits, 1)
      const given = probabilities.slice()
      const early = { seen: [], generated: 1 }
      for (const choice of [
        sampler.fromLogits(logits, early, 0),
        sampler.fromProbabilities(probabilities, early, 0),
      ]) {
        expect(choice.id).toBe(1)
        expect(choice.logprob).toBeCloseTo(Math.log(given[1]!), 5)
      }
      const late = { seen: [], generated: 2 }
      expect(sampler.fromLogits(logits, late, 0).id).toBe(0)
      expect(sampler.fromProbabilities(probabilities, late, 0).id).toBe(0)
      expect(probabilities).toEqual(given)
    },
  )

  test('before the minimum length the other tokens are drawn in proportion', () => {
    const sampler = new Sampler(4, { ...plain, minNewTokens: 5, stopIds: [1, 1] })
    // Without the second token 0.001, 0.002 and 0.001 are left.
    const probabilities = Float32Array.of(0.001, 0.996, 0.002, 0.001)
    const ids = [0, 0.24, 0.26, 0.74, 0.76, 0.9999].map(
      (u) => sampler.fromProbabilities(probabilities, start, u).id,
    )
    expect(ids).toEqual([0, 0, 2, 2, 3, 3])
  })

  test('before the minimum length also tokens beyond what f32 can hold are drawn', () => {
    const sampler = new Sampler(3, { ...plain, temperature: 0.1, minNewTokens: 1, stopIds: [0] })
    const tempered = Float32Array.of(300, 100, 101)
    expect(softmax(tempered, 1)[2]).toBe(0)
    expect([0.26, 0.28].map((u) => sampler.fromLogits(tempered, start, u).id)).toEqual([1, 2])
  })

  test('asks a pass for the least that will do', () => {
    const wanted = (change: Partial<SamplingOptions>, ...generated: number[]) =>
      new Sampler(3, { ...plain, ...change }).wanted(generated, false)
    expect(wanted({}, 0, 7)).toBe('choice')
    expect(wanted({ greedy: true }, 0, 7)).toBe('best')
    expect(wanted({ greedy: true, minNewTokens: 2, stopIds: [0] }, 1)).toBe('probabilities')
    for (const change of [{ topK: 1 }, { topP: 0.5 }, { minP: 0.5 }])
      expect(wanted(change, 3)).toBe('probabilities')
    expect(wanted({ minNewTokens: 2, stopIds: [0] }, 2, 1)).toBe('probabilities')
    expect(wanted({ minNewTokens: 2, stopIds: [0] }, 2, 3)).toBe('choice')
    expect(wanted({ minNewTokens: 2 }, 0)).toBe('choice')
    // Of a graph that leaves ids out, the likeliest excepted.
    const early = (change: Partial<SamplingOptions>) =>
      new Sampler(3, { ...plain, ...change, minNewTokens: 2, stopIds: [0] }).wanted([2, 1], true)
    expect(early({})).toBe('choice')
    expect(early({ greedy: true })).toBe('probabilities')
    expect(early({ topK: 1 })).toBe('probabilities')
    expect(early({ topLogprobs: 1 })).toBe('probabilities')
    expect(early({ temperature: 0.1 })).toBe('logits')
    const sharp = { temperature: 0.1, minNewTokens: 2, stopIds: [0] }
    expect(wanted(sharp, 1)).toBe('logits')
    expect(wanted(sharp, 2)).toBe('choice')
    expect(wanted({ ...sharp, greedy: true }, 1)).toBe('probabilities')
    expect(wanted({ repetitionPenalty: 2 }, 0)).toBe('logits')
  })

  test('both ways choose the same token under every filter', () => {
    const random = new SequentialRandom(randomStream(17))
    for (let round = 0; round < 400; round++) {
      const size = 2 + random.integer(300)
      const spread = 1 + 3 * random.uniform()
      const logits = Float32Array.from({ length: size }, () => spread * random.normal())
      const sampling = {
        ...plain,
        temperature: 0.3 + random.uniform(),
        topK: random.uniform() < 0.5 ? 0 : 1 + random.integer(size),
        topP: random.uniform() < 0.5 ? 1 : random.uniform(),
        minP: random.uniform() < 0.5 ? 0 : 0.2 * random.uniform(),
      }
      const sampler = new Sampler(size, sampling)
      const uniform = random.uniform()
      const fromGraph = sampler.fromProbabilities(softmax(logits, sampling.temperature), start, uniform)
      const tempered = logits.map((logit) => logit / sampling.temperature)
      const fromLogits = sampler.fromLogits(tempered, start, uniform)
      expect(fromGraph.id).toBe(fromLogits.id)
      expect(fromGraph.logprob).toBeCloseTo(fromLogits.logprob, 5)
    }
  })

  test('says so when the model returns no numbers', () => {
    const sampler = new Sampler(2, plain)
    expect(() => sampler.fromProbabilities(Float32Array.of(NaN, NaN), start, 0.5)).toThrow(
      'no finite probability',
    )
    expect(() => sampler.fromLogits(Float32Array.of(NaN, NaN), start, 0.5)).toThrow('no finite probability')
  })
})
