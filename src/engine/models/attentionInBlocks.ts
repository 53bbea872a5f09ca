/** Attention of long sequences while learning: the inputs of `blockwiseAttention` in a layer's graph. */
import { type Value, input } from '../graph/value.ts'
import { blockColumns, blockwiseAttention } from '../ops/blockwiseAttention.ts'
import { forEachRow } from '../ops/reduce.ts'
import { headShape, type LayerAttention, type ModelConfig } from './config.ts'

/** Graph inputs that all windows share: the packed row of each key, and the place of each packed row among the blocks. */
export const blockNames = { keyRows: 'rows of keys', places: 'places in blocks' } as const
/**
 * Names of the graph inputs for a window of `ModelConfig.windows`: the table of its blocks, and the numbers added to
 * their scores.
 */
export const blockWindowNames = (window: number) => ({
  table: `blocks of window ${window}` as const,
  mask: `block mask of window ${window}` as const,
})
export type BlockName =
  | (typeof blockNames)[keyof typeof blockNames]
  | ReturnType<typeof blockWindowNames>[keyof ReturnType<typeof blockWindowNames>]

/** q [N, H·C], k and v [N, K·C], a sink of each head or null [H] → [N, H·C] */
export type Attend = (q: Value, k: Value, v: Value, sinks: Value | null) => Value

export function attentionInBlocks(config: ModelConfig, mixer: LayerAttention): Attend {
  const { window } = mixer
  const { attentionScale, attentionSoftcap } = config
  const { kvHeads, headDim } = headShape(config, mixer)
  const names = blockWindowNames(window)
  const blocks = {
    table: input(names.table, 'int64', ['I', blockColumns.length]),
    keyRows: input(blockNames.keyRows, 'int64', ['T']),
    places: input(blockNames.places, 'int64', ['N']),
    mask: input(names.mask, 'float32', ['Q', `M${window}`]),
  }
  const scores = { scale: attentionScale, softcap: attentionSoftcap }
  return (queries, keys, values, sinks) =>
    blockwiseAttention({
      queries,
      keys,
      values,
      blocks,
      kvHeads,
      headDim,
      scores,
      sinks: sinks && forEachRow(sinks, queries),
    })
}
