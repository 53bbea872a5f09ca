/** Graph inputs by which rows are cut into the chunks of their sequences, where linear attention goes on. */
import type { Dim } from '../graph/shape.ts'
import { input, integers, type Value } from '../graph/value.ts'
import { packRows, unpackRows } from '../ops/gather.ts'
import { joinIntegers, lengthOf } from '../ops/layout.ts'
import { zeros } from '../ops/reduce.ts'
import type { Recurrence } from './config.ts'
import type { Chunks } from './layerScope.ts'

/** Positions of a chunk: while learning, where all of a sequence are there, and while generating, where mostly one is new. */
export const LEARNING_CHUNK = 32
export const GENERATION_CHUNK = 8

export const chunkNames = {
  /** [M, S, C]: the row in each place, N in one that is padding. */
  slots: 'chunk slots',
  /** [N]: the place of each row in its own sequence. */
  places: 'chunk places',
  /** The same as `slots`, with N also where the row is another sequence's. */
  own: 'own chunk slots',
  /** The places of each row in all sequences, as in `RowMap`. */
  rows: 'rows in chunks',
  shared: 'shared rows in chunks',
  sharedPlaces: 'shared chunk rows',
  backwards: 'chunks backwards',
} as const
export type ChunkName = (typeof chunkNames)[keyof typeof chunkNames]

/** Chunks of packed sequences; a row that several have in common stands in each, and is read from one. */
export function learningChunks(): Chunks {
  const places = (name: string) => input(name, 'int64', ['chunks', 'S', LEARNING_CHUNK])
  const slots = places(chunkNames.slots)
  const all = {
    slots: [slots],
    rows: input(chunkNames.rows, 'int64', [1, 'N']),
    shared: {
      slots: input(chunkNames.shared, 'int64', ['shared in chunks', 'rows of shared']),
      places: input(chunkNames.sharedPlaces, 'int64', ['N']),
    },
  }
  const own = { slots: [places(chunkNames.own)], rows: input(chunkNames.places, 'int64', ['N']) }
  return {
    cut: (x) => unpackRows(x, all)[0] as Value,
    join: (x) => packRows([x], own),
    backwards: input(chunkNames.backwards, 'int64', ['chunks']),
    before({ valueHeads, keyDim, valueDim }: Recurrence) {
      const sizes = [valueHeads, keyDim, valueDim]
      return zeros(joinIntegers([lengthOf(slots, 1), integers(sizes)]), ['S', ...sizes])
    },
    after: () => undefined,
  }
}

/** Chunks of N new positions of B rows, between what a row remembers before and behind them, [B, H, K, V]. */
export function generationChunks(count: Dim, before: Value, after: (last: Value) => void): Chunks {
  const slots = input(chunkNames.slots, 'int64', ['chunks', 'B', GENERATION_CHUNK])
  const rows = input(chunkNames.places, 'int64', [count])
  return {
    cut: (x) => unpackRows(x, { slots: [slots], rows })[0] as Value,
    join: (x) => packRows([x], { slots: [slots], rows }),
    backwards: integers([0]), // read by a gradient alone
    before: () => before,
    after,
  }
}
