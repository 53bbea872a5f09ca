import { describe, expect, test } from 'vitest'
import * as format from '#renderer/client/format.ts'

describe('numbers as people read them', () => {
  test.each([
    [0, '0'],
    [0.87654, '0.877'],
    [-0.5, '−0.5'],
    [12.345, '12.3'],
    [123456, '123 456'],
    [0.00001234, '1.23e-5'],
    [null, '–'],
    [NaN, '–'],
    [Infinity, '∞'],
    [-Infinity, '−∞'],
  ])('%s reads %s', (value, words) => {
    expect(format.formatNumber(value)).toBe(words)
  })

  test.each([
    [999, '999 bytes'],
    [1_940_000, '1.94 MB'],
    [41_000_000_000, '41 GB'],
    [999_900, '1 MB'],
  ])('%d bytes read %s', (bytes, words) => {
    expect(format.formatBytes(bytes)).toBe(words)
  })

  test.each([
    [12, '12 ms'],
    [1940, '1.9 s'],
    [72_400, '1 min 12 s'],
    [3_660_000, '1 h 1 min'],
  ])('%d ms read %s', (ms, words) => {
    expect(format.formatDuration(ms)).toBe(words)
  })

  test('differences carry their sign, shares are percent, counts have nouns', () => {
    expect(format.formatDelta(0.25)).toBe('+0.25')
    expect(format.formatDelta(-0.25)).toBe('−0.25')
    expect(format.formatPercent(0.123)).toBe('12.3 %')
    expect(format.plural(1, 'run')).toBe('1 run')
    expect(format.plural(2, 'run')).toBe('2 runs')
    expect(format.formatFixed(0.84)).toBe('0.840')
    expect(format.formatShort(1_940_000)).toBe('1.94 M')
    expect(format.formatShort(999_885_952)).toBe('1 B')
    expect([-0.003, -0.25].map((each) => format.formatFixed(each, 2))).toEqual(['0.00', '−0.25'])
  })

  test.each([
    [[1, 1, 1], 1, '34 % 33 % 33 %'],
    [[8.5, 1.5], 1, '85 % 15 %'],
    [[505, 495], 1, '51 % 49 %'], // one by one: 51 + 50
    [[335, 335, 330], 1, '34 % 33 % 33 %'], // one by one: 34 + 34 + 33
    [[999, 1, 0], 1, '100 % < 1 % 0 %'],
    [[1, 7], 0.1, '12.5 % 87.5 %'],
    [[199, 1801], 0.1, '10 % 90 %'],
    [[9999, 1], 0.1, '100 % < 0.1 %'],
    [[0, 0], 1, '– –'],
  ] as const)('shares of a whole add up to 100 %%: %j', (amounts, unit, words) => {
    expect(format.formatShares(amounts, unit).join(' ')).toBe(words)
  })

  test('ages are told from now', () => {
    expect(format.formatAgo(0, 20_000)).toBe('just now')
    expect(format.formatAgo(0, 120_000)).toBe('2 min ago')
    expect(format.formatAgo(0, 7_200_000)).toBe('2 h ago')
  })
})
