/**
 * Writes the GGUF metadata of a model in a Hugging Face folder, under the keys that llama.cpp's converter
 * (`convert_hf_to_gguf.py`) writes: `ggufConfig.ts` backwards.
 */
import { unsupportedModel } from '#shared/errors.ts'
import { ropeFields, ropeType, windowSize } from '#engine/models/attentionLayout.ts'
import { attentionOf, type ModelConfig, type RopeConfig } from '#engine/models/config.ts'
import { Fields } from '#engine/models/fields.ts'
import { type ModelType, readModelConfig } from '#engine/models/registry.ts'
import { expectedTensors } from '#engine/models/source.ts'
import type { GgufValue } from './gguf.ts'
import { ggufConfig } from './ggufConfig.ts'
import { withExpertsApart } from './ggufExperts.ts'
import { gemma4Sizes } from './ggufGemma4.ts'
import { type FamilyKey, familyKeys, ropeTensors } from './ggufKeys.ts'
import { ggufNaming, ggufPlaces } from './ggufNames.ts'

export interface ModelWords {
  readonly metadata: ReadonlyMap<string, GgufValue>
  /** Small tensors that belong to the config: factors of the rotary embedding. */
  readonly tensors: ReadonlyMap<string, Float32Array>
}

type Words = readonly (readonly [FamilyKey, GgufValue])[]

const whole = (value: number): GgufValue => ({ type: 'uint32', value })
const real = (value: number): GgufValue => ({ type: 'float32', value })
const text = (value: string): GgufValue => ({ type: 'string', value })
const flags = (items: readonly boolean[]): GgufValue => ({
  type: 'array',
  of: 'bool',
  items: items.map(Number),
})

/**
 * `json` is the model's config.json, `where` its path. Errors: AppError 'model/unsupported' for a family that GGUF does not
 * have, and for a model of which it cannot say everything.
 */
export function describeModel(json: unknown, where: string): ModelWords {
  const config = readModelConfig(json, where, null)
  const all = new Fields(json, where)
  const fields = all.has('text_config') ? all.object('text_config') : all
  const rope = ropeWords(config, fields)
  const { name } = ggufNaming(config)
  const ofFamily = familyWords[config.architecture as ModelType]?.(config, fields) ?? []
  const own = [...sizes(config), ...rope.words, ...ofFamily].map(
    ([key, value]) => [`${name}.${familyKeys[key]}`, value] as const,
  )
  const metadata = new Map<string, GgufValue>([
    ['general.architecture', text(name)],
    ['general.type', text('model')],
    ...own,
  ])
  const words = { metadata, tensors: new Map(rope.tensors) }
  requireSaid(config, words, where)
  return words
}

const sizes = (config: ModelConfig): Words => [
  ['layers', whole(config.layers)],
  ['positions', whole(config.maxPositions)],
  ['vocabulary', whole(config.vocabSize)],
  ['width', whole(config.hiddenSize)],
  ['mlpWidth', whole(config.intermediateSize)],
  ['heads', whole(config.heads)],
  ['kvHeads', whole(config.kvHeads)],
  ['keyWidth', whole(config.headDim)],
  ['valueWidth', whole(config.headDim)],
  [config.norm === 'layer' ? 'layerEpsilon' : 'rmsEpsilon', real(config.normEpsilon)],
]

const windowOf = (fields: Fields, fallback: number): number =>
  fields.integer('sliding_window', { min: 0, max: 1 << 30, fallback })

const capWords = ({ attentionSoftcap, finalSoftcap }: ModelConfig): Words => [
  ...(attentionSoftcap === null ? [] : [['attentionCap', real(attentionSoftcap)] as const]),
  ...(finalSoftcap === null ? [] : [['finalCap', real(finalSoftcap)] as const]),
]

const gemmaWindow = 4_096

/** Metadata that families have beside the sizes of all. */
const familyWords: Readonly<Partial<Record<ModelType, (config: ModelConfig, fields: Fields) => Words>>> = {
  gemma2: (config, fields) => [['window', whole(windowOf(fields, gemmaWindow))], ...capWords(config)],
  gemma3_text: (config, fields) => [
    ['window', whole(windowOf(fields, gemmaWindow))],
    ['windowPattern', whole(localLayers(config).indexOf(false) + 1 || config.layers + 1)],
    ['localTheta', real(localRope(config)?.theta ?? 10_000)],
    ...capWords(config),
  ],
  gemma4_text: gemma4Words,
  gemma4_unified_text: gemma4Words,
  phi3: (config, fields) => [
    ['window', whole(windowOf(fields, 0))],
    ['ropeOriginal', whole(originalPositions(config, fields))],
  ],
  granite: graniteWords,
  granitemoe: (config) => [...graniteWords(config), ...expertWords(config)],
  olmoe(config) {
    requireKeysOfAll(config)
    return expertWords(config)
  },
  qwen3_moe: expertWords,
  olmo3: (config, fields) => [
    ['window', whole(windowOf(fields, 4_096))],
    ['windowPattern', flags(localLayers(config))],
  ],
  exaone4: (config, fields) =>
    windowSize(fields, 4_096) === null
      ? []
      : [
          ['window', whole(windowOf(fields, 4_096))],
          ['windowPattern', flags(config.mixers.map((_, layer) => attentionOf(config, layer).rope !== null))],
        ],
  ministral3(_, fields) {
    const rope = ropeFields(fields, 'full_attention')
    const limits = { min: 0, max: 1e6, fallback: 0 }
    return [
      ['yarnLog', real(rope.number('mscale_all_dim', limits))],
      ['queryGrowth', real(rope.number('llama_4_scaling_beta', limits))],
    ]
  },
  lfm2: ({ kvHeads, mixers }) => [
    [
      'kvHeads',
      {
        type: 'array',
        of: 'uint32',
        items: Uint32Array.from(mixers, ({ kind }) => (kind === 'attention' ? kvHeads : 0)),
      },
    ],
    ['convolution', whole(mixers.find((mixer) => mixer.kind === 'convolution')?.kernel ?? 3)],
  ],
  qwen3_5_text: qwen35Words,
  qwen3_5_moe_text: (config, fields) => [...qwen35Words(config, fields), ...expertWords(config)],
  gpt_oss(config, fields) {
    requireOssParts(config, fields)
    const slides = config.windows.map((window) => window !== null)
    return [
      ['window', whole(windowOf(fields, 128))],
      [
        'windowPattern',
        flags(config.mixers.map((_, layer) => slides[attentionOf(config, layer).window] === true)),
      ],
      ...expertWords(config),
    ]
  },
  stablelm: () => [['parallelResidual', { type: 'bool', value: false }]],
}

/** Requires what llama.cpp assumes: layers without keys share those of the last two layers that have them. Errors: AppError 'model/unsupported'. */
function requireLastKeys({ mixers, architecture }: ModelConfig, slides: readonly boolean[]): void {
  const owners = mixers.map((mixer) => (mixer.kind === 'attention' ? mixer.keysOf : undefined))
  const own = owners.lastIndexOf(undefined) + 1
  if (owners.every((owner, layer) => owner === undefined || owner === own - (slides[layer] === true ? 2 : 1)))
    return
  throw unsupportedModel(
    `llama.cpp takes the keys that ${architecture} layers share from the last two layers with keys of their own, a sliding-window one and then one with full attention; this model takes them from others.`,
    'Export it as a merged model instead.',
  )
}

function gemma4Words(config: ModelConfig): Words {
  const own = gemma4Sizes(config)
  requireLastKeys(config, own.slides)
  const each = (items: readonly number[]): GgufValue =>
    new Set(items).size === 1
      ? whole(items[0] ?? 0)
      : { type: 'array', of: 'uint32', items: Uint32Array.from(items) }
  return [
    ['mlpWidth', each(own.mlpWidths)],
    ['kvHeads', each(own.kvHeads)],
    ['keyWidth', whole(own.headDim)],
    ['valueWidth', whole(own.headDim)],
    ['keyWidthSliding', whole(config.headDim)],
    ['valueWidthSliding', whole(config.headDim)],
    ['rotated', whole(own.headDim)],
    ['rotatedSliding', whole(config.headDim)],
    ['theta', real(own.theta)],
    ['localTheta', real(own.localTheta)],
    ['window', whole(own.window)],
    ['windowPattern', flags(own.slides)],
    ['sharedLayers', whole(own.shared)],
    ['layerChannels', whole(config.layerChannels)],
    ...capWords(config),
  ]
}

function graniteWords(config: ModelConfig): Words {
  return [
    ['embeddingScale', real(config.embeddingScale)],
    ['attentionScale', real(config.attentionScale)],
    ['residualScale', real(config.residualScale)],
    ['logitScale', real(1 / config.logitScale)],
  ]
}

/** llama.cpp norms keys of OLMoE as wide as the queries. Errors: AppError 'model/unsupported'. */
function requireKeysOfAll({ heads, kvHeads, architecture }: ModelConfig): void {
  if (heads === kvHeads) return
  throw unsupportedModel(
    `llama.cpp reads ${architecture} models with as many heads of keys as of queries alone; this one has ${kvHeads} for ${heads}.`,
    'Export it as a merged model instead.',
  )
}

/**
 * Requires the tensors without which llama.cpp opens no file of GPT-OSS, and the turns between which it blends YaRN whatever
 * the file says. Errors: AppError 'model/unsupported'.
 */
function requireOssParts({ biases, tiedHead, architecture }: ModelConfig, fields: Fields): void {
  const rope = ropeFields(fields, 'full_attention')
  const turns = (key: string, usual: number) =>
    rope.number(key, { min: 0, max: 1e6, fallback: usual }) === usual
  const lacks = biases.o_proj !== true || tiedHead
  if (!lacks && turns('beta_fast', 32) && turns('beta_slow', 1)) return
  const what = lacks
    ? 'biases on attention and a head of its own'
    : 'YaRN that blends between 32 turns and 1 (“beta_fast”, “beta_slow”)'
  throw unsupportedModel(
    `llama.cpp reads ${architecture} models with ${what} alone; this one has others.`,
    'Export it as a merged model instead.',
  )
}

function expertWords({ experts }: ModelConfig): Words {
  if (experts === null) return []
  return [
    ['experts', whole(experts.count)],
    ['expertsUsed', whole(experts.chosen)],
    ['expertWidth', whole(experts.width)],
    ...(experts.sharedWidth > 0 ? ([['sharedWidth', whole(experts.sharedWidth)]] as const) : []),
  ]
}

/** Layers of Gemma 3 and OLMo 3 that slide. They rotate by frequencies of their own, the first ones always. */
const localLayers = (config: ModelConfig): boolean[] =>
  config.mixers.map((_, layer) => ropeOf(config, layer) === ropeOf(config, 0))

const localRope = (config: ModelConfig): RopeConfig | undefined => ropeOf(config, 0)

const ropeOf = (config: ModelConfig, layer: number): RopeConfig | undefined =>
  config.ropes[attentionOf(config, layer).rope ?? 0]

/** Pairs of channels rotate by one of three positions in turn, which are the same in texts. */
function qwen35Words({ mixers, ropes }: ModelConfig, fields: Fields): Words {
  const delta = mixers.find((mixer) => mixer.kind === 'delta')
  if (delta === undefined) return []
  const given = ropeFields(fields, 'full_attention').numbers('mrope_section', { min: 0, max: 1_024 })
  const pairs = ropes[0]?.inverseFrequencies.length ?? 0
  const usual = [0, 1, 2].map((section) => Math.ceil((pairs - section) / 3))
  const items = [...(given.length === 0 ? usual : given), 0, 0, 0].slice(0, 4)
  return [
    ['deltaKernel', whole(delta.kernel)],
    ['deltaKeyWidth', whole(delta.keyDim)],
    ['deltaKeyHeads', whole(delta.keyHeads)],
    ['deltaValueHeads', whole(delta.valueHeads)],
    ['deltaValues', whole(delta.valueHeads * delta.valueDim)],
    ['fullInterval', whole(mixers.findIndex(({ kind }) => kind === 'attention') + 1)],
    ['ropeSections', { type: 'array', of: 'int32', items }],
  ]
}

const slidesFirst: ReadonlySet<string> = new Set(['gemma3_text', 'olmo3'])

/** The frequencies of the layers that see everything. */
function globalRope(config: ModelConfig): RopeConfig | undefined {
  const layer = slidesFirst.has(config.architecture) ? localLayers(config).indexOf(false) : -1
  return layer === -1 ? config.ropes[0] : ropeOf(config, layer)
}

function originalPositions({ maxPositions }: ModelConfig, fields: Fields): number {
  const key = 'original_max_position_embeddings'
  const limits = { min: 1, max: 1 << 24 }
  const inside = ropeFields(fields, 'full_attention').integer(key, { ...limits, fallback: maxPositions })
  return fields.integer(key, { ...limits, fallback: inside })
}

interface RopeWords {
  readonly words: Words
  readonly tensors: readonly (readonly [string, Float32Array])[]
}

function ropeWords(config: ModelConfig, fields: Fields): RopeWords {
  if (ggufNaming(config).name === 'gemma4')
    return { words: [], tensors: [[ropeTensors.divisors, gemma4Sizes(config).divisors]] }
  const rope = globalRope(config)
  if (rope === undefined) return { words: [], tensors: [] }
  const plain: Words = [
    ['rotated', whole(2 * rope.inverseFrequencies.length)],
    ['theta', real(rope.theta)],
  ]
  const { words, tensors } = scalingWords(config, rope, fields)
  return { words: [...plain, ...words], tensors }
}

function scalingWords(config: ModelConfig, rope: RopeConfig, fields: Fields): RopeWords {
  const given = ropeFields(fields, 'full_attention')
  const factor = (): number =>
    given.number('factor', {
      min: 1,
      max: 1e6,
      fallback: Math.max(1, config.maxPositions / originalPositions(config, fields)),
    })
  switch (ropeType(given)) {
    case 'linear':
      return {
        words: [
          ['ropeType', text('linear')],
          ['ropeFactor', real(factor())],
        ],
        tensors: [],
      }
    case 'yarn':
      return {
        words: [
          ['ropeType', text('yarn')],
          ['ropeFactor', real(factor())],
          ['ropeOriginal', whole(originalPositions(config, fields))],
          ...betaWords(given),
        ],
        tensors: [],
      }
    case 'llama3':
      return { words: [], tensors: [[ropeTensors.divisors, divisorsOf(rope)]] }
    case 'longrope':
      return {
        words: [
          ['ropeOriginal', whole(originalPositions(config, fields))],
          ['ropeAttention', real(rope.attentionFactor)],
        ],
        tensors: [
          [ropeTensors.long, Float32Array.from(given.numbers('long_factor', { min: 1e-6, max: 1e9 }))],
          [ropeTensors.short, Float32Array.from(given.numbers('short_factor', { min: 1e-6, max: 1e9 }))],
        ],
      }
    default:
      return { words: [], tensors: [] }
  }
}

const betaWords = (rope: Fields): Words =>
  (['beta_fast', 'beta_slow'] as const).flatMap((name) =>
    rope.has(name)
      ? [
          [
            name === 'beta_fast' ? 'betaFast' : 'betaSlow',
            real(rope.number(name, { min: 0, max: 1e6 })),
          ] as const,
        ]
      : [],
  )

/** Factor by which each pair turns slower than its base says. */
function divisorsOf({ theta, inverseFrequencies }: RopeConfig): Float32Array {
  const pairs = inverseFrequencies.length
  return Float32Array.from(inverseFrequencies, (frequency, pair) => theta ** (-pair / pairs) / frequency)
}

/** The name of a property of a config in a sentence. */
const wordsOf = (key: string): string => unsaidWords[key] ?? key
const unsaidWords: Readonly<Record<string, string>> = { mixers: 'attention' }

/**
 * Refuses a model with something that its metadata cannot say, such as attention scaled by another number than its
 * family's.
 */
function requireSaid(config: ModelConfig, { metadata, tensors }: ModelWords, where: string): void {
  const apart = withExpertsApart(config)
  const places = ggufPlaces(apart)
  const shapes = expectedTensors(apart).map(
    ({ name, shape }) => [places.get(name)?.name ?? '', { shape }] as const,
  )
  const read = ggufConfig({
    file: where,
    metadata,
    tensors: new Map(shapes),
    numbers: (name) => {
      const found = tensors.get(name)
      return found === undefined ? null : [...found]
    },
  })
  const found = comparable(readModelConfig(read, where, null))
  const unsaid = Object.entries(comparable(config)).flatMap(([key, value]) =>
    found[key] === value ? [] : [key],
  )
  if (unsaid.length === 0) return
  throw unsupportedModel(
    `${where} describes a model of which a GGUF file cannot say everything: ${unsaid.map(wordsOf).join(', ')}.`,
    'Export it as a merged model instead.',
  )
}

/** Returns each field as text; numbers to five digits, since those of a file are f32. */
function comparable(config: ModelConfig): Readonly<Record<string, string>> {
  const { architecture: _, bosId: _bos, eosIds: _eos, padId: _pad, names: _names, ...rest } = config
  const rounded = (_key: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(5)) : value === false ? undefined : value
  return Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, JSON.stringify(value, rounded)]))
}
