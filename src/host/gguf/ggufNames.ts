/** Names the tensors of a model in llama.cpp, and how its converter changes them. */
import { unsupportedModel } from '#shared/errors.ts'
import type { GgufNaming } from '#engine/models/common.ts'
import {
  type DeltaRule,
  linearPath,
  type LinearName,
  mixerOf,
  type ModelConfig,
} from '#engine/models/config.ts'
import { architectures } from '#engine/models/registry.ts'
import {
  type Arrangement,
  blockScaleName,
  deltaNames,
  expectedTensors,
  kernelNames,
  layerInputNorm,
  layerPrefix,
  sinksPath,
  type TiledHeads,
} from '#engine/models/source.ts'
import { expertPlaces } from './ggufExperts.ts'

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
  'self_attn.out_proj': 'attn_output',
  in_proj_qkv: 'attn_qkv',
  in_proj_z: 'attn_gate',
  in_proj_b: 'ssm_beta',
  in_proj_a: 'ssm_alpha',
  'linear_attn.out_proj': 'ssm_out',
  in_proj: 'shortconv.in_proj',
  'conv.out_proj': 'shortconv.out_proj',
  w1: 'ffn_gate',
  w3: 'ffn_up',
  w2: 'ffn_down',
  c_fc: 'ffn_up',
  down_proj: 'ffn_down',
  'mlp.c_proj': 'ffn_down',
  'mamba.in_proj': 'ssm_in',
  'mamba.out_proj': 'ssm_out',
  'shared_mlp.input_linear': 'ffn_up',
  'shared_mlp.output_linear': 'ffn_down',
  'shared_expert.gate_proj': 'ffn_gate_shexp',
  'shared_expert.up_proj': 'ffn_up_shexp',
  'shared_expert.down_proj': 'ffn_down_shexp',
  per_layer_input_gate: 'inp_gate',
  per_layer_projection: 'proj',
}

/** Reason why llama.cpp cannot have an adapter of this family, as a sentence; null where it can. */
export const ggufProblem = (model: Pick<ModelConfig, 'architecture'>): string | null =>
  namingOf(model) === null
    ? `How llama.cpp names and orders the tensors of ${model.architecture} models is not known here.`
    : null

/** Errors: AppError 'model/unsupported'. */
export function ggufNaming(model: ModelConfig): GgufNaming {
  const found = namingOf(model)
  if (found === null) throw unsupportedModel(ggufProblem(model) ?? '')
  return found
}

/** `blk.0.attn_q`, without `.weight` or `.bias`. */
export const ggufLinear = (layer: number, linear: LinearName): string => `blk.${layer}.${linearNames[linear]}`

/** A tensor of the file that one of the model's is read from. */
export interface GgufPlace {
  readonly name: string
  readonly arrangement: Arrangement | null
  /** Place among the matrices of that tensor; absent: the tensor is the model’s. */
  readonly stack?: { readonly index: number; readonly count: number }
}

/**
 * Returns the place of each of the model's tensors in a file of llama.cpp's converter, by their Hugging Face names;
 * shapes are those that the model computes with, and experts must be apart.
 */
export function ggufPlaces(config: ModelConfig): ReadonlyMap<string, GgufPlace> {
  const byPath = pathsInGguf(config)
  return new Map(
    expectedTensors(config).map(({ name }) => {
      const own = byPath.get(name)
      if (own !== undefined) return [name, own]
      const [, path = '', part = ''] = /^(.*)\.(weight|bias)$/.exec(name) ?? []
      const found = byPath.get(path)
      if (found === undefined) throw new Error(`Expected a name for ${name} in GGUF.`)
      return [name, { ...found, name: `${found.name}.${part}` }]
    }),
  )
}

/** Shape of a tensor in a file: a convolution of each channel by itself has no axis for that, and a matrix of one row none for it. */
export const ggufShape = (shape: readonly number[]): readonly number[] =>
  shape.length === 3 ? shape.filter((_, axis) => axis !== 1) : shape[0] === 1 ? shape.slice(-1) : shape

/** The same for paths without `.weight` and `.bias`. */
function pathsInGguf(config: ModelConfig): Map<string, GgufPlace> {
  const { names, norm, blockNorms } = config
  const { renamed = {} } = ggufNaming(config)
  const called = (name: string): string => renamed[name] ?? name
  const stem = (name: string): string => name.replace(/\.weight$/, '')
  const asIs = (name: string): GgufPlace => ({ name, arrangement: null })
  const ofNorm = (name: string): GgufPlace => ({
    name,
    arrangement: norm === 'rms-offset' ? { kind: 'one-added' } : null,
  })
  const places = new Map<string, GgufPlace>([
    [stem(names.embedding), asIs('token_embd')],
    [stem(names.positions ?? ''), asIs('position_embd')],
    [names.finalNorm, ofNorm(called('output_norm'))],
    [stem(names.head), asIs('output')],
    ...layerInputPlaces(config),
  ])
  const norms = [
    [blockNorms.beforeAttention, 'attn_norm'],
    [blockNorms.afterAttention, 'post_attention_norm'],
    [blockNorms.beforeMlp, 'ffn_norm'],
    [blockNorms.afterMlp, 'post_ffw_norm'],
    [names.queryNorm, 'attn_q_norm'],
    [names.keyNorm, 'attn_k_norm'],
  ] as const
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = layerPrefix(config, layer)
    for (const [path, name] of norms) {
      if (path !== null) places.set(`${prefix}${path}`, ofNorm(`blk.${layer}.${called(name)}`))
    }
    places.set(`${prefix}${stem(kernelNames.weight)}`, asIs(`blk.${layer}.shortconv.conv`))
    places.set(`${prefix}${layerInputNorm}`, asIs(`blk.${layer}.post_norm`))
    places.set(`${prefix}${sinksPath}`, asIs(`blk.${layer}.attn_sinks.weight`))
    places.set(`${prefix}${blockScaleName}`, asIs(`blk.${layer}.layer_output_scale.weight`))
    for (const linear of config.linears) {
      const arrangement = linearArrangement(linear, config)
      places.set(`${prefix}${linearPath(linear)}`, { name: ggufLinear(layer, linear), arrangement })
    }
    for (const [path, place] of expertPlaces(config, layer)) places.set(`${prefix}${path}`, place)
    for (const [path, name, arrangement] of deltaPlaces(config))
      places.set(`${prefix}${path}`, { name: `blk.${layer}.${name}`, arrangement })
  }
  return places
}

/** Places of the tables of what a token brings into each layer. */
function layerInputPlaces({ names: { layerInputs } }: ModelConfig): (readonly [string, GgufPlace])[] {
  if (layerInputs === undefined) return []
  return [
    [layerInputs.table, { name: 'per_layer_token_embd.weight', arrangement: null }],
    [layerInputs.projection, { name: 'per_layer_model_proj.weight', arrangement: null }],
    [layerInputs.norm, { name: 'per_layer_proj_norm', arrangement: null }],
  ]
}

const deltaOf = ({ mixers }: ModelConfig): DeltaRule | undefined =>
  mixers.find(({ kind }) => kind === 'delta') as DeltaRule | undefined

/** Places of the vectors of linear attention, by their paths or names in a layer. */
function deltaPlaces(config: ModelConfig): readonly (readonly [string, string, Arrangement | null])[] {
  const delta = deltaOf(config)
  if (delta === undefined) return []
  const tiled = tiledHeads(delta, 'rows', 0)
  return [
    [deltaNames.rate, 'ssm_a', { ...tiled, isRate: true }],
    [deltaNames.step, 'ssm_dt.bias', tiled],
    [deltaNames.kernel.replace(/\.weight$/, ''), 'ssm_conv1d', tiledHeads(delta, 'rows', keyWidth(delta))],
    [deltaNames.norm.replace(/\.weight$/, ''), 'ssm_norm', null],
  ]
}

const keyWidth = ({ keyHeads, keyDim }: DeltaRule): number => 2 * keyHeads * keyDim

const tiledHeads = (
  { keyHeads, valueHeads }: DeltaRule,
  axis: TiledHeads['axis'],
  first: number,
): TiledHeads => ({ kind: 'tiled', axis, first, keyHeads, valueHeads })

/** Change that the converter makes to a matrix and its bias; null: not at all. */
export function linearArrangement(linear: LinearName, config: ModelConfig): Arrangement | null {
  const heads = interleavedHeads(linear, config)
  if (heads !== null) return { kind: 'interleaved', heads }
  const delta = deltaOf(config)
  if (delta === undefined || mixerOf(linear) !== 'delta') return null
  if (linear === 'linear_attn.out_proj') return tiledHeads(delta, 'columns', 0)
  return tiledHeads(delta, 'rows', linear === 'in_proj_qkv' ? keyWidth(delta) : 0)
}

/** Puts heads of values in the file's order; `back` undoes it. data [rows, columns] → the same shape. */
export function tileHeads(
  data: Float32Array,
  { axis, first, keyHeads, valueHeads }: TiledHeads,
  { rows, back = false }: { readonly rows: number; readonly back?: boolean },
): Float32Array {
  const columns = data.length / rows
  const count = axis === 'rows' ? rows : columns
  const size = (count - first) / valueHeads
  const result = new Float32Array(data.length)
  for (let place = 0; place < count; place++) {
    const head = Math.floor((place - first) / size)
    const grouped = (head % keyHeads) * (valueHeads / keyHeads) + Math.floor(head / keyHeads)
    const other = place < first ? place : place + (grouped - head) * size
    const [from, to] = back ? [place, other] : [other, place]
    if (axis === 'rows') result.set(data.subarray(from * columns, (from + 1) * columns), to * columns)
    else for (let row = 0; row < rows; row++) result[row * columns + to] = data[row * columns + from] ?? NaN
  }
  return result
}

/** Heads whose rows the converter reorders in this matrix and its bias; null where they stay. */
function interleavedHeads(linear: LinearName, model: ModelConfig): number | null {
  if (!ggufNaming(model).isPermuted) return null
  if (linear === 'q_proj') return model.heads
  return linear === 'k_proj' ? model.kvHeads : null
}

/**
 * Puts the rows of q and k in the order of llama.cpp's converter: row h·d + 2i + s was row h·d + s·d/2 + i. data
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
