/** A LoRA adapter as llama.cpp reads it, with the names and row order that its converter gives the base's tensors. */
import { defaultHub } from '#shared/hub.ts'
import { AppError } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import type { GgufNaming } from '#engine/models/common.ts'
import { type LinearName, loraScale, type LoraConfig, type ModelConfig } from '#engine/models/config.ts'
import { type LoraSlot, loraSlots } from '#engine/models/lora.ts'
import { architectures } from '#engine/models/registry.ts'
import type { NamedTensor, TensorDtype } from '#engine/models/source.ts'
import {
  f32ToBf16,
  f32ToF16,
  bytesOf,
  firstNonFinite,
  readTensor,
  type TensorToWrite,
} from '#host/files/safetensors.ts'
import { type GgufValue, writeGguf } from './gguf.ts'
import { type GgufFile, openGguf } from './ggufReader.ts'
import { type Adapter, adapterForModel } from './peft.ts'
import { isHubId } from './peftConfig.ts'

const namingOf = ({ architecture }: Pick<ModelConfig, 'architecture'>): GgufNaming | null =>
  architectures.find(({ modelType }) => modelType === architecture)?.gguf ?? null

const linearNames: Readonly<Record<LinearName, string>> = {
  q_proj: 'attn_q',
  k_proj: 'attn_k',
  v_proj: 'attn_v',
  qkv_proj: 'attn_qkv',
  c_attn: 'attn_qkv',
  o_proj: 'attn_output',
  'attn.c_proj': 'attn_output',
  gate_proj: 'ffn_gate',
  up_proj: 'ffn_up',
  gate_up_proj: 'ffn_up',
  c_fc: 'ffn_up',
  down_proj: 'ffn_down',
  'mlp.c_proj': 'ffn_down',
}

/** Why llama.cpp cannot have an adapter of this family, as a sentence; null where it can. */
export const ggufProblem = (model: Pick<ModelConfig, 'architecture'>): string | null =>
  namingOf(model) === null
    ? `How llama.cpp names and orders the tensors of ${model.architecture} models is not known here.`
    : null

function architectureOf(model: ModelConfig): GgufNaming {
  const found = namingOf(model)
  if (found === null) throw new AppError('model/unsupported', ggufProblem(model) ?? '')
  return found
}

/** What llama.cpp calls an adapter's matrix: `blk.0.attn_q.weight.lora_a`. */
export const ggufLoraName = (layer: number, linear: LinearName, factor: 'A' | 'B'): string =>
  `blk.${layer}.${linearNames[linear]}.weight.lora_${factor.toLowerCase()}`

/** Linear of a slot's graph input `q_proj.lora_A`. */
const linearOf = ({ input }: LoraSlot): LinearName => input.replace(/\.lora_[AB]$/, '') as LinearName

const nameOf = (slot: LoraSlot): string => ggufLoraName(slot.layer, linearOf(slot), slot.factor)

/**
 * The order in which llama.cpp's converter puts the rows of q and k: row h·d + 2i + s is what was row h·d + s·d/2 + i. data
 * [heads·d, columns] → the same shape; `back` undoes it.
 */
export function permuteRows(
  data: Float32Array,
  { heads, rows, back = false }: { readonly heads: number; readonly rows: number; readonly back?: boolean },
): Float32Array {
  const [columns, size] = [data.length / rows, rows / heads]
  const result = new Float32Array(data.length)
  for (let row = 0; row < rows; row++) {
    const inHead = row % size
    const other = row - inHead + (inHead % 2) * (size / 2) + Math.floor(inHead / 2)
    const [from, to] = back ? [row, other] : [other, row]
    result.set(data.subarray(from * columns, (from + 1) * columns), to * columns)
  }
  return result
}

/** Heads whose rows of this matrix change places; null where they stay. */
function permutedHeads(slot: LoraSlot, model: ModelConfig): number | null {
  if (slot.factor === 'A' || !architectureOf(model).isPermuted) return null
  const linear = linearOf(slot)
  if (linear === 'q_proj') return model.heads
  return linear === 'k_proj' ? model.kvHeads : null
}

export type GgufDtype = Exclude<TensorDtype, 'U8'>

export interface GgufLora {
  readonly adapter: Adapter
  readonly model: ModelConfig
  readonly dtype: GgufDtype
  /** Shown by tools. */
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
    ['general.architecture', text(architectureOf(model).name)],
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
  const heads = permutedHeads(slot, model)
  const ordered = heads === null ? data : permuteRows(data, { heads, rows: slot.shape[0] })
  return { name: nameOf(slot), dtype, shape: slot.shape, pieces: () => [encode(ordered, dtype)] }
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
  requireText(file, 'general.architecture', architectureOf(model).name, path)
  requireText(file, 'general.type', 'adapter', path)
  requireText(file, 'adapter.type', 'lora', path)
  for (const [name, type] of file.unreadable) {
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
  const targets = model.linears.filter((linear) => tensors.has(ggufLoraName(0, linear, 'A')))
  const [first] = targets
  const rank = first === undefined ? undefined : tensors.get(ggufLoraName(0, first, 'A'))?.shape[0]
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
  const heads = permutedHeads(slot, model)
  const ordered = heads === null ? data : permuteRows(data, { heads, rows: slot.shape[0], back: true })
  return { name: slot.name, shape: slot.shape, data: ordered }
}
