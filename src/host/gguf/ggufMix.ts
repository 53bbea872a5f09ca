/**
 * Chooses the type of each tensor of a GGUF file, by the name of the whole: as llama.cpp's converter and
 * `llama-quant.cpp` do.
 */
import type { ModelConfig } from '#engine/models/config.ts'
import { blockLayouts } from '#host/files/dequantize.ts'
import type { WrittenBlocks } from './quantize.ts'

/** Mostly Q4_K: the matrices that matter most get Q6_K in half of the layers. */
export type GgufMix = 'F32' | 'F16' | 'BF16' | 'Q8_0' | 'Q4_K_M'

/** `general.file_type` */
export const fileTypes: Readonly<Record<GgufMix, number>> = { F32: 0, F16: 1, BF16: 32, Q8_0: 7, Q4_K_M: 15 }

export type WrittenType = Exclude<GgufMix, 'Q4_K_M'> | WrittenBlocks

export const isBlocks = (type: string): type is WrittenBlocks => Object.hasOwn(blockLayouts, type)

interface Matrix {
  /** Name in the file: `blk.3.ffn_down.weight`. */
  readonly name: string
  /** [rows, columns], or [n] of a vector. */
  readonly shape: readonly number[]
}

const exactTables =
  /^position_embd[.]weight$|[.](?:ffn_gate_inp(?:_shexp)?|ssm_conv1d|shortconv[.]conv)[.]weight$|[.]bias$/

/** Vectors, norms, learned positions, routers, short convolutions (which llama.cpp multiplies in no other type) and biases stay f32. */
export function typeInMix(mix: GgufMix, { name, shape }: Matrix, model: ModelConfig): WrittenType {
  const [, columns] = shape
  if (columns === undefined || exactTables.test(name)) return 'F32'
  if (mix === 'F32' || mix === 'F16' || mix === 'BF16') return mix
  return fitting(mix === 'Q8_0' ? mix : typeInQ4_K_M(name, model), columns)
}

function typeInQ4_K_M(name: string, model: ModelConfig): 'Q4_K' | 'Q6_K' {
  // The matrix that gives the logits, be it the embeddings too.
  if (name === (model.tiedHead ? 'token_embd.weight' : 'output.weight')) return 'Q6_K'
  const [, layer] =
    /^blk[.](\d+)[.](?:attn_v|attn_qkv|ffn_down|ffn_down_exps|ffn_down_shexp)[.]/.exec(name) ?? []
  return layer !== undefined && getsMoreBits(Number(layer), model.layers) ? 'Q6_K' : 'Q4_K'
}

/** The first and last eighth of the layers, and every third between. */
function getsMoreBits(layer: number, layers: number): boolean {
  const eighth = Math.floor(layers / 8)
  return layer < eighth || layer >= Math.floor((7 * layers) / 8) || (layer - eighth) % 3 === 2
}

/** Substitutes for types whose blocks are longer than a row divides into; f16 goes with any. */
const fallbacks = { Q4_K: 'Q5_0', Q6_K: 'Q8_0', Q5_0: 'F16', Q8_0: 'F16' } as const

function fitting(type: WrittenBlocks, columns: number): WrittenType {
  if (columns % blockLayouts[type].elements === 0) return type
  const fallback = fallbacks[type]
  return fallback === 'F16' ? fallback : fitting(fallback, columns)
}
