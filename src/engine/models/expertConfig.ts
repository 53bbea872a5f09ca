/** Says what a mixture of experts is, and reads it from config.json. */
import type { Fields } from './fields.ts'

/** Mixtures of experts. Shazeer et al. 2017, arXiv:1701.06538. */
export interface Experts {
  readonly count: number
  /** Experts that each token goes through. */
  readonly chosen: number
  /** Channels inside one. */
  readonly width: number
  /** Experts among whose scores the softmax is taken that weighs the chosen ones. */
  readonly weighed: 'all' | 'chosen'
  /** Channels inside the one that all tokens go through besides, behind a gate of its own; 0: there is none. */
  readonly sharedWidth: number
  /**
   * Way in which checkpoints hold their matrices: each by itself, or those of a layer stacked, with gate and up in one, under
   * Granite's names or those of transformers; `paired`: transposed, the channels of gate and up taking turns (GPT-OSS).
   */
  readonly form: 'apart' | 'stacked' | 'fused' | 'paired'
  /** True if router and matrices have biases. */
  readonly biased: boolean
  /** Bounds of what enters an expert; null: SwiGLU without any. */
  readonly clamp: SwigluClamp | null
  /** [layers]: true where a mixture takes the place of the MLP. */
  readonly layers: readonly boolean[]
}

/** Bounds of SwiGLU, and the factor of the gate within its sigmoid. */
export interface SwigluClamp {
  /** Largest gate, and largest size of up. */
  readonly limit: number
  readonly alpha: number
}

/** The mixture of a layer; null where it has an MLP. */
export const expertsOf = (
  { experts }: { readonly experts: Experts | null },
  layer: number,
): Experts | null => (experts?.layers[layer] === true ? experts : null)

/** Choices of a token in all layers before `layer`; in all there are if absent. */
export const routeWidth = ({ layers, chosen }: Experts, layer = layers.length): number =>
  chosen * layers.slice(0, layer).filter(Boolean).length

/** The defaults of a family's class, and how its checkpoints and its router are made. */
export interface ExpertTraits {
  readonly defaultCount: number
  readonly defaultChosen: number
  /** Field of the channels inside one. */
  readonly widthKey: string
  readonly defaultWidth: number
  /** Field of the channels inside the one that all tokens go through, and its default; absent: there is none. */
  readonly shared?: { readonly key: string; readonly defaultWidth: number }
  readonly form: Experts['form']
  /** Way in which checkpoints may hold them in few bits besides, as `quant_method` names it. */
  readonly packing?: 'mxfp4'
  /** True if they have biases; absent: they have none. */
  readonly biased?: boolean
  /** Absent: there are no bounds. */
  readonly clamp?: SwigluClamp
  /** Absent: as `norm_topk_prob` says. */
  readonly weighed?: Experts['weighed']
  /** True for the layers that have experts; all if absent. */
  readonly has?: (layer: number) => boolean
}

export function readExperts(fields: Fields, traits: ExpertTraits, layers: number): Experts {
  const {
    defaultCount,
    defaultChosen,
    widthKey,
    defaultWidth,
    shared,
    form,
    biased = false,
    clamp = null,
    weighed,
    has = () => true,
  } = traits
  const whole = (key: string, max: number, fallback: number) => fields.integer(key, { min: 1, max, fallback })
  const countKey = fields.has('num_experts') ? 'num_experts' : 'num_local_experts'
  const count = whole(countKey, 1_024, defaultCount)
  // Dividing the chosen of all shares by their sum is the softmax over the chosen scores.
  const among = fields.boolean('norm_topk_prob', false) ? 'chosen' : 'all'
  return {
    count,
    chosen: whole('num_experts_per_tok', count, Math.min(defaultChosen, count)),
    width: whole(widthKey, 1 << 20, defaultWidth),
    sharedWidth: shared === undefined ? 0 : whole(shared.key, 1 << 20, shared.defaultWidth),
    weighed: weighed ?? among,
    form,
    biased,
    clamp,
    layers: Array.from({ length: layers }, (_, layer) => has(layer)),
  }
}
