import { describe, expect, test } from 'vitest'
import { commonPrefix, prefixFamilies, prefixTree } from '#engine/prefixes.ts'

/** The first `prompt` ids lead to the first action; all behind them are actions. */
const sequence = (ids: readonly number[], prompt: number) => ({
  ids: Int32Array.from(ids),
  actionMask: Uint8Array.from(ids.slice(1), (_, at) => Number(at >= prompt - 1)),
})

const a = sequence([1, 2, 3, 10, 11, 12], 3)
const b = sequence([1, 2, 3, 10, 20], 3)
const c = sequence([9, 2, 3, 10], 3)
const silent = { ids: Int32Array.of(1, 2, 3), actionMask: new Uint8Array(2) }

describe('a common prefix', () => {
  test('ends before the first id that differs, and where nothing more is predicted', () => {
    expect(commonPrefix(a, b)).toBe(4)
    expect(commonPrefix(a, a)).toBe(5) // the last id is only predicted
    expect(commonPrefix(a, c)).toBe(0)
    expect(commonPrefix(a, silent)).toBe(0)
  })

  test('has one row for all that begin with it', () => {
    const { tokens, paths, own } = prefixTree([a, c, b, a, silent], true)
    expect(tokens).toBe(5 + 3)
    expect(paths.map((path) => [...path])).toEqual([
      [0, 1, 2, 3, 4],
      [5, 6, 7],
      [0, 1, 2, 3],
      [0, 1, 2, 3, 4],
      [],
    ])
    expect([...own]).toEqual([0, 0, 4, 5, 0])
    expect(prefixTree([a, c, b], false).tokens).toBe(5 + 3 + 4)
  })
})

describe('families', () => {
  test('are sequences whose prompts agree, side by side in the order of their ids', () => {
    const members = prefixFamilies([b, c, a, sequence([1, 2, 3, 9, 9], 3)])
    expect(members).toEqual([
      [
        { row: 3, common: 0 },
        { row: 0, common: 3 },
        { row: 2, common: 4 },
      ],
      [{ row: 1, common: 0 }],
    ])
  })

  test('a few ids in common, such as those of a template, do not make one', () => {
    const prompts = [
      [1, 2, 5, 6, 7, 8, 9],
      [1, 2, 4, 4, 4, 4, 4],
    ]
    expect(prefixFamilies(prompts.map((ids) => sequence(ids, 6)))).toHaveLength(2)
  })

  test('a turn belongs to the turn that it goes on from', () => {
    const first = sequence([1, 2, 3, 4, 5, 6], 3)
    const second = sequence([1, 2, 3, 4, 5, 6, 7, 8, 9], 8)
    expect(prefixFamilies([second, c, first])).toEqual([
      [
        { row: 2, common: 0 },
        { row: 0, common: 5 },
      ],
      [{ row: 1, common: 0 }],
    ])
  })
})
