import { describe, expect, test } from 'vitest'
import { packArray } from '#shared/packedArray.ts'
import { segmentsOf, tokenRows, valuesPresent, type PackedTokens } from '#renderer/parts/tokenRows.ts'

const floats = (...values: readonly number[]) => packArray(Float32Array.from(values))

/** Two turns: prompt of two tokens, two chosen, one answer of the world, one chosen. */
const packed: PackedTokens = {
  ids: packArray(Int32Array.from([10, 11, 12, 13, 14, 15])),
  texts: ['<p>', 'Add', ' 4', '.', 'why', 'so'],
  actionMask: floats(0, 1, 1, 0, 1),
  logprobs: floats(-9, Math.log(0.5), Math.log(0.25), -9, Math.log(1)),
  behaviorLogprobs: floats(-9, Math.log(0.25), Math.log(0.25), -9, Math.log(0.5)),
  referenceLogprobs: null,
  entropies: floats(9, 0.7, NaN, 9, 0),
  advantages: floats(0, 1.5, -1.5, 0, 2),
  rewards: floats(0, 0.5, 0.5, 0, -1),
}

describe('tokenRows', () => {
  test('reads the prediction of a token from the place before it', () => {
    const rows = tokenRows(packed)
    expect(rows.map(({ id }) => id)).toEqual([10, 11, 12, 13, 14, 15])
    expect(rows[2]).toMatchObject({ text: ' 4', isAction: true, action: 1, advantage: 1.5, reward: 0.5 })
    expect(rows[5]?.reward).toBe(-1)
    expect(rows[2]?.probability).toBeCloseTo(0.5)
    expect(rows[2]?.ratio).toBeCloseTo(2)
    expect(rows[5]?.ratio).toBeCloseTo(2)
  })

  test('knows nothing of tokens that the policy did not choose, nor of what was no number', () => {
    const rows = tokenRows(packed)
    for (const index of [0, 1, 4]) {
      expect(rows[index]).toMatchObject({
        isAction: false,
        action: null,
        reward: null,
        probability: null,
        advantage: null,
        entropy: null,
      })
    }
    expect(rows[3]?.entropy).toBeNull()
    expect(rows.every(({ kl }) => kl === null)).toBe(true)
  })

  test('takes the probability of the sampler where the completion was not learned from', () => {
    const [, , first] = tokenRows({
      ...packed,
      logprobs: null,
      referenceLogprobs: floats(0, Math.log(0.5), 0, 0, 0),
    })
    expect(first?.probability).toBeCloseTo(0.25)
    expect(first?.ratio).toBeNull()
    expect(first?.kl).toBeCloseTo(Math.log(0.5))
  })
})

test('segments part prompt, turns and the answers between them', () => {
  const segments = segmentsOf(tokenRows(packed))
  expect(segments.map(({ kind, turn, rows }) => [kind, turn, rows.length])).toEqual([
    ['prompt', 0, 2],
    ['turn', 1, 2],
    ['reply', 1, 1],
    ['turn', 2, 1],
  ])
})

test('only values that were recorded can be shown', () => {
  expect(valuesPresent(tokenRows(packed))).toEqual([
    ...['advantage', 'reward', 'ratio', 'entropy', 'probability', 'action'],
  ])
  expect(valuesPresent(tokenRows({ ...packed, advantages: null, rewards: null, logprobs: null }))).toEqual([
    ...['entropy', 'probability', 'action'],
  ])
})
