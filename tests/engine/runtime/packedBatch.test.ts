import { describe, expect, test } from 'vitest'
import { CAUSAL_PARTS } from '#engine/ops/attention.ts'
import { keyNames, maskName, partNames } from '#engine/models/partInputs.ts'
import { usedLength } from '#engine/prefixes.ts'
import { packBatch, packCoefficients, unpackHeads } from '#engine/runtime/packedBatch.ts'
import { RotaryTables } from '#engine/runtime/passFeeds.ts'

const rotary = new RotaryTables({ theta: 100, inverseFrequencies: [1, 0.1], attentionFactor: 1 })

const sequence = (ids: readonly number[], actionMask: readonly number[]) => ({
  ids: Int32Array.from(ids),
  actionMask: Uint8Array.from(actionMask),
})

const long = sequence([10, 11, 12, 13, 14], [0, 1, 0, 1])
const silent = sequence([20, 21, 22], [0, 0])
const short = sequence([30, 31, 32, 33], [1, 0, 0])
/** Two query heads for each of two key heads. */
const heads = { heads: 4, kvHeads: 2, windows: [null], mixers: [] }
const ofKeys = keyNames(2)
const batch = packBatch([long, silent, short], heads, { rotary: [rotary], shares: true })

const numbers = (data: unknown) => Array.from(data as ArrayLike<bigint | number>, Number)

describe('a packed batch', () => {
  test('keeps the tokens up to the one that leads to the last action', () => {
    expect([long, silent, short].map(usedLength)).toEqual([4, 0, 1])
    expect([...batch.ids]).toEqual([10, 11, 12, 13, 30])
    expect(batch.tokens).toBe(5)
  })

  test('computes the head only where an action is predicted', () => {
    expect([...batch.headRows]).toEqual([1, 3, 4])
    expect([...batch.headTargets]).toEqual([12, 14, 31])
  })

  const slotsOf = (name: 'querySlots' | 'keySlots') =>
    Array.from({ length: CAUSAL_PARTS }, (_, part) => batch.feeds[partNames(part, 2)[name]]!)

  test('every query head of a real token has one slot; padding points past them', () => {
    const parts = slotsOf('querySlots')
    const rows = numbers(batch.feeds[ofKeys.queries]!.data)
    const slots = parts.flatMap(({ data }) => numbers(data))
    expect(rows.map((slot) => slots[slot])).toEqual(Array.from({ length: 5 * 4 }, (_, row) => row))
    expect(slots.filter((row) => row !== 20)).toHaveLength(20)
  })

  test('every key head of a real token has a slot in its own part and in all that follow and are reached', () => {
    const { data, dims } = batch.feeds[ofKeys.keys]!
    const slots = slotsOf('keySlots').flatMap(({ data }) => numbers(data))
    expect(dims).toEqual([CAUSAL_PARTS, 10])
    const found = numbers(data)
      .filter((slot) => slot < slots.length)
      .map((slot) => slots[slot])
    // The long sequence has a token in each part, the short one is its token in the first part alone.
    for (let row = 0; row < 10; row++) {
      const token = Math.floor(row / 2)
      expect(found.filter((each) => each === row)).toHaveLength(token === 4 ? 1 : CAUSAL_PARTS - token)
    }
    expect(numbers(data).filter((slot) => slot === slots.length)).toHaveLength(40 - 2 * (4 + 3 + 2 + 1 + 1))
  })

  test('only sequences that reach into a part stand there, the longest first', () => {
    expect(slotsOf('querySlots').map(({ dims }) => dims)).toEqual([
      [2, 2, 2],
      [1, 2, 2],
      [1, 2, 2],
      [1, 2, 2],
    ])
    const turned = packBatch([short, silent, long], heads, { rotary: [rotary], shares: true })
    expect(numbers(turned.feeds[partNames(0, 2).keySlots]!.data)).toEqual([2, 3, 0, 1])
  })

  test('puts the heads of a token where attention looks for them', () => {
    // Part 1 holds the second token of the long sequence alone: heads 4…7 of the packed rows, two for each key head.
    const { querySlots, keySlots } = partNames(1, 2)
    expect(numbers(batch.feeds[querySlots]!.data)).toEqual([4, 5, 6, 7])
    // Its keys are those of both tokens so far.
    expect(numbers(batch.feeds[keySlots]!.data)).toEqual([0, 2, 1, 3])
  })

  test('hides later keys from each quarter of the queries, once for each query head of a group', () => {
    const ids = Int32Array.from({ length: 8 }, (_, index) => index)
    const { feeds } = packBatch([{ ids, actionMask: new Uint8Array(7).fill(1) }], heads, {
      rotary: [rotary],
      shares: true,
    })
    expect(feeds[partNames(0, 2).querySlots]!.dims).toEqual([1, 2, 4]) // seven tokens in four parts of two
    const parts = [0, 1, 2, 3].map((part) => feeds[maskName(0, part)]!)
    expect(parts.map(({ dims }) => dims)).toEqual([
      [4, 2],
      [4, 4],
      [4, 6],
      [4, 8],
    ])
    const second = [0, 0, 0, -1e9, 0, 0, 0, 0]
    expect([...(parts[1]!.data as Float32Array)]).toEqual([...second, ...second])
  })

  test('hides what lies before a window', () => {
    const ids = Int32Array.from({ length: 8 }, (_, index) => index)
    const windowed = { heads: 2, kvHeads: 2, windows: [null, 3], mixers: [] }
    const { feeds } = packBatch([{ ids, actionMask: new Uint8Array(7).fill(1) }], windowed, {
      rotary: [rotary],
      shares: true,
    })
    // The third part: queries 4 and 5 see three keys each, themselves included.
    expect([...(feeds[maskName(1, 2)]!.data as Float32Array)]).toEqual([
      ...[-1e9, -1e9, 0, 0, 0, -1e9],
      ...[-1e9, -1e9, -1e9, 0, 0, 0],
    ])
    expect([...(feeds[maskName(0, 2)]!.data as Float32Array)]).toEqual([
      0, 0, 0, 0, 0, -1e9, 0, 0, 0, 0, 0, 0,
    ])
  })

  test('every sequence starts at position 0', () => {
    const { cos } = rotary.packed(Int32Array.of(0, 1, 2, 3, 0))
    expect(batch.feeds['cos 0']!.data).toEqual(cos.data)
    expect(numbers(batch.feeds.order!.data)).toEqual([0, 1, 2, 3, 4])
  })

  test('without any action is empty', () => {
    const empty = packBatch([silent], heads, { rotary: [rotary], shares: true })
    expect([empty.tokens, empty.headRows.length]).toEqual([0, 0])
  })
})

describe('a prefix that sequences have in common', () => {
  const prompt = [1, 2, 3, 4, 5, 6]
  const group = [
    [7, 8, 9],
    [10, 11],
    [12, 13, 14],
  ].map((completion) => {
    const ids = [...prompt, ...completion]
    return sequence(
      ids,
      ids.slice(1).map((_, at) => Number(at >= 5)),
    )
  })
  const shared = packBatch(group, heads, { rotary: [rotary], shares: true })
  const feed = (name: keyof typeof shared.feeds) => numbers(shared.feeds[name]!.data)

  test('stands there once', () => {
    expect([...shared.ids]).toEqual([...prompt, 7, 8, 10, 12, 13])
    expect([...shared.positions]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 6, 6, 7])
    // Its last token leads to three completions.
    expect([...shared.headRows]).toEqual([5, 6, 7, 5, 8, 5, 9, 10])
    expect([...shared.headTargets]).toEqual([7, 8, 9, 10, 11, 12, 13, 14])
  })

  test('asks once: only sequences with tokens of their own stand in a part', () => {
    const parts = Array.from({ length: CAUSAL_PARTS }, (_, part) => partNames(part, 2))
    expect(parts.map(({ querySlots }) => shared.feeds[querySlots]!.dims[0])).toEqual([1, 1, 1, 3])
    const slots = parts.flatMap(({ querySlots }) => feed(querySlots))
    expect(feed(ofKeys.queries).map((slot) => slots[slot])).toEqual(
      Array.from({ length: 44 }, (_, row) => row),
    )
    expect(slots.filter((row) => row !== 44)).toHaveLength(44)
  })

  test('is seen by all: every slot of a key is counted once, among the few or the many', () => {
    const slots = Array.from({ length: CAUSAL_PARTS }, (_, part) => feed(partNames(part, 2).keySlots)).flat()
    const found = new Map<number, number[]>()
    const add = (row: number, slot: number) =>
      slot < slots.length && found.set(row, [...(found.get(row) ?? []), slot])
    feed(ofKeys.keys).forEach((slot, index) => add(index % 22, slot))
    const [places, further] = [feed(ofKeys.places), feed(ofKeys.shared)]
    const count = shared.feeds[ofKeys.shared]!.dims[1]!
    places.forEach((place, row) => {
      for (let at = place; place < count && at < further.length; at += count) add(row, further[at]!)
    })
    for (let row = 0; row < 22; row++) {
      const expected = [...slots.keys()].filter((slot) => slots[slot] === row)
      expect(found.get(row)!.toSorted((a, b) => a - b)).toEqual(expected)
    }
    expect(slots.filter((row) => row === 0)).toHaveLength(3 + 3)
  })

  test('has its results and coefficients where each sequence has its own', () => {
    const given = Float64Array.from(shared.headRows, (_, index) => -index)
    const values = { policy: null, values: given }
    const apart = unpackHeads(group, shared, values).map(({ values }) => [...values!.subarray(5)])
    expect(apart).toEqual([
      [-0, -1, -2],
      [-3, -4],
      [-5, -6, -7],
    ])
  })
})

describe('between head rows and sequences', () => {
  test('results go where their action stands; all else is zero', () => {
    const heads = unpackHeads([long, silent, short], batch, {
      policy: { logprobs: Float64Array.of(-1, -2, -3), entropies: Float64Array.of(0.1, 0.2, 0.3) },
      values: Float64Array.of(5, 6, 7),
    })
    expect(heads.map(({ logprobs }) => [...logprobs])).toEqual([
      [0, -1, 0, -2],
      [0, 0],
      [-3, 0, 0],
    ])
    expect([...heads[2]!.entropies]).toEqual([0.3, 0, 0])
    expect(heads.map(({ values }) => [...values!])).toEqual([
      [0, 5, 0, 6],
      [0, 0],
      [7, 0, 0],
    ])
    const valued = unpackHeads([long, silent, short], batch, {
      policy: null,
      values: Float64Array.of(5, 6, 7),
    })
    expect(valued[0]).toEqual({
      logprobs: new Float64Array(4),
      entropies: new Float64Array(4),
      values: Float64Array.of(0, 5, 0, 6),
    })
  })

  test('coefficients are read where actions stand', () => {
    const row = (logprobs: readonly number[], entropies: readonly number[] | null = null) => ({
      logprobs: Float64Array.from(logprobs),
      entropies: entropies && Float64Array.from(entropies),
      values: null,
    })
    const given = [row([9, 1, 9, 2]), row([9, 9]), row([3, 9, 9], [4, 9, 9])]
    const packed = packCoefficients([long, silent, short], batch, given)
    expect([...packed.logprobs]).toEqual([1, 2, 3])
    expect([...packed.entropies!]).toEqual([0, 0, 4])
    expect(packed.values).toBeNull()
    const valued = given.map((each, index) => ({ ...each, values: index === 0 ? null : each.logprobs }))
    expect([...packCoefficients([long, silent, short], batch, valued).values!]).toEqual([0, 0, 3])
    const without = given.map(({ logprobs }) => ({ logprobs, entropies: null, values: null }))
    expect(packCoefficients([long, silent, short], batch, without).entropies).toBeNull()
  })
})
