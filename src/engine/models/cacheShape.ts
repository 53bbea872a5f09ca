/** Number and size of the keys and values that generation keeps. */
import type { AttentionWindow, ModelConfig } from './config.ts'

export interface CacheShape {
  readonly layers: number
  /** K */
  readonly kvHeads: number
  /** C */
  readonly headDim: number
  /** [layers]; if absent, every layer sees all positions. */
  readonly layerWindows?: readonly AttentionWindow[]
}

export const cacheShape = ({ layers, kvHeads, headDim, windows, attention }: ModelConfig) => ({
  ...{ layers, kvHeads, headDim },
  layerWindows: attention.map(({ window }) => windows[window] ?? null),
})

/** Slots of a row for at most `capacity` positions: through a window, the next position sees one less of those before it. */
export const slotsBehind = (window: AttentionWindow, capacity: number): number =>
  window === null ? capacity : Math.min(window - 1, capacity)

/** [layers] */
export const layerSlots = ({ layers, layerWindows }: CacheShape, capacity: number): number[] =>
  Array.from({ length: layers }, (_, layer) => slotsBehind(layerWindows?.[layer] ?? null, capacity))

/** Bytes of the keys and values of `rows` rows of at most `capacity` positions, in f32. */
export function cacheBytes(shape: CacheShape, rows: number, capacity: number): number {
  const slots = layerSlots(shape, capacity).reduce((sum, count) => sum + count, 0)
  return 2 * rows * shape.kvHeads * slots * shape.headDim * Float32Array.BYTES_PER_ELEMENT
}
