import { expect, test } from 'vitest'
import { RotaryTables } from '#engine/runtime/passFeeds.ts'

const rope = { theta: 1e4, inverseFrequencies: [1, 0.1, 0.003].map(Math.fround), attentionFactor: 1.25 }

test('row p holds factor · cos and factor · sin of p · inverse frequency', () => {
  const { cos, sin } = new RotaryTables(rope).feeds(70)
  const half = rope.inverseFrequencies.length
  for (const position of [0, 1, 63, 69]) {
    for (const [pair, frequency] of rope.inverseFrequencies.entries()) {
      const angle = Math.fround(position * frequency)
      expect((cos.data as Float32Array)[position * half + pair]).toBe(Math.fround(1.25 * Math.cos(angle)))
      expect((sin.data as Float32Array)[position * half + pair]).toBe(Math.fround(1.25 * Math.sin(angle)))
    }
  }
})

test('tables are kept until a longer sequence comes, and then hold the same numbers at the same places', () => {
  const tables = new RotaryTables(rope)
  const first = tables.feeds(10)
  expect(tables.feeds(64)).toBe(first)
  const longer = tables.feeds(65)
  expect(longer.cos.dims).toEqual([128, 3])
  expect((longer.cos.data as Float32Array).subarray(0, 64 * 3)).toEqual(first.cos.data)
})

test('packed tables have one row per token, by its position', () => {
  const tables = new RotaryTables(rope)
  const { cos, sin } = tables.packed(Int32Array.of(0, 1, 2, 0, 1, 80))
  const all = tables.feeds(81)
  expect(cos.dims).toEqual([6, 3])
  const row = (feed: typeof cos, at: number) => (feed.data as Float32Array).slice(at * 3, at * 3 + 3)
  expect(row(cos, 3)).toEqual(row(all.cos, 0))
  expect(row(cos, 5)).toEqual(row(all.cos, 80))
  expect(row(sin, 4)).toEqual(row(all.sin, 1))
})
