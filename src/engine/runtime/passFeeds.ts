/** What programs of generation read of new positions. */
import type { ModelConfig } from '../models/config.ts'
import { windowMaskName } from '../models/generationGraph.ts'
import { rotaryNames } from '../models/learningGraphs.ts'
import { windowMask, type SeenPositions } from './generation/mask.ts'
import type { Feeds } from './programs.ts'
import type { RotaryTables } from './rotaryTables.ts'
import { floats, int64s, type Feed } from './session.ts'

/** T new positions of B rows. */
export interface NewPositions {
  readonly rows: number
  readonly length: number
  /** [B, T] */
  readonly positions: Int32Array
  /** [B] which of the T is each row's last. */
  readonly last: Int32Array
  readonly inverseTemperature: number
  /** [B]; read only where the graph chooses. */
  readonly uniforms?: Float64Array
}

/** The largest whose f32 product with any total stays below that total. */
const LARGEST_UNIFORM = 1 - 2 ** -23

export const boundedUniforms = (uniforms: ArrayLike<number>): Float32Array =>
  Float32Array.from(uniforms, (uniform) => Math.min(uniform, LARGEST_UNIFORM))

export function positionFeeds(
  { rows, length, positions, last, inverseTemperature, uniforms }: NewPositions,
  tables: readonly RotaryTables[],
): Feeds {
  return {
    positions: int64s(positions, [rows, length]),
    last: int64s(
      last.map((position, row) => row * length + position),
      [rows],
    ),
    inverseTemperature: floats(Float32Array.of(inverseTemperature), [1]),
    uniforms: floats(boundedUniforms(uniforms ?? new Float64Array(rows)), [rows, 1]),
    ...rotaryFeeds(tables, Math.max(length, ...positions)),
  }
}

/** The rotary tables up to a position. */
export function rotaryFeeds(tables: readonly RotaryTables[], highest: number): Feeds {
  const feeds: Record<string, Feed> = {}
  tables.forEach((rope, index) => {
    // The kernel also refuses more new positions than table rows.
    const { cos, sin } = rope.feeds(highest + 1)
    const names = rotaryNames(index)
    feeds[names.cos] = cos
    feeds[names.sin] = sin
  })
  return feeds
}

/** The mask of each window of the model. */
export function maskFeeds(
  pass: SeenPositions,
  { windows, heads, kvHeads }: Pick<ModelConfig, 'windows' | 'heads' | 'kvHeads'>,
): Feeds {
  return Object.fromEntries(
    windows.map((window, index) => {
      const mask = window === null ? pass.mask : windowMask(pass, window)
      return [windowMaskName(index), maskFeed(mask, pass, heads / kvHeads)]
    }),
  )
}

/** One mask row for all query heads; several positions repeat it for each query head of a key head. mask [B, T, P+T]. */
function maskFeed(mask: Float32Array, { rows, length, slots }: SeenPositions, copies: number): Feed {
  const width = slots + length
  if (length === 1) return floats(mask, [rows, 1, 1, width])
  const block = length * width
  const repeated = new Float32Array(rows * copies * block)
  for (let row = 0; row < rows; row++) {
    const source = mask.subarray(row * block, (row + 1) * block)
    for (let copy = 0; copy < copies; copy++) repeated.set(source, (row * copies + copy) * block)
  }
  return floats(repeated, [rows, 1, copies * length, width])
}
