/** A LoRA adapter as llama.cpp reads it, with the names and row order that its converter gives the base's tensors. */
import { defaultHub } from '#shared/hub.ts'
import { AppError } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import {
  type LinearName,
  linearsOf,
  loraScale,
  type LoraConfig,
  type ModelConfig,
} from '#engine/models/config.ts'
import { type LoraSlot, loraSlots } from '#engine/models/lora.ts'
import type { NamedTensor, TensorDtype } from '#engine/models/source.ts'
import { bytesOf, firstNonFinite, readTensor, type TensorToWrite } from '#host/files/safetensors.ts'
import { f32ToBf16, f32ToF16 } from '#host/files/halfPrecision.ts'
import { type GgufValue, writeGguf } from '#host/gguf/gguf.ts'
import { ggufLinear, ggufNaming, linearArrangement, permuteRows, tileHeads } from '#host/gguf/ggufNames.ts'
import { type GgufFile, openGguf } from '#host/gguf/ggufReader.ts'
import { type Adapter, adapterForModel } from './peft.ts'
import { isHubId } from './peftConfig.ts'

/** Name of an adapter's matrix in llama.cpp: `blk.0.attn_q.weight.lora_a`. */
export const ggufLoraName = (layer: number, linear: LinearName, factor: 'A' | 'B'): string =>
  `${ggufLinear(layer, linear)}.weight.lora_${factor.toLowerCase()}`

/** Linear of a slot's graph input `q_proj.lora_A`. */
const linearOf = ({ input }: LoraSlot): LinearName => input.replace(/\.lora_[AB]$/, '') as LinearName

const nameOf = (slot: LoraSlot): string => ggufLoraName(slot.layer, linearOf(slot), slot.factor)

/** A matrix in the order of llama.cpp's converter: rows of a linear are those of B, columns those of A; `back` undoes it. */
function ordered(slot: LoraSlot, data: Float32Array, model: ModelConfig, back = false): Float32Array {
  const arrangement = linearArrangement(linearOf(slot), model)
  const [rows] = slot.shape
  if (arrangement?.kind === 'interleaved' && slot.factor === 'B')
    return permuteRows(data, { heads: arrangement.heads, rows, back })
  if (arrangement?.kind === 'tiled' && (slot.factor === 'B') === (arrangement.axis === 'rows'))
    return tileHeads(data, arrangement, { rows, back })
  return data
}

export type GgufDtype = Exclude<TensorDtype, 'U8'>

export interface GgufLora {
  readonly adapter: Adapter
  readonly model: ModelConfig
  readonly dtype: GgufDtype
  /** Name shown by tools. */
  readonly name: string
  /** Further texts under `turnwise.`, which other readers pass over. */
  readonly provenance: Readonly<Record<string, string>>
}

/** Errors: AppError 'model/unsupported', 'adapter/invalid' for numbers that are none, 'file/unwritable'. */
export function writeGgufLora(path: string, lora: GgufLora): void {
  const { adapter, model } = lora
  const slots = loraSlots(model, adapter.config)
  const given = new Map(adapter.tensors.map((tensor) => [tensor.name, tensor.data]))
  const tensors = slots.map((slot) => tensorOf(slot, given.get(slot.name), lora))
  writeGguf(path, { metadata: metadataOf(lora), tensors })
}

function metadataOf({ adapter, model, name, provenance }: GgufLora): Map<string, GgufValue> {
  const { config, baseModel } = adapter
  const text = (value: string): GgufValue => ({ type: 'string', value })
  const base: [string, GgufValue][] =
    baseModel === null || !isHubId(baseModel)
      ? []
      : [
          ['general.base_model.count', { type: 'uint32', value: 1 }],
          ['general.base_model.0.name', text(baseModel)],
          ['general.base_model.0.repo_url', text(`${defaultHub}/${baseModel}`)],
        ]
  return new Map([
    ['general.architecture', text(ggufNaming(model).name)],
    ['general.type', text('adapter')],
    ['general.name', text(name)],
    ...base,
    ['adapter.type', text('lora')],
    // llama.cpp divides by the rank whatever the kind of LoRA: rsLoRA's scale needs another alpha.
    ['adapter.lora.alpha', { type: 'float32', value: loraScale(config) * config.rank }],
    ...Object.entries(provenance).map(([key, value]): [string, GgufValue] => [
      `turnwise.${key}`,
      text(value),
    ]),
  ])
}

function tensorOf(slot: LoraSlot, data: Float32Array | undefined, { model, dtype }: GgufLora): TensorToWrite {
  if (data?.length !== slot.size) throw new Error(`Expected the adapter to have ${slot.name}.`)
  if (firstNonFinite(data) !== -1) {
    throw new AppError(
      'adapter/invalid',
      `The adapter's ${slot.name} holds a value that is not a finite number.`,
    )
  }
  const values = ordered(slot, data, model)
  return { name: nameOf(slot), dtype, shape: slot.shape, pieces: () => [encode(values, dtype)] }
}

/** The bytes of f32 numbers in a narrower type, rounded to nearest, ties to even. */
export function encode(values: Float32Array, dtype: GgufDtype): Uint8Array {
  if (dtype === 'F32') return bytesOf(values)
  const bits = new Uint16Array(values.length)
  if (dtype === 'BF16') f32ToBf16(values, bits)
  else f32ToF16(values, bits)
  return bytesOf(bits)
}

/**
 * Reads an adapter for a model, everything checked: architecture, kind, alpha, every tensor known, in pairs, of the right
 * shape. Errors: AppError 'file/unreadable', 'adapter/invalid', 'model/unsupported'.
 */
export function readGgufLora(path: string, model: ModelConfig): Adapter {
  const file = openGguf(path)
  requireText(file, 'general.architecture', ggufNaming(model).name, path)
  requireText(file, 'general.type', 'adapter', path)
  requireText(file, 'adapter.type', 'lora', path)
  const types = new Map([...file.tensors].map(([name, { dtype }]) => [name, dtype] as const))
  for (const [name, type] of [...file.unreadable, ...types]) {
    if (type === 'F32' || type === 'F16' || type === 'BF16') continue
    throw invalid(path, `stores “${shorten(name)}” as ${type}; only F32, F16 and BF16 are read`)
  }
  const config = readLora(file, model, path)
  const slots = loraSlots(model, config)
  const tensors = slots.map((slot) => readSlot(slot, { file, model, path }))
  const surplus = [...file.tensors.keys()].find((name) => !slots.some((slot) => nameOf(slot) === name))
  if (surplus !== undefined)
    throw invalid(path, `holds “${shorten(surplus)}”, which this model does not have`)
  const base = file.metadata.get('general.base_model.0.name')
  const baseModel = base?.type === 'string' ? base.value : null
  return adapterForModel({ config, baseModel, tensors }, model, path)
}

const invalid = (path: string, problem: string): AppError =>
  new AppError('adapter/invalid', `${path} ${problem}.`)

function requireText({ metadata }: GgufFile, key: string, wanted: string, path: string): void {
  const found = metadata.get(key)
  if (found?.type === 'string' && found.value === wanted) return
  const is = found?.type === 'string' ? `“${shorten(found.value)}”` : 'missing or not text'
  throw invalid(path, `must say “${wanted}” under ${key}; it is ${is}`)
}

/** Rank and linears from the tensors, the scale from alpha: without one llama.cpp takes B·A as it is. */
function readLora({ metadata, tensors }: GgufFile, model: ModelConfig, path: string): LoraConfig {
  // Not every layer has every linear.
  const found = model.linears.map((linear) => {
    const layer = model.mixers.findIndex((_, each) => linearsOf(model, each).includes(linear))
    return { linear, tensor: tensors.get(ggufLoraName(layer, linear, 'A')) }
  })
  const targets = found.flatMap(({ linear, tensor }) => (tensor ? [linear] : []))
  const rank = found.find(({ tensor }) => tensor !== undefined)?.tensor?.shape[0]
  if (rank === undefined) throw invalid(path, 'adapts no linear of the first layer')
  const alpha = readAlpha(metadata.get('adapter.lora.alpha'), path)
  return { rank, alpha: alpha === 0 ? rank : alpha, rsLora: false, targets }
}

/** 0: none. */
function readAlpha(found: GgufValue | undefined, path: string): number {
  if (found !== undefined && found.type !== 'float32')
    throw invalid(path, 'gives its alpha as a type other than f32')
  const alpha = found?.value ?? 0
  if (!Number.isFinite(alpha) || alpha < 0) throw invalid(path, `gives the alpha ${alpha}`)
  return alpha
}

interface Reading {
  readonly file: GgufFile
  readonly model: ModelConfig
  readonly path: string
}

function readSlot(slot: LoraSlot, { file, model, path }: Reading): NamedTensor {
  const name = nameOf(slot)
  const location = file.tensors.get(name)
  if (location === undefined) throw invalid(path, `lacks the tensor “${name}”`)
  if (location.shape.join() !== slot.shape.join()) {
    throw invalid(path, `holds “${name}” as [${location.shape.join(', ')}], not [${slot.shape.join(', ')}]`)
  }
  const data = readTensor(location)
  if (firstNonFinite(data) !== -1)
    throw invalid(path, `holds a value in “${name}” that is not a finite number`)
  return { name: slot.name, shape: slot.shape, data: ordered(slot, data, model, true) }
}
