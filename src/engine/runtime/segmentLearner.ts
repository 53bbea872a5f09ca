/**
 * Learning in whole programs (models/segmentPrograms.ts), for devices: a micro-batch is one run that scores and, once its
 * loss is known, one that computes the gradient; with several segments, one for each of them.
 */
import type { LoraConfig } from '../models/config.ts'
import { alternativeNames } from '../models/alternativesPart.ts'
import { layerInputName } from '../models/generationGraph.ts'
import { gradientName } from '../models/learningGraphs.ts'
import {
  innerForward,
  innerPrograms,
  lastPrograms,
  scoringPrograms,
  segmentNames,
  segmentsOf,
  type LastPrograms,
  type Segment,
  type SegmentProgramOptions,
} from '../models/segmentPrograms.ts'
import type { ModelSource } from '../models/source.ts'
import type { Heads, ScoreOptions, TokenSequence } from '../policy.ts'
import type { AdapterParameters } from './adapterParameters.ts'
import { release, type HeldFeeds, type TensorHome } from './deviceTensors.ts'
import { DropoutMasks, type DropoutPlace } from './dropoutMasks.ts'
import type { CriticTarget, LearningTarget, LearningTask, ScoringTarget } from './learner.ts'
import { isTouched, type PackedBatch, type PackedCoefficients, touchesPolicy } from './packedBatch.ts'
import { emptyHeads, packBatch, packCoefficients, unpackHeads } from './packedBatch.ts'
import type { Feeds, ProgramDefinition, ProgramDefinitions, CutPrograms } from './programs.ts'
import type { LearningWorker } from './replica.ts'
import { addTo, type ParameterHome } from './parameterHome.ts'
import { RotaryTables } from './passFeeds.ts'
import { floats, int64s, type Feed, numbers } from './session.ts'
import { type Slot, slotTables } from './slotTables.ts'
import type { ValueHeadParameters } from './valueHead.ts'

export interface SegmentLearnerOptions {
  readonly source: ModelSource
  readonly lora: LoraConfig
  /** Seed of the dropout masks. */
  readonly seed?: number
  readonly segments: readonly Segment[]
  /** Programs of `learningDefinitions`, perhaps among others. */
  readonly programs: CutPrograms
  readonly parameters: ParameterHome
  readonly home: Pick<TensorHome, 'hold'>
}

type LastProgram = keyof LastPrograms

/** Further tokens of predictions that a policy can be asked about, besides those that stand there. */
export type FurtherTokens = 'likeliest' | 'alternatives'

/** Programs of the last segment. Without an adapter only the first are there. */
const scoring = ['score', 'value'] as const
const learning = ['learn', 'learnEntropy', 'learnValue'] as const
const learningFurther = { likeliest: [], alternatives: ['learnAlternatives'] } as const

/** The programs that read masks of dropout are others. */
const programName = (name: string, drops: boolean): string => (drops ? `${name}, with dropout` : name)

/**
 * Defines the programs of the segments: forward and backward of the inner ones by their number, and those of the last, with
 * the ones for those further tokens. Without an adapter nothing is learned, and they only score.
 */
export function learningDefinitions(
  segments: readonly Segment[],
  { lora, ...options }: Omit<SegmentProgramOptions, 'drops'>,
  further: readonly FurtherTokens[],
): ProgramDefinitions {
  if (lora.targets.length === 0)
    return scoringDefinitions(segments, { ...options, lora, drops: false }, further)
  const definitions: Record<string, ProgramDefinition> = {}
  const inner = ['forward', 'backward'] as const
  const last = [...scoring, ...further, ...learning, ...further.flatMap((kind) => learningFurther[kind])]
  const kept = ['output', gradientName('hidden'), segmentNames.gradient]
  for (const drops of (lora.dropout ?? 0) > 0 ? [false, true] : [false]) {
    segments.slice(0, -1).forEach((segment, index) => {
      for (const kind of inner) {
        const program = () => innerPrograms(segment, { ...options, lora, drops })[kind]
        definitions[programName(`${kind} ${String(index)}`, drops)] = { program, kept }
      }
    })
    for (const kind of last) {
      const program = () => lastPrograms(segments.at(-1)!, { ...options, lora, drops })[kind]
      definitions[programName(kind, drops)] = { program, kept }
    }
  }
  return definitions
}

function scoringDefinitions(
  segments: readonly Segment[],
  options: SegmentProgramOptions,
  further: readonly FurtherTokens[],
): ProgramDefinitions {
  const inner = segments.slice(0, -1).map((segment, index) => {
    const program = () => innerForward(segment, options).forward
    return [`forward ${String(index)}`, { program, kept: ['output'] }] as const
  })
  const last = [...scoring, ...further].map((kind) => {
    const program = () => scoringPrograms(segments.at(-1)!, options)[kind]
    return [kind, { program }] as const
  })
  return Object.fromEntries<ProgramDefinition>([...inner, ...last])
}

/** Feeds that all programs of a micro-batch read. */
interface Pass {
  readonly batch: PackedBatch
  readonly feeds: Feeds
  /** The feeds hold masks of dropout. */
  readonly drops: boolean
  /** Likeliest tokens of each prediction that are wanted. */
  readonly likeliest: number
  readonly signal: AbortSignal | undefined
}

export class SegmentLearner implements LearningWorker {
  readonly #options: SegmentLearnerOptions
  #segments: readonly Segment[]
  readonly #rotary: readonly RotaryTables[]
  readonly #dropout: DropoutMasks | null

  constructor(options: SegmentLearnerOptions) {
    const { source, lora, seed = 0, segments } = options
    this.#options = options
    this.#segments = segments
    this.#rotary = source.config.ropes.map((rope) => new RotaryTables(rope))
    this.#dropout = (lora.dropout ?? 0) > 0 ? new DropoutMasks(source.config, lora, seed) : null
  }

  /** Halves the segments, between two micro-batches: layers of the longest now; null where all are of one layer. */
  shorten(): number | null {
    const longest = Math.max(...this.#segments.map(({ first, end }) => end - first))
    if (longest === 1) return null
    const most = Math.ceil(longest / 2)
    this.#segments = segmentsOf(this.#options.source.config.layers, most)
    this.#options.programs.cut(this.#segments)
    return most
  }

  /** Heads of the sequences as one packed batch; no gradient. */
  async score(
    sequences: readonly TokenSequence[],
    { adapter, head }: ScoringTarget,
    { temperature, likeliest = 0, signal }: Omit<ScoreOptions, 'role'>,
  ): Promise<Heads[]> {
    const batch = this.#pack(sequences, true)
    if (batch.headRows.length === 0) {
      return sequences.map((sequence) => emptyHeads(sequence, head !== undefined))
    }
    using taken = await this.#options.parameters.take(adapter)
    using held = await this.#options.home.hold(batchFeeds(batch, temperature))
    const each = Math.min(likeliest, this.#options.source.config.vocabSize)
    const pass = { batch, feeds: held.feeds, drops: false, likeliest: each, signal }
    const kept = await this.#forward(pass, taken)
    try {
      return unpackHeads(sequences, batch, await this.#heads(pass, taken, kept, head))
    } finally {
      kept.forEach(release)
    }
  }

  /** One micro-batch forward and backward; adds up the gradients of the actor and, where there is one, of the critic. */
  async accumulate({ sequences, targets, place, options, coefficients }: LearningTask): Promise<Heads[]> {
    const { actor, critic } = targets
    const batch = this.#pack(sequences, this.#dropout === null)
    if (batch.headRows.length === 0) {
      const heads = sequences.map((sequence) => emptyHeads(sequence, critic !== null))
      await coefficients(heads)
      return heads
    }
    const feeds = { ...batchFeeds(batch, options.temperature), ...this.#masks(sequences, place) }
    using held = await this.#options.home.hold(feeds)
    const drops = this.#dropout !== null
    const pass = { batch, feeds: held.feeds, drops, likeliest: 0, signal: options.signal }
    using actorRun = await this.#begin(pass, actor)
    using criticRun = critic && (await this.#begin(pass, critic))
    const { policy } = await this.#heads(pass, actorRun.adapter, actorRun.kept, undefined)
    const values =
      criticRun && (await this.#heads(pass, criticRun.adapter, criticRun.kept, critic.head)).values
    const heads = unpackHeads(sequences, batch, { policy, values })
    const packed = packCoefficients(sequences, batch, await coefficients(heads))
    if (packed.values && isTouched(packed.values)) {
      if (!criticRun) throw new Error('The loss has a value term, but no critic was run.')
      await this.#learnValues(pass, criticRun, critic, packed.values)
    }
    if (touchesPolicy(packed)) await this.#learnPolicy(pass, actorRun, packed)
    return heads
  }

  /** An adapter's way to the last segment; its tensors are given back with the result. */
  async #begin(pass: Pass, target: LearningTarget): Promise<AdapterRun> {
    const adapter = await this.#options.parameters.take(target.adapter)
    try {
      const kept = await this.#forward(pass, adapter)
      return {
        adapter,
        kept,
        target,
        [Symbol.dispose]() {
          adapter[Symbol.dispose]()
          kept.forEach(release)
        },
      }
    } catch (error) {
      adapter[Symbol.dispose]()
      throw error
    }
  }

  async #learnPolicy(pass: Pass, run: AdapterRun, packed: PackedCoefficients): Promise<void> {
    const { logprobs, entropies, alternatives } = packed
    const further = alternatives && {
      [segmentNames.entropies]: column(entropies ?? new Float64Array(logprobs.length)),
      [alternativeNames.coefficients]: column(alternatives, alternatives.length / logprobs.length),
      ...alternativesFeed(pass.batch),
    }
    await this.#backward(pass, run, further ? 'learnAlternatives' : entropies ? 'learnEntropy' : 'learn', {
      [segmentNames.logprobs]: column(logprobs),
      ...(entropies ? { [segmentNames.entropies]: column(entropies) } : {}),
      ...further,
    })
  }

  async #learnValues(
    pass: Pass,
    run: AdapterRun,
    { head, headGradients }: CriticTarget,
    values: Float64Array,
  ): Promise<void> {
    const feeds = { ...head.feeds, [segmentNames.values]: column(values) }
    const last = await this.#backward(pass, run, 'learnValue', feeds)
    addTo(headGradients, numbers(last[segmentNames.valueHeadGradient]), 0)
  }

  /** Runs the segments forward and returns the input of each but the first. */
  async #forward(pass: Pass, adapter: HeldFeeds): Promise<Feed[]> {
    const kept: Feed[] = []
    for (const [index] of this.#segments.slice(0, -1).entries()) {
      const feeds = { ...adapter.feeds, ...hiddenFeed(kept.at(-1)) }
      const { output } = await this.#run(`forward ${String(index)}`, pass, feeds)
      kept.push(output!)
    }
    return kept
  }

  async #heads(pass: Pass, adapter: HeldFeeds, kept: readonly Feed[], head: ValueHeadParameters | undefined) {
    const { program, ...asked } = head ? { program: 'value' as const, feeds: head.feeds } : wantedOf(pass)
    const feeds = { ...adapter.feeds, ...asked.feeds, ...hiddenFeed(kept.at(-1)) }
    const results = await this.#run(program, pass, feeds)
    if (head) return { policy: null, values: Float64Array.from(numbers(results['value'])) }
    // Rounding may leave a certain one slightly above 0.
    const logprobs = Float64Array.from(numbers(results['logprob']), (logprob) => Math.min(logprob, 0))
    const entropies = Float64Array.from(numbers(results['entropy']))
    if (logprobs.length !== pass.batch.headRows.length)
      throw new Error('Expected a log-probability of every row.')
    return { policy: { logprobs, entropies, ...alternativesIn(results, pass.batch) }, values: null }
  }

  /** Back through all segments; adds the adapter's gradient up and returns what the last one gave. */
  async #backward(
    pass: Pass,
    { adapter, kept, target }: AdapterRun,
    program: LastProgram,
    feeds: Feeds,
  ): Promise<Feeds> {
    let last: Feeds = {}
    let cotangent: Feed | undefined
    for (let index = this.#segments.length - 1; index >= 0; index--) {
      const isLast = index === this.#segments.length - 1
      const results = await this.#run(isLast ? program : `backward ${String(index)}`, pass, {
        ...adapter.feeds,
        ...hiddenFeed(kept[index - 1]),
        ...(isLast ? feeds : { cotangent: cotangent! }),
      })
      if (cotangent) release(cotangent)
      cotangent = results[gradientName('hidden')]
      const offset = this.#offset(target.adapter, index)
      await this.#options.parameters.add(target.gradients, results[segmentNames.gradient]!, offset)
      if (isLast) last = results
    }
    return last
  }

  /** Offset of a segment's part in an adapter. */
  #offset({ slots }: AdapterParameters, index: number): number {
    return slots.find(({ layer }) => layer >= this.#segments[index]!.first)?.offset ?? 0
  }

  #run(name: string, { feeds: shared, drops, signal }: Pass, feeds: Feeds): Promise<Feeds> {
    signal?.throwIfAborted()
    return this.#options.programs.run(programName(name, drops), { ...shared, ...feeds })
  }

  #pack(sequences: readonly TokenSequence[], shares: boolean): PackedBatch {
    return packBatch(sequences, this.#options.source.config, { rotary: this.#rotary, shares })
  }

  /** Copies: the buffers of one layer are used again for the next. */
  #masks(sequences: readonly TokenSequence[], place: DropoutPlace): Feeds {
    const masks = this.#dropout?.of(sequences, place)
    if (!masks) return {}
    const feeds: Record<string, Feed> = {}
    for (let layer = 0; layer < this.#options.source.config.layers; layer++) {
      for (const [name, mask] of Object.entries(masks(layer))) {
        feeds[layerInputName(layer, name)] = floats((mask.data as Float32Array).slice(), mask.dims)
      }
    }
    return feeds
  }
}

/** Data that one adapter's part of a micro-batch needs for the backward pass. */
interface AdapterRun extends Disposable {
  readonly adapter: HeldFeeds
  /** Inputs of every segment but the first. */
  readonly kept: readonly Feed[]
  readonly target: LearningTarget
}

/** The program that finds what is wanted of the head, and its feeds. */
function wantedOf({ batch, likeliest }: Pass): { readonly program: LastProgram; readonly feeds: Feeds } {
  if (batch.headAlternatives !== null) return { program: 'alternatives', feeds: alternativesFeed(batch) }
  if (likeliest === 0) return { program: 'score', feeds: {} }
  const count = int64s(Int32Array.of(likeliest), [1])
  return { program: 'likeliest', feeds: { [alternativeNames.count]: count } }
}

function alternativesIn(results: Feeds, { headAlternatives }: PackedBatch): Pick<Heads, 'alternatives'> {
  const { [alternativeNames.ids]: found, [alternativeNames.logprobs]: logprobs } = results
  const ids = found ? Int32Array.from(numbers(found)) : headAlternatives
  if (!logprobs || ids === null) return {}
  return { alternatives: { ids, logprobs: Float64Array.from(numbers(logprobs)) } }
}

const hiddenFeed = (hidden: Feed | undefined): Feeds => (hidden ? { hidden } : {})

/** Builds the feeds of a micro-batch that every program reads. */
function batchFeeds(batch: PackedBatch, temperature: number): Feeds {
  const { tokens, ids, positions, headTargets } = batch
  return {
    ...(batch.feeds as Feeds),
    ids: int64s(ids, [tokens]),
    positions: int64s(positions, [tokens]),
    ...headMap(batch),
    targets: int64s(headTargets, [headTargets.length]),
    inverseTemperature: floats(Float32Array.of(1 / temperature), [1]),
  }
}

/**
 * Lists the rows that the head reads, and where each row stands among them: in one place, or in several behind a common
 * prefix.
 */
function headMap({ tokens, headRows }: PackedBatch): Feeds {
  const found = Array.from({ length: tokens }, (): Slot[] => [])
  headRows.forEach((row, index) => found[row]!.push({ first: index, stride: 1 }))
  const { rows, slots, places } = slotTables(found, { few: 1, heads: 1, end: headRows.length })
  return {
    [segmentNames.headRows]: int64s(headRows, [headRows.length]),
    [segmentNames.headPlaces]: rows,
    [segmentNames.sharedHeadSlots]: slots,
    [segmentNames.sharedHeads]: places,
  }
}

const column = (values: Float64Array, width = 1): Feed =>
  floats(Float32Array.from(values), [values.length / width, width])

const alternativesFeed = ({ headRows, headAlternatives }: PackedBatch): Feeds =>
  headAlternatives === null
    ? {}
    : {
        [alternativeNames.ids]: int64s(headAlternatives, [
          headRows.length,
          headAlternatives.length / headRows.length,
        ]),
      }
