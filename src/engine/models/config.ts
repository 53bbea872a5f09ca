/** What a decoder needs to know about itself, whatever family it comes from. Read by `models/registry.ts`. */
export interface ModelConfig {
  readonly architecture: string
  readonly layers: number
  readonly hiddenSize: number
  readonly heads: number
  /** Key/value heads; a divisor of `heads` (grouped-query attention). */
  readonly kvHeads: number
  /** Channels per head. */
  readonly headDim: number
  readonly intermediateSize: number
  readonly vocabSize: number
  /** Longest sequence the positions were made for. */
  readonly maxPositions: number
  readonly normEpsilon: number
  readonly rope: RopeConfig
  /** The output head is the transposed embedding table. */
  readonly tiedHead: boolean
  readonly biases: Readonly<Record<LinearName, boolean>>
  /** RMSNorm over each head's channels of q and k (Qwen3). */
  readonly qkNorm: boolean
  readonly bosId: number | null
  readonly eosIds: readonly number[]
  readonly padId: number | null
}

/** Rotary embedding: angle of position p, pair i = p · inverseFrequencies[i]; cos and sin times `attentionFactor`. */
export interface RopeConfig {
  /** [headDim / 2] */
  readonly inverseFrequencies: readonly number[]
  readonly attentionFactor: number
}

/** The linear layers of a block that LoRA can adapt, in the checkpoint's own words. */
export const linearNames = [
  'q_proj',
  'k_proj',
  'v_proj',
  'o_proj',
  'gate_proj',
  'up_proj',
  'down_proj',
] as const
export type LinearName = (typeof linearNames)[number]

/** Linears that read the same input. */
export const linearsByInput: readonly (readonly LinearName[])[] = [
  ['q_proj', 'k_proj', 'v_proj'],
  ['o_proj'],
  ['gate_proj', 'up_proj'],
  ['down_proj'],
]

/** `self_attn.q_proj`: the module path of a linear within its layer. */
export const linearPath = (name: LinearName): string =>
  name === 'gate_proj' || name === 'up_proj' || name === 'down_proj' ? `mlp.${name}` : `self_attn.${name}`

/** Output and input width of a linear, as its weight [out, in] has them. */
export function linearShape(config: ModelConfig, name: LinearName): readonly [out: number, input: number] {
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim } = config
  switch (name) {
    case 'q_proj':
      return [heads * headDim, hiddenSize]
    case 'k_proj':
    case 'v_proj':
      return [kvHeads * headDim, hiddenSize]
    case 'o_proj':
      return [hiddenSize, heads * headDim]
    case 'gate_proj':
    case 'up_proj':
      return [intermediateSize, hiddenSize]
    case 'down_proj':
      return [hiddenSize, intermediateSize]
  }
}

/** LoRA (Hu et al. 2021, arXiv:2106.09685): y = W x + s·B(A x), s = alpha/rank, or alpha/√rank for rsLoRA. */
export interface LoraConfig {
  readonly rank: number
  readonly alpha: number
  readonly rsLora: boolean
  readonly targets: readonly LinearName[]
  /** Probability with which an element of the adapter's input is left out while it learns; 0 if absent. */
  readonly dropout?: number
}

export const loraScale = ({ rank, alpha, rsLora }: LoraConfig): number =>
  alpha / (rsLora ? Math.sqrt(rank) : rank)
