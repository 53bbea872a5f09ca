/** Seven families with widths, heads and windows that no power of two divides, and long sequences that begin alike. */
import type { LoraConfig } from '#engine/models/config.ts'
import type { ModelSource } from '#engine/models/source.ts'
import type { TokenSequence } from '#engine/policy.ts'
import { modelShapes, type ModelShape } from '#host/models/modelShapes.ts'
import { casesOf } from '../../sweeps.ts'
import { randomSequence, tinySource } from './tinyModel.ts'

/** The vocabulary is more than one slice of the head holds. */
const odd = { layers: 2, hiddenSize: 90, intermediateSize: 150, vocabSize: 2_300, maxPositions: 2_304 }
const deviation = 0.1

/** Windows end within the sequences. */
const shapes = {
  llama: { ...modelShapes['tiny-llama'], ...odd, heads: 6, kvHeads: 3, headDim: 20 },
  mistral: {
    ...modelShapes['tiny-mistral'],
    ...odd,
    heads: 5,
    kvHeads: 1,
    headDim: 18,
    config: { sliding_window: 301 },
  },
  gemma2: {
    ...modelShapes['tiny-gemma2'],
    ...odd,
    heads: 3,
    kvHeads: 1,
    headDim: 22,
    config: {
      sliding_window: 257,
      query_pre_attn_scalar: 20,
      attn_logit_softcapping: 3.5,
      final_logit_softcapping: 5.5,
    },
  },
  phi3: {
    ...modelShapes['tiny-phi3'],
    ...odd,
    hiddenSize: 100,
    heads: 5,
    kvHeads: 5,
    headDim: 20,
    config: { sliding_window: 300, partial_rotary_factor: 0.5 },
  },
  qwen2: {
    ...modelShapes['tiny-qwen2'],
    ...odd,
    heads: 9,
    kvHeads: 3,
    headDim: 10,
    config: { use_sliding_window: true, sliding_window: 129, max_window_layers: 1 },
  },
  lfm2: {
    ...modelShapes['tiny-lfm2'],
    ...odd,
    heads: 5,
    kvHeads: 1,
    headDim: 18,
    config: { full_attn_idxs: [1], conv_L_cache: 5, block_auto_adjust_ff_dim: false },
  },
  gpt2: { ...modelShapes['tiny-gpt2'], ...odd, heads: 5, kvHeads: 5, headDim: 18 },
} as const satisfies Readonly<Record<string, ModelShape>>

export type OddModel = keyof typeof shapes

export const oddModels = Object.keys(shapes) as readonly OddModel[]

/** Writes such a model below `folder` and opens it. */
export const oddSource = (folder: string, name: OddModel): Promise<ModelSource> =>
  tinySource(folder, { ...shapes[name], deviation })

/** On every linear of the family, with factors large enough to change every number. */
export const loraOf = ({ config }: ModelSource): LoraConfig => ({
  rank: 4,
  alpha: 8,
  rsLora: false,
  targets: config.linears,
})

const longest = casesOf(1_350, 2_300)

/**
 * A long sequence, in the long run as long as the models allow; one that leaves it behind 700 tokens; one that leaves that
 * behind 900; and the first 1,000 tokens of the second.
 */
export function sequencesAlike(vocabSize: number): readonly TokenSequence[] {
  const all = [longest, 1_100, 1_200, 1_000].map((length, seed) => randomSequence(vocabSize, length, seed))
  for (const [from, to, common] of [
    [0, 1, 700],
    [1, 2, 900],
    [1, 3, 1_000],
  ] as const)
    all[to]!.ids.set(all[from]!.ids.subarray(0, common))
  // All tokens but the last lead to a prediction that counts.
  for (const { actionMask } of all) actionMask.fill(1, -1)
  return all
}

/** Tokens of those sequences that lead to predictions, each common beginning once. */
export const distinctTokens = longest - 1 + 399 + 299
