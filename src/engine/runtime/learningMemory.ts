/** Trades memory for speed in learning: segments that fit a card, activations or packed weights kept in the machine's memory. */
import { totalmem } from 'node:os'
import type { Device } from '#shared/device.ts'
import type { FrozenProducts } from '#shared/precision.ts'
import { basePrecisionOf } from '../models/blocks.ts'
import {
  hasGate,
  headShape,
  isBeside,
  isRecurrent,
  recurrentWidth,
  type LayerMixer,
  type LoraConfig,
  type ModelConfig,
} from '../models/config.ts'
import { type Experts, expertsOf } from '../models/expertConfig.ts'
import { planDevice, type Activations, type DevicePlan } from '../models/deviceMemory.ts'
import { learnsInBytes, packedBytes } from '../models/frozenWeights.ts'
import type { ModelSource } from '../models/source.ts'
import type { LearnerOptions } from './learner.ts'
import { replicasOf } from './packedBatch.ts'

/** The part of a policy's options that decides how much memory learning takes. */
export interface LearningMemoryOptions {
  /** f32 tensors in one folder; for int8 rollouts also the 8-bit form of each matrix. */
  readonly source: ModelSource
  readonly device: Device
  readonly lora: LoraConfig
  readonly activations: Activations
  /** Form of the products when learning with a base in 8 bits; 'auto' if absent. */
  readonly products?: FrozenProducts
  /** Memory of the card; null or absent if unknown. */
  readonly memoryBytes?: number | null
  /** Longest prompt plus completion; that of the model's config if absent, of which a plan leaves room for `UNSAID_LENGTH`. */
  readonly contextLength?: number
}

/** Longest sequence that a card has room for where nobody says how long they get and the model would take longer ones. */
const UNSAID_LENGTH = 4096

/** Share of the machine's memory that saved activations or packed weights may take, unless a run says how to learn. */
const FASTER_SHARE = 0.25

/** Plans segments and micro-batch for a card; null on the CPU and CoreML, where programs have one layer each. */
export function planFor({
  source,
  lora,
  device,
  memoryBytes = null,
  contextLength,
  activations,
}: LearningMemoryOptions): DevicePlan | null {
  const { kind } = device
  if (kind === 'cpu' || kind === 'coreml') return null
  const { config } = source
  const length = Math.min(contextLength ?? UNSAID_LENGTH, config.contextLength)
  return planDevice({ config, lora, base: basePrecisionOf(source), kind, memoryBytes, length, activations })
}

/**
 * Decides what learning spends memory on to be faster. Products in whole numbers are repeated sooner than the runtime hands activations
 * over and back, but are a tenth faster with packed weights (bench/history/int8.md).
 */
export function learningMemory(
  {
    source,
    device,
    activations,
    products,
  }: Omit<LearningMemoryOptions, 'lora' | 'memoryBytes' | 'contextLength'>,
  machineBytes = totalmem(),
): Pick<LearnerOptions, 'backward' | 'savedTokens' | 'packsWeights'> {
  const [inBytes, limit] = [learnsInBytes(source, products), FASTER_SHARE * machineBytes]
  const isFitting = replicasOf(device) * packedBytes(source) <= limit
  const packsWeights = inBytes && (activations === 'save' || (activations === 'auto' && isFitting))
  if (activations === 'save') return { ...saving, packsWeights }
  if (activations === 'recompute' || inBytes) return { ...recomputing, packsWeights }
  const savedTokens = Math.floor(limit / activationBytes(source.config))
  return { backward: ['backward', 'backwardFromSaved'], savedTokens, packsWeights }
}

const saving = { backward: ['backwardFromSaved'], savedTokens: Infinity } as const
const recomputing = { backward: ['backward'], savedTokens: 0 } as const

function innerNumbers(
  { chosen, width, sharedWidth, count }: Experts,
  { hiddenSize, intermediateSize, linears }: ModelConfig,
): number {
  const gated = sharedWidth > 0 ? 2 * sharedWidth + hiddenSize : 0
  const shared = linears.some(isBeside) ? 2 * intermediateSize : gated
  return chosen * (2 * width + hiddenSize) + shared + count
}

/** Numbers of a token that a mixer saves: what its matrices give it, and what it mixes of that. */
function mixerNumbers(mixer: LayerMixer | undefined, config: ModelConfig): number {
  if (mixer?.kind === 'convolution') return 4 * config.hiddenSize
  if (isRecurrent(mixer)) {
    const perHead = mixer.kind === 'delta' ? 2 : 1 // its strength and step, or its step
    return recurrentWidth(mixer) + mixer.valueHeads * (2 * mixer.valueDim + perHead)
  }
  const { heads, kvHeads, headDim } = headShape(config, mixer)
  const own = mixer?.keysOf === undefined ? kvHeads : 0
  return headDim * (2 * heads + 2 * own + (config.attentionGate ? heads : 0))
}

/** The same of an MLP: gate and up, or up alone. */
const mlpNumbers = (config: ModelConfig, layer: number): number =>
  (hasGate(config) ? 2 : 1) * (config.innerSizes?.[layer] ?? config.intermediateSize)

/**
 * Bytes of the saved activations of one token over all layers: those of the mixer and the MLP, attended, the layer's input, and what
 * norms behind the branches read; of each chosen expert its gate, up and result, the same of a shared one, and the scores of all.
 */
export function activationBytes(config: ModelConfig): number {
  const { hiddenSize, layerChannels, blockNorms } = config
  const normed = [blockNorms.afterAttention, blockNorms.afterMlp].filter((name) => name !== null).length
  const brought = layerChannels > 0 ? layerChannels + hiddenSize : 0
  const numbers = config.mixers.map((mixer, layer) => {
    const experts = expertsOf(config, layer)
    const inner = experts === null ? mlpNumbers(config, layer) : innerNumbers(experts, config)
    return mixerNumbers(mixer, config) + (2 + normed) * hiddenSize + brought + inner
  })
  return 4 * numbers.reduce((sum, count) => sum + count, 0)
}
