/** Reads what config.json says of a mixture of experts. */
import type { Experts } from './config.ts'
import type { Fields } from './fields.ts'

/** The defaults of a family's class, and how its checkpoints and its router are made. */
export interface ExpertTraits {
  readonly defaultCount: number
  readonly defaultChosen: number
  /** Field of the channels inside one. */
  readonly widthKey: string
  readonly defaultWidth: number
  readonly form: Experts['form']
  /** Absent: as `norm_topk_prob` says. */
  readonly weighed?: Experts['weighed']
  /** True for the layers that have experts; all if absent. */
  readonly has?: (layer: number) => boolean
}

export function readExperts(
  fields: Fields,
  { defaultCount, defaultChosen, widthKey, defaultWidth, form, weighed, has = () => true }: ExpertTraits,
  layers: number,
): Experts {
  const whole = (key: string, max: number, fallback: number) => fields.integer(key, { min: 1, max, fallback })
  const countKey = fields.has('num_experts') ? 'num_experts' : 'num_local_experts'
  const count = whole(countKey, 1_024, defaultCount)
  // Dividing the chosen of all shares by their sum is the softmax over the chosen scores.
  const among = fields.boolean('norm_topk_prob', false) ? 'chosen' : 'all'
  return {
    count,
    chosen: whole('num_experts_per_tok', count, Math.min(defaultChosen, count)),
    width: whole(widthKey, 1 << 20, defaultWidth),
    weighed: weighed ?? among,
    form,
    layers: Array.from({ length: layers }, (_, layer) => has(layer)),
  }
}
