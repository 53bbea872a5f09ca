/**
 * Adapters under a LoRA config that is not their own, each computing what it did: its matrices in the corner of larger
 * ones of zeros, and what the scales alpha / rank differ by multiplied into B. A zero row of A meets a zero column of B, so
 * what was added learns nothing: an adapter keeps its own rank.
 */
import {
  adaptedLinears,
  linearNames,
  loraScale,
  type LoraConfig,
  type ModelConfig,
} from '#engine/models/config.ts'
import { loraSlots } from '#engine/models/lora.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { padMatrix } from './peftMerge.ts'

/** A config that all of these fit in: the largest rank, the targets of all, the scale of the first. */
export function unionOf([first, ...others]: readonly [LoraConfig, ...LoraConfig[]]): LoraConfig {
  const all = [first, ...others]
  const rank = Math.max(...all.map((config) => config.rank))
  const targets = linearNames.filter((name) => all.some((config) => config.targets.includes(name)))
  return { rank, alpha: alphaFor(first, rank), rsLora: first.rsLora, targets }
}

/** What keeps the scale at another rank. */
const alphaFor = (config: LoraConfig, rank: number): number =>
  rank === config.rank ? config.alpha : loraScale(config) * (config.rsLora ? Math.sqrt(rank) : rank)

/** Whether an adapter of one config has a place in another. */
export const fitsIn = (inner: LoraConfig, outer: LoraConfig, model: ModelConfig): boolean =>
  inner.rank <= outer.rank &&
  adaptedLinears(model, inner).every((name) => adaptedLinears(model, outer).includes(name))

/** The adapter's tensors as those of `outer`, in the model's order; `fitsIn` must hold. */
export function underConfig(
  { config, tensors }: { readonly config: LoraConfig; readonly tensors: readonly NamedTensor[] },
  outer: LoraConfig,
  model: ModelConfig,
): NamedTensor[] {
  if (!fitsIn(config, outer, model)) throw new Error('Expected an adapter that fits in the config.')
  const given = new Map(tensors.map((tensor) => [tensor.name, tensor]))
  const factor = loraScale(config) / loraScale(outer)
  return loraSlots(model, outer).map(({ name, shape, factor: matrix, size }) => {
    const own = given.get(name)
    if (own === undefined) return { name, shape, data: new Float32Array(size) }
    return inZeros(own, shape, matrix === 'B' ? factor : 1)
  })
}

/** A matrix in the corner of a larger one of zeros, times `factor`. */
export function inZeros(tensor: NamedTensor, shape: readonly number[], factor: number): NamedTensor {
  const size = shape.reduce((product, dimension) => product * dimension, 1)
  const padded = padMatrix({ name: tensor.name, shape, data: new Float32Array(size) }, tensor)
  return factor === 1 ? padded : { ...padded, data: padded.data.map((value) => value * factor) }
}
