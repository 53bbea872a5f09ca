/**
 * Calculates how much of a card's memory a model takes, from the programs that run there: weights, learning in segments
 * of layers, and generation. Cutting a run to a card, choosing under `auto` and `device plan` all use this calculation.
 */
import { holdsTensors, type DeviceKind } from '#shared/device.ts'
import type { BasePrecision } from '#shared/precision.ts'
import { memoryOf, type Lengths, type ProgramMemory } from '../graph/liveness.ts'
import { cpuDialect, type Dialect, type Program } from '../graph/onnx.ts'
import { resolve } from '../graph/substitute.ts'
import { topologicalOrder } from '../graph/value.ts'
import { adamwProgram } from '../optimizers/adamwProgram.ts'
import { CAUSAL_PARTS } from '../ops/attention.ts'
import { layerStates, slotsOf, stateBytes } from './layerStates.ts'
import { linearNames, type LoraConfig, type ModelConfig } from './config.ts'
import { frozenTensors, generationWeights, type FrozenTensors } from './frozenWeights.ts'
import { deviceGenerationPrograms } from './deviceGeneration.ts'
import type { DeviceWeights } from './generationGraph.ts'
import { HeldTensors, heldWeights } from './heldTensors.ts'
import { loraSlots } from './lora.ts'
import { plannedSource } from './plannedSource.ts'
import {
  headProgram,
  innerForward,
  innerPrograms,
  lastPrograms,
  scoringPrograms,
  segmentsOf,
  type Segment,
  type SegmentProgramOptions,
} from './segmentPrograms.ts'
import type { ModelSource } from './source.ts'

/** The driver's context, kernels and the workspaces of matrix products. */
const RESERVED_BYTES = 700e6
/** Fragmentation of the allocator, as a share of what a run takes: 3 to 16 % were measured. */
const FRAGMENTED = 0.15
/** Memory assumed of a card whose own the system does not tell. */
const UNKNOWN_CARD_BYTES = 8 * 2 ** 30
/** Adapter of plans that are not made for a particular one. */
export const plannedLora: LoraConfig = { rank: 16, alpha: 32, rsLora: false, targets: linearNames }
/** Tokens of a micro-batch that keep a card busy, and those below which nothing is worth trying. */
const [MOST_TOKENS, LEAST_TOKENS] = [8192, 256]
/** Segments this long are computed; what a longer one takes grows with its length as between the two longest of these. */
const PROBED_LAYERS = 3

export interface MemoryRequest {
  readonly config: ModelConfig
  readonly lora: LoraConfig
  readonly base: BasePrecision
  readonly kind: DeviceKind
}

export interface DevicePlan {
  /** True if weights, learning and at least one row of decoding fit. */
  readonly fits: boolean
  readonly weightBytes: number
  /** Bytes of an adapter, as it is fed. */
  readonly adapterBytes: number
  /** The optimizer's moments and the gradient. */
  readonly optimizerBytes: number
  /**
   * True if gradients and optimizer state are on the device, where the optimizer steps; else they are with the host.
   */
  readonly stepsThere: boolean
  /** Bytes on the device beside the weights while the optimizer steps there; 0 where it steps on the host. */
  readonly updateBytes: number
  /** Longest sequence, and tokens of a micro-batch. */
  readonly length: number
  readonly tokens: number
  readonly segments: readonly Segment[]
  /** Peak bytes of the largest program of a segment, with its inputs. */
  readonly learningBytes: number
  /** Peak bytes of the vocabulary head while scoring; part of `learningBytes`. */
  readonly headBytes: number
  /** Keys and values of a row that is as long. */
  readonly rowBytes: number
  /** Rows that may decode together. */
  readonly rows: number
  /** Total of weights, learning and what is set aside. */
  readonly totalBytes: number
}

/** Learning and generating with a model on a kind of device, whatever the memory. */
export class DeviceMemory {
  readonly #request: MemoryRequest
  readonly #dialect: Dialect
  readonly #options: SegmentProgramOptions
  readonly #programs = new Map<string, (lengths: Lengths) => ProgramMemory>()
  readonly weightBytes: number
  readonly adapterBytes: number
  /** Bytes as in `updateBytes` of `DevicePlan`. */
  readonly updateBytes: number

  constructor(request: MemoryRequest) {
    const { config, lora, kind } = request
    this.#request = request
    const { dialect, options } = plannedPrograms(request)
    this.#dialect = dialect
    this.#options = options
    this.weightBytes = weightBytes(request)
    const size = loraSlots(config, lora).reduce((sum, slot) => sum + slot.size, 0)
    this.adapterBytes = 4 * size
    // The adapter and the reference are also there cut into their tensors.
    this.updateBytes = holdsTensors({ kind })
      ? totalOf(memoryOf(adamwProgram(), dialect)({ P: size })) + 2 * this.adapterBytes
      : 0
  }

  /** Peak bytes of learning with segments of this many layers; of scoring where there is no adapter to learn. */
  learning(layers: number, lengths: Lengths): number {
    const { config, lora } = this.#request
    const kinds = runsOf({ isCut: layers < config.layers, learns: lora.targets.length > 0 })
    return Math.max(...kinds.map((kind) => this.#extended(kind, layers, lengths)))
  }

  #extended(kind: ProgramKind, layers: number, lengths: Lengths): number {
    if (layers <= PROBED_LAYERS) return this.#run(kind, layers, lengths)
    const [less, more] = [PROBED_LAYERS - 1, PROBED_LAYERS].map((count) =>
      this.#run(kind, count, lengths),
    ) as [number, number]
    return more + (layers - PROBED_LAYERS) * (more - less)
  }

  #run(kind: ProgramKind, layers: number, lengths: Lengths): number {
    const key = `${kind} ${String(layers)}`
    const known = this.#programs.get(key) ?? memoryOf(this.#program(kind, layers), this.#dialect)
    this.#programs.set(key, known)
    return totalOf(known(lengths))
  }

  #program(kind: ProgramKind, layers: number): Program {
    if (kind === 'head') return headProgram(this.#options)
    const total = this.#request.config.layers
    const last = { first: total - layers, end: total }
    if (kind === 'score') return scoringPrograms(last, this.#options).score
    if (kind === 'learn') return lastPrograms(last, this.#options).learn
    const first = total > layers ? 1 : 0
    const inner = { first, end: first + layers }
    if (kind === 'forward') return innerForward(inner, this.#options).forward
    return innerPrograms(inner, this.#options).backward
  }

  /** Peak bytes of the vocabulary head for a micro-batch. */
  head(lengths: Lengths): number {
    return this.#run('head', 0, lengths)
  }
}

/** The programs that learn, and how they are written. */
export function plannedPrograms({ config, lora, base, kind }: MemoryRequest): {
  readonly dialect: Dialect
  readonly options: SegmentProgramOptions
} {
  const source = plannedSource(config, base)
  const isFed = holdsTensors({ kind })
  const tensors = isFed ? new HeldTensors(source) : frozenTensors(source)
  return {
    dialect: isFed ? { extended: false, feedsWeights: true } : cpuDialect,
    options: { config, lora, tensors, drops: false },
  }
}

type ProgramKind = 'head' | 'forward' | 'backward' | 'score' | 'learn'

/** Returns the programs that run for a micro-batch. */
const runsOf = ({ isCut, learns }: Readonly<Record<'isCut' | 'learns', boolean>>): ProgramKind[] => [
  ...(isCut ? (['forward'] as const) : []),
  ...(isCut && learns ? (['backward'] as const) : []),
  'score',
  ...(learns ? (['learn'] as const) : []),
]

const totalOf = ({ inputBytes, workingBytes }: ProgramMemory): number => inputBytes + workingBytes

/** Returns the frozen tensors that learning reads and those that generation reads, on a device of this kind. */
function readingOf(source: ModelSource, kind: DeviceKind): [FrozenTensors, DeviceWeights] {
  if (!holdsTensors({ kind }))
    return [frozenTensors(source), generationWeights(source, { rounded: false, isOneRow: true })]
  const tensors = new HeldTensors(source)
  return [tensors, heldWeights(source, tensors)]
}

/** Bytes of all weights that learning and generation read, each counted once; every layer is as large as the second. */
function weightBytes({ config, lora, base, kind }: MemoryRequest): number {
  const [one, two] = [1, Math.min(2, config.layers)].map((layers) => {
    const fewer = { ...config, layers }
    const [tensors, generation] = readingOf(plannedSource(fewer, base), kind)
    const options = { config: fewer, lora, tensors, drops: false }
    const programs = [
      scoringPrograms({ first: 0, end: layers }, options).score,
      deviceGenerationPrograms(fewer, lora, generation).prompt,
    ]
    const values = programs.flatMap((program) => Object.values(program).map(resolve))
    const nodes = topologicalOrder(values, true).filter((node) => node.kind === 'weight')
    const sizes = new Map(nodes.map(({ name, byteLength }) => [name, byteLength]))
    return sizes.values().reduce((sum, size) => sum + size, 0)
  }) as [number, number]
  return one + (config.layers - 1) * (two - one)
}

/** Lengths of the axes for a micro-batch of equally long sequences in which every token counts. */
export function lengthsOf(tokens: number, length: number): Lengths {
  const rows = Math.max(1, Math.floor(tokens / length))
  const parts = Array.from({ length: CAUSAL_PARTS }, (_, part) => [`B${String(part)}`, rows] as const)
  const shared = { M: 1, R: 1, U: 1, W: 1, m: 1, r: 1 }
  return {
    ...Object.fromEntries(parts),
    ...shared,
    N: tokens,
    A: tokens,
    Q: Math.ceil(length / CAUSAL_PARTS),
  }
}

export const longestOf = (segments: readonly Segment[]): number =>
  Math.max(...segments.map(({ first, end }) => end - first))

export interface PlanRequest extends MemoryRequest {
  /** Memory of the card; null if unknown. */
  readonly memoryBytes: number | null
  /** Longest sequence. */
  readonly length: number
  /** Tokens of a micro-batch; as many as fit if absent. */
  readonly tokens?: number
  /** Cut of the layers; the fewest segments that fit if absent. */
  readonly activations?: Activations
}

/** `save`: all layers in one program, which computes nothing twice. `recompute`: in about as many segments as each has layers. */
export type Activations = 'recompute' | 'save' | 'auto'

/** The largest micro-batch that fits, in the fewest segments; the smallest in segments of one layer where none does. */
export function planDevice(request: PlanRequest): DevicePlan {
  const { config, memoryBytes } = request
  const memory = new DeviceMemory(request)
  const card = memoryBytes ?? UNKNOWN_CARD_BYTES
  const { length } = request
  const lengths = segmentLengths(config.layers, request.activations)
  const batches = request.tokens === undefined ? budgets(length) : [request.tokens]
  for (const tokens of batches) {
    for (const layers of lengths) {
      const plan = planned(request, memory, { tokens, length: Math.min(length, tokens), layers, card })
      if (plan.fits) return plan
    }
  }
  const tokens = batches.at(-1) ?? LEAST_TOKENS
  return planned(request, memory, {
    tokens,
    length: Math.min(length, tokens),
    layers: lengths.at(-1) ?? 1,
    card,
  })
}

/** Tokens of a micro-batch that are tried, the most first: the longest sequence is learned whole, however long it is. */
const budgets = (length: number): number[] => {
  const least = Math.max(length, LEAST_TOKENS)
  const tried: number[] = []
  for (let tokens = MOST_TOKENS; tokens > least; tokens /= 2) tried.push(tokens)
  return [...tried, least]
}

/** Layers of the longest segment, for ever more segments. */
function segmentLengths(layers: number, activations: Activations = 'auto'): number[] {
  if (activations === 'save') return [layers]
  const lengths = new Set(Array.from({ length: layers }, (_, index) => Math.ceil(layers / (index + 1))))
  const longest = activations === 'recompute' ? Math.ceil(Math.sqrt(layers)) : layers
  return [...lengths].filter((length) => length <= longest)
}

interface Cut {
  readonly tokens: number
  readonly length: number
  readonly layers: number
  readonly card: number
}

function planned(
  { config, kind }: PlanRequest,
  memory: DeviceMemory,
  { tokens, length, layers, card }: Cut,
): DevicePlan {
  const lengths = lengthsOf(tokens, length)
  const segments = segmentsOf(config.layers, layers)
  const { weightBytes, adapterBytes, updateBytes } = memory
  const stepsThere = holdsTensors({ kind })
  const optimizerBytes = 3 * adapterBytes
  // A device that holds tensors has gradient and moments, the adapter in one piece and cut, and the reference.
  const heldBytes = stepsThere ? optimizerBytes + 3 * adapterBytes : 0
  // Between segments, hidden states stay there too; elsewhere they go through the host.
  const borders = stepsThere ? 4 * (segments.length - 1) * tokens * config.hiddenSize : 0
  const learningBytes = memory.learning(layers, lengths) + borders + heldBytes
  const most = Math.max(learningBytes, updateBytes)
  const totalBytes = Math.ceil(weightBytes + (1 + FRAGMENTED) * most + RESERVED_BYTES)
  const rowBytes = decodingBytes(config, length)
  const left = (card - weightBytes - RESERVED_BYTES) / (1 + FRAGMENTED) - Math.max(adapterBytes, heldBytes)
  const rows = Math.max(0, Math.floor(left / rowBytes))
  return {
    fits: totalBytes <= card && rows > 0,
    weightBytes,
    adapterBytes,
    optimizerBytes,
    stepsThere,
    updateBytes,
    length,
    tokens,
    segments,
    learningBytes,
    headBytes: memory.head(lengths),
    rowBytes,
    rows,
    totalBytes,
  }
}

/** Bytes of one decoding row: its keys and values, the latest of them twice, its attention scores, and its logits, sorted. */
function decodingBytes(config: ModelConfig, length: number): number {
  const states = layerStates(config)
  const seen = states.filter(({ kind }) => kind === 'slots')
  const latest = seen.map((state) => ({ ...state, window: null }))
  const slots = Math.max(...seen.map((state) => slotsOf(state, length))) + LATEST_SLOTS
  const scores = 3 * 4 * config.heads * slots
  return (
    stateBytes(states, 1, length) +
    2 * stateBytes(latest, 1, LATEST_SLOTS) +
    scores +
    LOGIT_COPIES * 4 * config.vocabSize
  )
}

const [LATEST_SLOTS, LOGIT_COPIES] = [64, 6]
