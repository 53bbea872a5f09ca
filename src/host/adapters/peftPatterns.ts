/** Adapters with a separate rank and alpha per module: PEFT's `rank_pattern` and `alpha_pattern`. */
import type { AppError } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import {
  loraScale,
  type LoraConfig,
  adaptedLinears,
  linearNames,
  type ModelConfig,
} from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { loraSlots } from '#engine/models/lora.ts'
import { isJsonObject, type JsonObject } from '#host/files/strictJson.ts'
import { padMatrix } from './peftMerge.ts'

/** Makes an error that names the file. */
export type Invalid = (problem: string, hint?: string) => AppError

export interface ModulePatterns {
  /** True if a module's tensors may have another rank than `r`: their shapes say which. */
  readonly ranksDiffer: boolean
  /** Alphas, in order of precedence: the first whose path is the end of a module's path gives its alpha. */
  readonly alphas: readonly (readonly [path: string, alpha: number])[]
}

/** Names of modules, or the ends of such; PEFT reads keys as patterns, which are never run. */
const plainKey = /^\^?[A-Za-z_][\w.\\]*$/

/** Errors: those of `invalid`. */
export function readPatterns(
  { rank_pattern: ranks, alpha_pattern: alphas }: JsonObject,
  invalid: Invalid,
): ModulePatterns {
  const given = entriesOf(alphas)
  const odd = given.find(([key]) => !plainKey.test(key))
  if (odd !== undefined) {
    throw invalid(
      `names modules in “alpha_pattern” by the pattern “${shorten(odd[0])}”`,
      'Patterns are never run; name the modules by their paths.',
    )
  }
  return {
    ranksDiffer: entriesOf(ranks).length > 0,
    alphas: given.map(([key, alpha]) => {
      if (typeof alpha === 'number' && alpha > 0 && alpha <= 1e6) return [key.replaceAll(/[\\^]/g, ''), alpha]
      throw invalid(`must give alphas in “alpha_pattern” as positive numbers`)
    }),
  }
}

const entriesOf = (value: unknown): (readonly [string, unknown])[] =>
  isJsonObject(value) ? Object.entries(value) : []

/** A matrix of an adapter; `module` is its path in the model. */
export interface PatternedMatrix {
  readonly module: string
  readonly matrix: 'A' | 'B'
  readonly tensor: NamedTensor
}

export interface EvenAdapter {
  readonly config: LoraConfig
  readonly tensors: readonly NamedTensor[]
  readonly warnings: readonly string[]
}

/** One rank and one scale for all modules, each computing what it did. */
export function evened(
  config: LoraConfig,
  { alphas }: ModulePatterns,
  matrices: readonly PatternedMatrix[],
): EvenAdapter {
  const formOf = ({ module, matrix, tensor }: PatternedMatrix) => ({
    rank: tensor.shape[matrix === 'A' ? 0 : 1] ?? 0,
    alpha: alphas.find(([path]) => module === path || module.endsWith(`.${path}`))?.[1] ?? config.alpha,
  })
  const forms = matrices.map(formOf)
  const [first] = forms
  const isEven =
    first !== undefined && forms.every(({ rank, alpha }) => rank === first.rank && alpha === first.alpha)
  const tensors = matrices.map(({ tensor }) => tensor)
  if (isEven) return { config: { ...config, ...first }, tensors, warnings: [] }

  const rank = Math.max(...forms.map((form) => form.rank))
  const scale = loraScale(config)
  const even = { ...config, rank, alpha: scale * (config.rsLora ? Math.sqrt(rank) : rank) }
  const resized = matrices.map(({ matrix, tensor }, at) => {
    const form = { ...config, ...forms[at] }
    const [rows = 0, columns = 0] = tensor.shape
    return matrix === 'A'
      ? inZeros(tensor, [rank, columns], 1)
      : inZeros(tensor, [rows, rank], loraScale(form) / scale)
  })
  return { config: even, tensors: resized, warnings: [unevenWords(forms, even)] }
}

function unevenWords(forms: readonly { readonly rank: number }[], { rank, alpha }: LoraConfig): string {
  const smallest = Math.min(...forms.map((form) => form.rank))
  const ranks = smallest === rank ? 'scales' : `ranks (${smallest} to ${rank})`
  return `The adapter's modules have different ${ranks}; it continues with rank ${rank} and alpha ${Number(alpha.toPrecision(6))} for all, padded with zeros and scaled so that it computes the same.`
}

/* Adapters under a LoRA config that is not their own, each computing what it did: its matrices in the corner of larger
 * ones of zeros, and what the scales alpha / rank differ by multiplied into B. A zero row of A meets a zero column of B, so
 * what was added learns nothing: an adapter keeps its own rank. */

/** A config that all of these fit in: the largest rank, the targets of all, the scale of the first. */
export function unionOf([first, ...others]: readonly [LoraConfig, ...LoraConfig[]]): LoraConfig {
  const all = [first, ...others]
  const rank = Math.max(...all.map((config) => config.rank))
  const targets = linearNames.filter((name) => all.some((config) => config.targets.includes(name)))
  return { rank, alpha: alphaFor(first, rank), rsLora: first.rsLora, targets }
}

/** Returns the alpha that keeps the scale at another rank. */
const alphaFor = (config: LoraConfig, rank: number): number =>
  rank === config.rank ? config.alpha : loraScale(config) * (config.rsLora ? Math.sqrt(rank) : rank)

/** Returns true if an adapter of one config has a place in another. */
export const fitsIn = (inner: LoraConfig, outer: LoraConfig, model: ModelConfig): boolean =>
  inner.rank <= outer.rank &&
  adaptedLinears(model, inner).every((name) => adaptedLinears(model, outer).includes(name))

/** Returns the adapter's tensors as those of `outer`, in the model's order; `fitsIn` must hold. */
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
function inZeros(tensor: NamedTensor, shape: readonly number[], factor: number): NamedTensor {
  const size = shape.reduce((product, dimension) => product * dimension, 1)
  const padded = padMatrix({ name: tensor.name, shape, data: new Float32Array(size) }, tensor)
  return factor === 1 ? padded : { ...padded, data: padded.data.map((value) => value * factor) }
}
