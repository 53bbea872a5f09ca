import { type LinearName, linearNames, linearPath, linearShape, type ModelConfig } from './config.ts'

export interface ExpectedTensor {
  readonly name: string
  readonly shape: readonly number[]
}

export const embeddingName = 'model.embed_tokens.weight'
export const finalNormName = 'model.norm.weight'
const headName = 'lm_head.weight'

/** `model.layers.3.`: where the names of a layer begin. */
export const layerPrefix = (layer: number): string => `model.layers.${layer}.`

/** `model.layers.3.mlp.up_proj.weight` */
export const linearWeightName = (layer: number, linear: LinearName): string =>
  `${layerPrefix(layer)}${linearPath(linear)}.weight`

/** The tensor whose rows are the vocabulary projection: the head's own, or the embedding it shares. */
export const headWeightName = (config: ModelConfig): string => (config.tiedHead ? embeddingName : headName)

/** Every tensor of a checkpoint with this config, under its Hugging Face name; linears as [out, in]. */
export function expectedTensors(config: ModelConfig): ExpectedTensor[] {
  const { hiddenSize, vocabSize } = config
  const table = [vocabSize, hiddenSize] as const // [V, D]
  const tensors: ExpectedTensor[] = [{ name: embeddingName, shape: table }]
  for (let layer = 0; layer < config.layers; layer++) tensors.push(...layerTensors(config, layer))
  tensors.push({ name: finalNormName, shape: [hiddenSize] })
  if (!config.tiedHead) tensors.push({ name: headName, shape: table })
  return tensors
}

function layerTensors(config: ModelConfig, layer: number): ExpectedTensor[] {
  const prefix = layerPrefix(layer)
  const norm = [config.hiddenSize]
  const headNorm = [config.headDim]
  const norms = [
    { name: `${prefix}input_layernorm.weight`, shape: norm },
    { name: `${prefix}post_attention_layernorm.weight`, shape: norm },
  ]
  const headNorms = [
    { name: `${prefix}self_attn.q_norm.weight`, shape: headNorm },
    { name: `${prefix}self_attn.k_norm.weight`, shape: headNorm },
  ]
  const linears = linearNames.flatMap((linear) => {
    const shape = linearShape(config, linear)
    const weight = { name: linearWeightName(layer, linear), shape }
    const bias = { name: `${prefix}${linearPath(linear)}.bias`, shape: [shape[0]] }
    return config.biases[linear] ? [weight, bias] : [weight]
  })
  return [...norms, ...(config.qkNorm ? headNorms : []), ...linears]
}
