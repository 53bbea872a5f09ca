/** Graph inputs by which rows are cut into the chunks of their sequences, where linear attention goes on. */
import type { Dim } from '../graph/shape.ts'
import { choose, input, integers, type Value } from '../graph/value.ts'
import { packRows, unpackRows } from '../ops/gather.ts'
import { joinIntegers, lengthOf } from '../ops/layout.ts'
import { zeros } from '../ops/reduce.ts'
import type { Recurrence } from './config.ts'
import type { Recurred, RecurrentForms } from './layerScope.ts'

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

/** Goes on from nothing, in chunks of packed sequences; a row that several have in common stands in each, and is read from one. */
export function recurInLearning(
  { valueHeads, keyDim, valueDim }: Recurrence,
  rows: readonly Value[],
  { inChunks }: RecurrentForms,
): Value {
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
  const sizes = [valueHeads, keyDim, valueDim]
  const before = zeros(joinIntegers([lengthOf(slots, 1), integers(sizes)]), ['S', ...sizes])
  const chunks = {
    cut: (x: Value) => unpackRows(x, all)[0] as Value,
    join: (x: Value) => packRows([x], own),
    backwards: input(chunkNames.backwards, 'int64', ['chunks']),
  }
  return inChunks(rows, before, chunks).mixed
}

/** Goes on behind `before` with N new positions of B rows, at once where each has one. */
export function recurInGeneration(
  { isOne, before }: { readonly isOne: Value; readonly before: Value },
  rows: readonly Value[],
  { inChunks, atOnce }: RecurrentForms,
): Recurred {
  const count = (rows[0] as Value).shape[0] as Dim
  const slots = input(chunkNames.slots, 'int64', ['chunks', 'B', GENERATION_CHUNK])
  const places = input(chunkNames.places, 'int64', [count])
  const values = ({ mixed, last }: Recurred) => [mixed, last]
  const [mixed, last] = choose({
    condition: isOne,
    reads: [before, slots, places, ...rows],
    met: ([memory, , , ...own]) => values(atOnce(own, memory as Value)),
    otherwise([memory, inChunk, inRow, ...own]) {
      const map = { slots: [inChunk as Value], rows: inRow as Value }
      const chunks = {
        cut: (x: Value) => unpackRows(x, map)[0] as Value,
        join: (x: Value) => packRows([x], map),
        backwards: integers([0]), // read by a gradient alone
      }
      return values(inChunks(own, memory as Value, chunks))
    },
  }) as [Value, Value]
  return { mixed, last }
}
