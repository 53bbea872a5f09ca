/** Mixtures of experts in GGUF files, where the matrices of all experts of a layer are one tensor, gate and up apart. */
import type { ModelConfig } from '#engine/models/config.ts'
import { type Experts, expertsOf } from '#engine/models/expertConfig.ts'
import {
  type ExpertPaths,
  expertPaths,
  routerBias,
  expectedTensors,
  layerPrefix,
  sharedGatePath,
  type ModelSource,
  type TensorLocation,
} from '#engine/models/source.ts'
import { has, integer, type Reading, sizes } from './ggufReading.ts'

/** A tensor of the file [count, …] that a matrix of one expert is a part of. */
interface ExpertPlace {
  readonly name: string
  readonly arrangement: null
  readonly stack?: { readonly index: number; readonly count: number }
}

/** Places of a layer's router and experts, by their paths in it without `.weight`. Experts must be apart. */
export function expertPlaces(config: ModelConfig, layer: number): [string, ExpertPlace][] {
  const experts = expertsOf(config, layer)
  if (experts === null) return []
  const { router, gates, down, biases } = expertPaths.apart
  const stem = (path: string) => path.replace(/\.weight$/, '')
  const named = ['ffn_gate_exps', 'ffn_up_exps', 'ffn_down_exps'].map((name) => `blk.${layer}.${name}`)
  const tables = [...(biases?.gates ?? []), biases?.down ?? ''].map(
    (table, matrix): [string, ExpertPlace] => [
      table,
      { name: `${named[matrix] ?? ''}.bias`, arrangement: null },
    ],
  )
  const matrices = [...gates, down].map((nameOf, matrix) => {
    const name = named[matrix] ?? ''
    return Array.from({ length: experts.count }, (_, index): [string, ExpertPlace] => [
      stem(nameOf(index)),
      { name, arrangement: null, stack: { index, count: experts.count } },
    ])
  })
  return [
    [stem(router), { name: `blk.${layer}.ffn_gate_inp`, arrangement: null }],
    [stem(sharedGatePath), { name: `blk.${layer}.ffn_gate_inp_shexp`, arrangement: null }],
    ...matrices.flat(),
    ...tables,
  ]
}

/** Says of the experts what the keys do; that the weights of a token's add up to 1 is in llama.cpp's code, by family. */
export const expertFields = (reading: Reading) => ({
  num_experts_per_tok: integer(reading, 'expertsUsed', sizes),
  norm_topk_prob: reading.prefix === 'qwen3moe.',
  ...(has(reading, 'expertWidth') && { moe_intermediate_size: integer(reading, 'expertWidth', sizes) }),
  ...(has(reading, 'sharedWidth') && {
    shared_expert_intermediate_size: integer(reading, 'sharedWidth', sizes),
  }),
})

/** The config of the same model with each matrix of each expert by itself. */
export const withExpertsApart = (config: ModelConfig): ModelConfig =>
  config.experts === null || config.experts.form === 'apart'
    ? config
    : { ...config, experts: { ...config.experts, form: 'apart' } }

/** The same model with each matrix of each expert by itself; its tensors are parts of those that it has. */
export function modelApart<Source extends ModelSource>(model: Source): Source {
  const config = withExpertsApart(model.config)
  if (config === model.config) return model
  const known = new Map(model.tensors)
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = layerPrefix(config, layer)
    const experts = expertsOf(model.config, layer)
    for (const [name, { from, part }] of experts === null ? [] : partsApart(experts)) {
      const location = model.tensors.get(`${prefix}${from}`)
      if (location !== undefined) known.set(`${prefix}${name}`, part(location))
    }
  }
  const tensors = expectedTensors(config).map(({ name }) => {
    const location = known.get(name)
    if (location === undefined) throw new Error(`Expected ${name}.`)
    return [name, location] as const
  })
  return { ...model, config, tensors: new Map(tensors) }
}

interface Part {
  /** Name in a layer whose experts are stacked. */
  readonly from: string
  readonly part: (location: TensorLocation) => TensorLocation
}

/** Parts of a layer by their names where experts are apart. */
function partsApart({ form, count, biased }: Experts): [string, Part][] {
  const { apart, [form]: stacked } = expertPaths
  const whole = (from: string): Part => ({ from, part: (location) => location })
  const half = form === 'paired' ? everySecondOf : halfOf
  const tables = biased ? biasesApart(stacked.biases, apart.biases) : []
  const ofExperts = Array.from({ length: count }, (_, expert): [string, Part][] => [
    ...stacked.gates.flatMap((both) =>
      apart.gates.map((nameOf, at): [string, Part] => [
        nameOf(expert),
        { from: both(expert), part: (location) => half(location, at) },
      ]),
    ),
    [apart.down(expert), whole(stacked.down(expert))],
  ])
  return [
    [apart.router, whole(stacked.router)],
    [routerBias(apart.router), whole(routerBias(stacked.router))],
    ...ofExperts.flat(),
    ...tables,
  ]
}

/** Parts of tables of biases in which the channels of gate and up take turns. */
function biasesApart(paired: ExpertPaths['biases'], apart: ExpertPaths['biases']): [string, Part][] {
  if (paired === undefined || apart === undefined) return []
  return [
    ...apart.gates.map((name, at): [string, Part] => [
      name,
      {
        from: paired.gates[0] ?? '',
        part(location) {
          const [count = 0, width = 0] = location.shape
          const column = { ...location, shape: [count * width, 1] }
          return { ...everySecondOf(column, at), shape: [count, width / 2] }
        },
      },
    ]),
    [apart.down, { from: paired.down, part: (location) => location }],
  ]
}

/** Every second row of a matrix, from the first or the second on. */
function everySecondOf(whole: TensorLocation, first: number): TensorLocation {
  const [rows = 0, ...rest] = whole.shape
  return { ...whole, shape: [rows / 2, ...rest], arrangement: { kind: 'every-second', first, whole } }
}

/** The first or second half of a matrix's rows. */
function halfOf(location: TensorLocation, index: number): TensorLocation {
  const { shape, offset } = location
  const [rows = 0, ...rest] = shape
  const byteLength = location.byteLength / 2
  return { ...location, shape: [rows / 2, ...rest], byteLength, offset: offset + index * byteLength }
}
