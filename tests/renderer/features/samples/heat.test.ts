import { describe, expect, test } from 'vitest'
import { heatLook, heatScale, legendOf, tokenWords, visibleText } from '#renderer/parts/heat.ts'
import type { TokenRow } from '#renderer/parts/tokenRows.ts'

const row = (values: Partial<TokenRow>): TokenRow => ({
  index: 0,
  id: 1,
  text: 'a',
  isAction: true,
  action: 1,
  probability: null,
  advantage: null,
  reward: null,
  ratio: null,
  kl: null,
  entropy: null,
  ...values,
})

describe('heatScale', () => {
  test('a signed scale reaches equally far to both sides, as far as its largest value', () => {
    const scale = heatScale('advantage', [row({ advantage: -2 }), row({ advantage: 1 })])
    expect(scale.strength(-2)).toBe(-1)
    expect(scale.strength(1)).toBe(0.5)
    expect(scale.strength(7)).toBe(1)
  })

  test('the largest advantage of a group makes its members comparable', () => {
    expect(heatScale('advantage', [row({ advantage: 1 })], 4).strength(1)).toBe(0.25)
  })

  test('noise does not look like a signal', () => {
    expect(Math.abs(heatScale('kl', [row({ kl: 0.01 })]).strength(0.01))).toBeLessThan(0.05)
    expect(heatLook(heatScale('kl', [row({ kl: 0.01 })]), 0.01)).toBeNull()
  })

  test('a ratio is as far below 1 as its inverse is above', () => {
    const scale = heatScale('ratio', [row({ ratio: 4 })])
    expect(scale.strength(1)).toBe(0)
    expect(scale.strength(0.5)).toBeCloseTo(-scale.strength(2))
    expect(scale.strength(0)).toBe(-1)
  })

  test('the unlikeliest tokens are the strongest', () => {
    const scale = heatScale('probability', [row({ probability: 0.9 })])
    expect(scale.strength(1)).toBe(0)
    expect(scale.strength(0.1)).toBeCloseTo(0.9)
  })
})

test('the sign is told by hue and by underline, the size by the ground', () => {
  const scale = heatScale('advantage', [row({ advantage: 1 })])
  expect(heatLook(scale, 1)).toEqual({
    backgroundColor: 'rgb(var(--heat-positive) / 0.500)',
    underline: 'positive',
  })
  expect(heatLook(scale, -0.5)).toEqual({
    backgroundColor: 'rgb(var(--heat-negative) / 0.250)',
    underline: 'negative',
  })
  expect(heatLook(scale, null)).toBeNull()
  const entropy = heatScale('entropy', [row({ entropy: 2 })])
  expect(heatLook(entropy, 2)).toEqual({ backgroundColor: 'rgb(var(--heat-one) / 0.500)', underline: 'none' })
})

test('the legend says the ends of the scale', () => {
  expect(legendOf(heatScale('advantage', [row({ advantage: 2 })]))).toEqual(['−2', '0', '+2'])
  expect(legendOf(heatScale('ratio', [row({ ratio: 2 })]))).toEqual(['≤ 0.5', '1', '≥ 2'])
  expect(legendOf(heatScale('entropy', []))).toEqual(['0', '1'])
})

test('a token in one line, with marks for what has no shape', () => {
  expect(tokenWords(row({ index: 4, text: ' 7\n', probability: 0.5, advantage: -1 }))).toBe(
    'token 5 “␣7⏎” · probability 0.5 · advantage −1',
  )
  expect(visibleText('')).toBe('(joined with the next)')
})
