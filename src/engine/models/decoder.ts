/**
 * One pre-norm decoder block as Llama, Qwen2 and Qwen3 have it, written once for learning and for generation.
 *
 * Reading order: config.ts (what a model says of itself) → this file → lora.ts (where adapters enter) →
 * learningGraphs.ts and generationGraph.ts (the block in its two uses).
 */
import type { Dim } from '../graph/shape.ts'
import type { Value } from '../graph/value.ts'
import { swiglu } from '../ops/activation.ts'
import { add } from '../ops/arithmetic.ts'
import { reshape } from '../ops/layout.ts'
import type { LinearName, ModelConfig } from './config.ts'

/** What differs between uses of the block: where weights come from, and which keys a query sees. */
export interface LayerScope {
  readonly config: ModelConfig
  /** RMSNorm with the weight at `path`. */
  norm(path: string, x: Value): Value
  /** Linear layer with its bias and adapter, if any. */
  linear(name: LinearName, x: Value): Value
  /** Rotary position embedding of the heads in the last axis. */
  rotate(x: Value): Value
  /** Causal attention; q […, H·C], k and v […, K·C] → […, H·C]. */
  attend(q: Value, k: Value, v: Value): Value
}

export interface LayerResult {
  readonly hidden: Value
  /** The values from which the gradient can be computed without repeating the matrix products. */
  readonly activations: Readonly<Record<string, Value>>
}

/** hidden […, D] → […, D]. */
export function decoderLayer(hidden: Value, layer: LayerScope): LayerResult {
  const { heads, kvHeads } = layer.config
  const normed = layer.norm('input_layernorm', hidden)
  const query = layer.rotate(headNorm('q_norm', layer.linear('q_proj', normed), heads, layer))
  const key = layer.rotate(headNorm('k_norm', layer.linear('k_proj', normed), kvHeads, layer))
  const value = layer.linear('v_proj', normed)
  const mixed = layer.attend(query, key, value)
  const attended = add(hidden, layer.linear('o_proj', mixed))

  const normedAgain = layer.norm('post_attention_layernorm', attended)
  const gate = layer.linear('gate_proj', normedAgain)
  const up = layer.linear('up_proj', normedAgain)
  const output = add(attended, layer.linear('down_proj', swiglu(gate, up)))
  return { hidden: output, activations: { query, key, value, mixed, attended, gate, up } }
}

/** RMSNorm over the channels of each head (Qwen3); other families have none. */
function headNorm(name: string, x: Value, heads: number, layer: LayerScope): Value {
  if (!layer.config.qkNorm) return x
  const lead: readonly Dim[] = x.shape.slice(0, -1)
  const split = reshape(x, [...lead, heads, layer.config.headDim])
  return reshape(layer.norm(`self_attn.${name}`, split), x.shape)
}
