import { describe, expect, test } from 'vitest'
import { rowOrder, type RowOrder } from '#rl/rollout/rowOrder.ts'
import type { DataRow } from '#rl/rollout/prompts.ts'

const items = [0, 1, 2, 3, 4]
const order = { seed: 3, shuffle: true, order: null, planned: Infinity }
const drawing = (options: Partial<RowOrder<number>> = {}) =>
  rowOrder(items, { ...order, columnsOf: (item) => ({ item }), ...options })

test('every pass visits everything once, whatever the size of the draws', () => {
  const single = drawing()(0, 15)
  const draw = drawing()
  expect([...draw(0, 4), ...draw(4, 7), ...draw(11, 4)]).toEqual(single)
  for (const pass of [0, 5, 10]) expect(single.slice(pass, pass + 5).toSorted()).toEqual(items)
  expect(single.slice(0, 5)).not.toEqual(single.slice(5, 10))
  // A resumed run goes on anywhere.
  for (let at = 0; at < 15; at++) expect(drawing()(at, 15 - at)).toEqual(single.slice(at))
})

test('without shuffling rows come as they stand', () => {
  expect(drawing({ shuffle: false })(3, 4)).toEqual([3, 4, 0, 1])
})

describe('by a column', () => {
  const rows: DataRow[] = [{ hard: 0.5 }, { hard: '0.25' }, {}, { hard: 0.5 }, { hard: -2 }, { hard: null }]
  const drawRows = (options: Partial<RowOrder<DataRow>> = {}) =>
    rowOrder(rows, { ...order, order: 'hard', columnsOf: (row) => row, ...options })
  const places = (drawn: readonly DataRow[]) => drawn.map((row) => rows.indexOf(row))

  test('every pass goes from the lowest number to the highest; what is alike is shuffled, and what has none comes last', () => {
    expect(places(drawRows({ shuffle: false })(0, 12))).toEqual([4, 1, 0, 3, 2, 5, 4, 1, 0, 3, 2, 5])
    const alike = Array.from({ length: 20 }, (_, pass) => places(drawRows()(pass * 6, 6)))
    for (const [first, second, ...others] of alike) {
      expect([first, second]).toEqual([4, 1])
      expect(others.slice(0, 2).toSorted()).toEqual([0, 3])
      expect(others.slice(2).toSorted()).toEqual([2, 5])
    }
    expect(new Set(alike.map(String)).size).toBe(4)
  })

  test('a run that draws fewer rows reaches hard ones too', () => {
    const many = Array.from({ length: 1000 }, (_, hard) => ({ hard }))
    const draw = rowOrder(many, { ...order, order: 'hard', columnsOf: (row) => row, planned: 100 })
    const drawn = draw(0, 100).map(({ hard }) => hard)
    expect(drawn).toEqual(drawn.toSorted((a, b) => a - b))
    expect(drawn[0]).toBeLessThan(100)
    expect(drawn.at(-1)).toBeGreaterThan(900)
    // Further draws, of groups that teach nothing, begin again with the easy ones.
    expect(draw(100, 1)[0]?.hard).toBeLessThan(100)
  })

  test('is refused where no row has a number in it', () => {
    expect(() => drawRows({ order: 'hardness' })).toThrow(
      'No row has a number in the column “hardness”, by which `data.order` sorts.',
    )
  })
})
