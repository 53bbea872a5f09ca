/**
 * Learning in whole programs (models/segmentPrograms.ts), for devices: a micro-batch is one run that scores and, once its
 * loss is known, one that computes the gradient; with several segments, one for each of them.
 */
import { holdsTensors, type Device } from '#shared/device.ts'
import type { LoraConfig } from '../models/config.ts'
import { generationInputName } from '../models/generationGraph.ts'
import { gradientName } from '../models/learningGraphs.ts'
import {
  innerPrograms,
  lastPrograms,
  segmentNames,
  segmentsOf,
  type LastPrograms,
  type Segment,
} from '../models/segmentPrograms.ts'
import type { ModelSource } from '../models/source.ts'
import type { Heads, ScoreOptions, TokenSequence } from '../policy.ts'
import type { AdapterParameters } from './adapterParameters.ts'
import type { AdapterUpload, DeviceAdapter } from './deviceAdapter.ts'
import { release, type DeviceTensors } from './deviceTensors.ts'
import { DropoutMasks, type DropoutPlace } from './dropoutMasks.ts'
import { mappedWeight } from './frozenWeights.ts'
import type { CriticTarget, LearningTarget, LearningTask, ScoringTarget } from './learner.ts'
import type { PackedBatch, PackedCoefficients } from './packedBatch.ts'
import { emptyHeads, packBatch, packCoefficients, unpackHeads } from './packedBatch.ts'
import type { LearningWorker } from './replica.ts'
import { RotaryTables } from './rotaryTables.ts'
import { Session, floats, int64s, type Feed } from './session.ts'
import type { ValueHeadParameters } from './valueHead.ts'

export interface SegmentLearnerOptions {
  readonly source: ModelSource
  readonly lora: LoraConfig
  /** What the masks of dropout are drawn from. */
  readonly seed?: number
  readonly device: Device
  /** Most layers of one program. */
  readonly segmentLayers: number
  readonly weights: DeviceTensors
  readonly adapters: AdapterUpload
}

type Feeds = Readonly<Record<string, Feed>>
type LastProgram = keyof LastPrograms

/** What all programs of a micro-batch read. */
interface Pass {
  readonly batch: PackedBatch
  readonly feeds: Feeds
  readonly signal: AbortSignal | undefined
}

export class SegmentLearner implements LearningWorker, Disposable {
  readonly #options: SegmentLearnerOptions
  readonly #segments: readonly Segment[]
  readonly #rotary: readonly RotaryTables[]
  readonly #dropout: DropoutMasks | null
  readonly #sessions = new Map<string, Promise<Session>>()

  constructor(options: SegmentLearnerOptions) {
    const { source, lora, seed = 0, segmentLayers } = options
    this.#options = options
    this.#segments = segmentsOf(source.config.layers, segmentLayers)
    this.#rotary = source.config.ropes.map((rope) => new RotaryTables(rope))
    this.#dropout = (lora.dropout ?? 0) > 0 ? new DropoutMasks(source.config, lora, seed) : null
  }

  /** Heads of the sequences as one packed batch; no gradient. */
  async score(
    sequences: readonly TokenSequence[],
    { adapter, head }: ScoringTarget,
    { temperature, signal }: Omit<ScoreOptions, 'role'>,
  ): Promise<Heads[]> {
    const batch = packBatch(sequences, this.#options.source.config, this.#rotary)
    if (batch.headRows.length === 0) {
      return sequences.map((sequence) => emptyHeads(sequence, head !== undefined))
    }
    using taken = await this.#options.adapters.take(adapter)
    const pass = { batch, feeds: batchFeeds(batch, temperature), signal }
    const kept = await this.#forward(pass, taken, false)
    try {
      return unpackHeads(sequences, batch, await this.#heads(pass, taken, kept, head))
    } finally {
      kept.forEach(release)
    }
  }

  /** One micro-batch forward and backward; adds up the gradients of the actor and, where there is one, of the critic. */
  async accumulate({ sequences, targets, place, options, coefficients }: LearningTask): Promise<Heads[]> {
    const { actor, critic } = targets
    const batch = packBatch(sequences, this.#options.source.config, this.#rotary)
    if (batch.headRows.length === 0) {
      const heads = sequences.map((sequence) => emptyHeads(sequence, critic !== null))
      await coefficients(heads)
      return heads
    }
    const feeds = { ...batchFeeds(batch, options.temperature), ...this.#masks(sequences, place) }
    const pass = { batch, feeds, signal: options.signal }
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
    if (isTouched(packed.logprobs, packed.entropies)) await this.#learnPolicy(pass, actorRun, packed)
    return heads
  }

  /** An adapter's way to the last segment; its tensors are given back with the result. */
  async #begin(pass: Pass, target: LearningTarget): Promise<AdapterRun> {
    const adapter = await this.#options.adapters.take(target.adapter)
    try {
      const kept = await this.#forward(pass, adapter, true)
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
    const { logprobs, entropies } = packed
    await this.#backward(pass, run, entropies ? 'learnEntropy' : 'learn', {
      [segmentNames.logprobs]: column(logprobs),
      ...(entropies ? { [segmentNames.entropies]: column(entropies) } : {}),
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
    addTo(headGradients, last[segmentNames.valueHeadGradient]!.data as Float32Array, 0)
  }

  /** What each segment but the first starts from. */
  async #forward({ feeds, signal }: Pass, adapter: DeviceAdapter, learning: boolean): Promise<Feed[]> {
    const kept: Feed[] = []
    for (const [index] of this.#segments.slice(0, -1).entries()) {
      signal?.throwIfAborted()
      const session = await this.#session(`forward ${index}`, learning)
      const { output } = await session.runTensors({ ...feeds, ...adapter.feeds, ...hiddenFeed(kept.at(-1)) })
      kept.push(output!)
    }
    return kept
  }

  async #heads(
    { feeds, signal, batch }: Pass,
    adapter: DeviceAdapter,
    kept: readonly Feed[],
    head: ValueHeadParameters | undefined,
  ) {
    signal?.throwIfAborted()
    const program: LastProgram = head ? 'value' : 'score'
    const session = await this.#session(program, feeds[MASKED] !== undefined)
    const results = await session.run({
      ...feeds,
      ...adapter.feeds,
      ...head?.feeds,
      ...hiddenFeed(kept.at(-1)),
    })
    if (head) return { policy: null, values: Float64Array.from(results['value']!) }
    // Rounding may leave a certain one slightly above 0.
    const logprobs = Float64Array.from(results['logprob']!, (logprob) => Math.min(logprob, 0))
    const entropies = Float64Array.from(results['entropy']!)
    if (logprobs.length !== batch.headRows.length) throw new Error('Expected a log-probability of every row.')
    return { policy: { logprobs, entropies }, values: null }
  }

  /** Back through all segments; adds the adapter's gradient up and returns what the last one gave. */
  async #backward(
    { feeds: shared, signal }: Pass,
    { adapter, kept, target }: AdapterRun,
    program: LastProgram,
    feeds: Feeds,
  ): Promise<Feeds> {
    let last: Feeds = {}
    let cotangent: Feed | undefined
    for (let index = this.#segments.length - 1; index >= 0; index--) {
      signal?.throwIfAborted()
      const isLast = index === this.#segments.length - 1
      const session = await this.#session(isLast ? program : `backward ${index}`, true)
      const results = await session.runTensors({
        ...shared,
        ...adapter.feeds,
        ...hiddenFeed(kept[index - 1]),
        ...(isLast ? feeds : { cotangent: cotangent! }),
      })
      if (cotangent) release(cotangent)
      cotangent = results[gradientName('hidden')]
      addTo(
        target.gradients,
        results[segmentNames.gradient]!.data as Float32Array,
        this.#offset(target.adapter, index),
      )
      if (isLast) last = results
    }
    return last
  }

  /** Where a segment's part of an adapter begins. */
  #offset({ slots }: AdapterParameters, index: number): number {
    return slots.find(({ layer }) => layer >= this.#segments[index]!.first)?.offset ?? 0
  }

  /** Made when it is first used; one for each program, since what stays on the device must be the same in every run. */
  #session(name: string, learning: boolean): Promise<Session> {
    const drops = learning && this.#dropout !== null
    const key = drops ? `${name}, with dropout` : name
    const known = this.#sessions.get(key)
    if (known) return known
    const { device, weights } = this.#options
    const program = this.#program(name, drops)
    const kept = holdsTensors(device)
      ? ['output', gradientName('hidden')].filter((output) => output in program)
      : []
    const held = holdsTensors(device) ? { weights } : {}
    const created = Session.create({ name: key, program, device, purpose: 'learn', kept, ...held })
    this.#sessions.set(key, created)
    return created
  }

  #program(name: string, drops: boolean) {
    const { source, lora, device, weights } = this.#options
    const weight = (tensor: string) =>
      holdsTensors(device) ? weights.value(tensor) : mappedWeight(source, tensor)
    const options = { config: source.config, lora, weight, drops }
    const [kind, index] = name.split(' ') as [string, string | undefined]
    if (index === undefined) return lastPrograms(this.#segments.at(-1)!, options)[kind as LastProgram]
    return innerPrograms(this.#segments[Number(index)]!, options)[kind as 'forward' | 'backward']
  }

  /** Copies: the buffers of one layer are used again for the next. */
  #masks(sequences: readonly TokenSequence[], place: DropoutPlace): Feeds {
    const masks = this.#dropout?.of(sequences, place)
    if (!masks) return {}
    const feeds: Record<string, Feed> = {}
    for (let layer = 0; layer < this.#options.source.config.layers; layer++) {
      for (const [name, mask] of Object.entries(masks(layer))) {
        feeds[generationInputName(layer, name)] = floats((mask.data as Float32Array).slice(), mask.dims)
      }
    }
    return { ...feeds, [MASKED]: ONE }
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions.values()) {
      void session.then(
        (created) => {
          created[Symbol.dispose]()
        },
        () => undefined,
      )
    }
  }
}

/** What one adapter's part of a micro-batch needs on its way back. */
interface AdapterRun extends Disposable {
  readonly adapter: DeviceAdapter
  /** What each segment but the first starts from. */
  readonly kept: readonly Feed[]
  readonly target: LearningTarget
}

/** No program reads it: it says that the feeds hold masks of dropout. */
const MASKED = 'masked'
const ONE = floats(Float32Array.of(1), [1])

const hiddenFeed = (hidden: Feed | undefined): Feeds => (hidden ? { hidden } : {})

/** What every program reads of a micro-batch. */
function batchFeeds(batch: PackedBatch, temperature: number): Feeds {
  const { tokens, ids, positions, headRows, headTargets } = batch
  const places = new Int32Array(tokens).fill(headRows.length)
  headRows.forEach((row, index) => {
    places[row] = index
  })
  return {
    ...(batch.feeds as Feeds),
    ids: int64s(ids, [tokens]),
    positions: int64s(positions, [tokens]),
    [segmentNames.headRows]: int64s(headRows, [headRows.length]),
    [segmentNames.headPlaces]: int64s(places, [1, tokens]),
    targets: int64s(headTargets, [headTargets.length]),
    inverseTemperature: floats(Float32Array.of(1 / temperature), [1]),
  }
}

const column = (values: Float64Array): Feed => floats(Float32Array.from(values), [values.length, 1])

/** Whether any coefficient is not 0; one that is not a number counts. */
const isTouched = (...heads: readonly (Float64Array | null)[]): boolean =>
  heads.some((coefficients) => coefficients?.some((value) => value !== 0))

function addTo(total: Float32Array, part: Float32Array, offset: number): void {
  for (let index = 0; index < part.length; index++) total[offset + index]! += part[index]!
}
