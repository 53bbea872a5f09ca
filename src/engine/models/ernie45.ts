import { type Architecture, readDecoderConfig, refuseWindows } from './common.ts'
import { separateLinears } from './config.ts'

/** ERNIE 4.5, dense: Llama with adjacent channels rotated together. Baidu 2025, its technical report. */
export const ernie45 = {
  modelType: 'ernie4_5',
  className: 'Ernie4_5ForCausalLM',
  gguf: { name: 'ernie4_5', isPermuted: false },
  tiny: { headDim: 24, tiedHead: true },
  read(fields, contextLength) {
    refuseWindows(fields)
    const has = fields.boolean('use_bias', false)
    const traits = {
      name: 'ernie4_5',
      defaultKvHeads: 2,
      defaultHeadDim: 128,
      defaultMaxPositions: 131_072,
      defaultTheta: 500_000,
      defaultNormEpsilon: 1e-5,
      defaultBosId: 1,
      defaultEosIds: [2],
      defaultTied: true,
      biases: Object.fromEntries(separateLinears.map((name) => [name, has])),
    } as const
    return { ...readDecoderConfig(fields, traits, contextLength), rotatedPairs: 'adjacent' }
  },
} as const satisfies Architecture
