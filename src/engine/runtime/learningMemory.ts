/** Trades memory for speed in learning: segments that fit a card, activations or packed weights kept in the machine's memory. */
import { totalmem } from 'node:os'
import type { Device } from '#shared/device.ts'
import type { FrozenProducts } from '#shared/precision.ts'
import { basePrecisionOf } from '../models/blocks.ts'
import { headShape, isBeside, type LoraConfig, type ModelConfig } from '../models/config.ts'
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

/**
 * Saved activations of one token over all layers: query, key, value, mixed, attended, the layer's input, and gate and up; of
 * each chosen expert its gate, up and result, the same of a shared one, and the scores of all.
 */
function activationBytes(config: ModelConfig): number {
  const numbers = config.mixers.map((mixer, layer) => {
    const { heads, kvHeads, headDim } = headShape(config, mixer)
    const experts = expertsOf(config, layer)
    const inner =
      experts === null
        ? 2 * (config.innerSizes?.[layer] ?? config.intermediateSize)
        : innerNumbers(experts, config)
    return 2 * (heads * headDim + kvHeads * headDim + config.hiddenSize + config.layerChannels) + inner
  })
  return 4 * numbers.reduce((sum, count) => sum + count, 0)
}
