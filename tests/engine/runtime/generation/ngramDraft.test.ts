import { expect, test } from 'vitest'
import { draftsOf, NgramDraft } from '#engine/runtime/generation/ngramDraft.ts'

test('a draft is what followed the latest occurrence of the last two ids', () => {
  const draft = new NgramDraft([1, 2, 3, 4, 9, 1, 2, 3, 5, 6, 7, 1, 2, 3])
  expect(draft.next(3)).toEqual([5, 6, 7])
  expect(draft.next(1)).toEqual([5])
  expect(draft.next(0)).toEqual([])
  draft.add(8)
  expect(draft.next(3)).toEqual([])
})

test('a repetition goes on beyond what was said', () => {
  expect(new NgramDraft([7, 7, 7, 7]).next(3)).toEqual([7, 7, 7])
  expect(new NgramDraft([1, 2, 3, 1, 2, 3]).next(7)).toEqual([1, 2, 3, 1, 2, 3, 1])
})

test('too few ids have nothing to go by', () => {
  for (const ids of [[], [5], [5, 5], [5, 6, 5]]) expect(new NgramDraft(ids).next(4)).toEqual([])
})

test('large ids are told apart', () => {
  const draft = new NgramDraft([
    151_000, 262_143, 1, 262_143, 151_000, 2, 150_999, 262_143, 3, 151_000, 262_143,
  ])
  expect(draft.next(1)).toEqual([1])
})

test('the rate rises with right guesses and falls with wrong ones, also of ids that were there before', () => {
  const draft = new NgramDraft([2, 3, 4, 1])
  expect(draft.rate).toBe(0)
  for (const id of [2, 3]) draft.add(id)
  expect(draft.rate).toBe(0)
  draft.add(4)
  expect(draft.rate).toBeCloseTo(1 / 8)
  draft.add(5)
  expect(draft.rate).toBeCloseTo((1 / 8) * (7 / 8))
  expect(new NgramDraft([2, 3, 4, 1, 2, 3, 4, 5]).rate).toBe(draft.rate)
})

/** A rate near 1. */
const sure = () => new NgramDraft(Array.from({ length: 60 }, (_, index) => index % 5))
/** Something to say, and a rate of 0. */
const unsure = () => new NgramDraft([1, 2, 3, 1, 2])

test('as many ids are checked as pay', () => {
  const lengths = (rows: NgramDraft[], room: number[], cost: (positions: number) => number) =>
    draftsOf(rows, room, cost).map((draft) => draft.length)
  const free = () => 1
  expect(lengths([sure()], [100], free)).toEqual([7])
  expect(lengths([unsure()], [100], free)).toEqual([0])
  // As long as all ids one by one: nothing is gained.
  expect(lengths([sure()], [100], (positions) => positions)).toEqual([0])
  // A pass over up to four is as long as over one.
  expect(lengths([sure()], [100], (positions) => (positions <= 4 ? 1 : positions))).toEqual([3])
  // Several at a time are slow, however many: only the rate of right guesses can pay for that.
  expect(lengths([sure()], [100], (positions) => (positions === 1 ? 1 : 3))).toEqual([7])
  expect(lengths([sure()], [100], (positions) => (positions === 1 ? 1 : 8))).toEqual([0])
  // One row that is sure carries one that is not; both stop short of the end.
  expect(lengths([sure(), unsure()], [4, 2], free)).toEqual([3, 1])
})
