/** Reads values of a GGUF file's metadata as those of one family. */
import { Fields, type NumberLimits } from '#engine/models/fields.ts'
import { readTensor } from '#host/files/safetensors.ts'
import { type FamilyKey, familyKeys } from './ggufKeys.ts'
import type { GgufFile } from './ggufReader.ts'

/** Description of a model in a file, without its weights. */
export interface ModelDescription extends Pick<GgufFile, 'file' | 'metadata'> {
  readonly tensors: ReadonlyMap<string, { readonly shape: readonly number[] }>
  /** Returns the numbers of a small tensor, such as those of the rotary embedding; null: there is none of that name. */
  readonly numbers: (name: string) => readonly number[] | null
}

export const describedBy = (file: GgufFile): ModelDescription => ({
  ...file,
  numbers(name) {
    const location = file.tensors.get(name)
    return location === undefined ? null : [...readTensor(location)]
  },
})

/** A file's metadata, read as those of one family. */
export interface Reading {
  readonly file: ModelDescription
  /** The scalar values, by their full keys. */
  readonly fields: Fields
  /** `llama.`, before the keys of the family. */
  readonly prefix: string
}

/** Numbers of f32 as the shortest decimal that means them: 1e-5, not 9.99999974e-6. */
export function scalarFields({ file, metadata }: ModelDescription): Fields {
  const scalars = [...metadata].map(([key, value]): [string, unknown] => {
    if (value.type === 'float32') return [key, Number(value.value.toPrecision(7))]
    if (value.type === 'uint64' || value.type === 'int64') return [key, Number(value.value)]
    return [key, value.type === 'array' ? Array.from<unknown>(value.items) : value.value]
  })
  return new Fields(Object.fromEntries(scalars), file)
}

export const keyIn = ({ prefix }: Reading, key: FamilyKey): string => `${prefix}${familyKeys[key]}`
export const integer = (reading: Reading, key: FamilyKey, limits: NumberLimits): number =>
  reading.fields.integer(keyIn(reading, key), limits)
export const number = (reading: Reading, key: FamilyKey, limits: NumberLimits): number =>
  reading.fields.number(keyIn(reading, key), limits)
export const has = (reading: Reading, key: FamilyKey): boolean => reading.fields.has(keyIn(reading, key))
export const value = (reading: Reading, key: FamilyKey): unknown => reading.fields.value(keyIn(reading, key))

export const sizes = { min: 1, max: 1 << 24 }
export const factors = { min: 1e-9, max: 1e9 }

/** Returns which layers have a window, by a list, or by how often one has none: every `interval`th, if the file does not say. */
export function slidingLayers(reading: Reading, layers: number, interval: number): boolean[] {
  const pattern = value(reading, 'windowPattern')
  const every = Array.isArray(pattern)
    ? 0
    : integer(reading, 'windowPattern', { ...sizes, fallback: interval })
  return Array.from({ length: layers }, (_, layer) =>
    Array.isArray(pattern) ? Boolean(pattern[layer]) : (layer + 1) % every !== 0,
  )
}

/** `layer_types` of a config. */
export const layerTypes = (slides: readonly boolean[]): string[] =>
  slides.map((each) => (each ? 'sliding_attention' : 'full_attention'))
