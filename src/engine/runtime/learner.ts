/**
 * Learning layer by layer. Forward keeps each layer's input (or its activations too); the head answers per token with the
 * log-probability, the entropy and their slopes with respect to the hidden state; the loss coefficients turn slopes into
 * the cotangent that runs back through the layers. Logits exist for one chunk of tokens at a time.
 */
import type { Device } from '#shared/device.ts'
import type { AccumulateOptions, Heads, LossCoefficients, ScoreOptions, TokenSequence } from '../policy.ts'
import type { LoraConfig } from '../models/config.ts'
import { gradientName } from '../models/learningGraphs.ts'
import type { ModelSource } from '../models/source.ts'
import { input } from '../graph/value.ts'
import { gather } from '../ops/gather.ts'
import type { AdapterParameters } from './adapterParameters.ts'
import { HeadRunner } from './headRunner.ts'
import type { LayerMasks } from './dropoutMasks.ts'
import { DropoutMasks } from './dropoutMasks.ts'
import type { BackwardPass } from './learningPrograms.ts'
import { LearningPrograms } from './learningPrograms.ts'
import type { PackedBatch } from './packedBatch.ts'
import { emptyHeads, packBatch, packCoefficients, unpackHeads } from './packedBatch.ts'
import { RotaryTables } from './rotaryTables.ts'
import type { Feed } from './session.ts'
import { Session, floats, int64s } from './session.ts'

export interface LearnerOptions {
  readonly source: ModelSource
  readonly lora: LoraConfig
  /** What the masks of dropout are drawn from; read only where the adapter has any. */
  readonly seed?: number
  readonly device: Device
  /** The ways to go back that may be asked for. */
  readonly backward: readonly BackwardPass[]
  /** Keep activations for the backward pass (faster) or compute layers again (less memory). */
  readonly saveActivations: (tokens: number) => boolean
}

/** The adapter that learns, and where its gradients add up (both in storage order). */
export interface LearningTarget {
  readonly adapter: AdapterParameters
  readonly gradients: Float32Array
  /** Updates done so far: each has dropout masks of its own. */
  readonly update: number
}

/** What the backward pass of one layer starts from. */
type LayerTape = Readonly<Record<string, Feed>>

export class Learner {
  readonly #options: LearnerOptions
  readonly #programs: LearningPrograms
  readonly #head: HeadRunner
  readonly #embedding: Session
  readonly #rotary: RotaryTables
  /** null without dropout. */
  readonly #dropout: DropoutMasks | null

  private constructor(options: LearnerOptions, programs: LearningPrograms, embedding: Session) {
    this.#options = options
    this.#programs = programs
    this.#head = new HeadRunner(options.source.config, programs)
    this.#embedding = embedding
    this.#rotary = new RotaryTables(options.source.config.rope)
    const { source, lora, seed = 0 } = options
    this.#dropout = (lora.dropout ?? 0) > 0 ? new DropoutMasks(source.config, lora, seed) : null
  }

  static async create(options: LearnerOptions): Promise<Learner> {
    const { source, lora, device, backward } = options
    const programs = new LearningPrograms(source, lora, device, backward)
    const program = { hidden: gather(programs.embeddingTable(), input('ids', 'int64', ['N'])) }
    const embedding = await Session.create({ name: 'embedding', program, device, purpose: 'weights' })
    return new Learner(options, programs, embedding)
  }

  get config() {
    return this.#options.source.config
  }

  /** Embeddings of the ids: [N, D]. */
  async embed(ids: Int32Array): Promise<Float32Array> {
    const { hidden } = await this.#embedding.run({ ids: int64s(ids, [ids.length]) })
    return hidden!
  }

  /** Heads of the sequences as one packed batch; no gradient. */
  async score(
    sequences: readonly TokenSequence[],
    adapter: AdapterParameters,
    options: Omit<ScoreOptions, 'role'>,
  ): Promise<Heads[]> {
    const batch = this.#pack(sequences)
    if (batch.headRows.length === 0) return sequences.map(emptyHeads)
    let hidden = await this.embed(batch.ids)
    for (let layer = 0; layer < this.config.layers; layer++) {
      options.signal?.throwIfAborted()
      const feeds = this.#feeds(batch, layer, hidden, adapter)
      hidden = (await this.#programs.run('score', `forward ${layer}`, feeds))['output']!
    }
    const result = await this.#head.score(hidden, batch, options.temperature)
    return unpackHeads(sequences, batch, result)
  }

  /** One micro-batch forward and backward; adds up the adapter's gradients. */
  async accumulate(
    sequences: readonly TokenSequence[],
    { adapter, gradients, update }: LearningTarget,
    options: AccumulateOptions,
    coefficients: (heads: readonly Heads[]) => readonly LossCoefficients[],
  ): Promise<Heads[]> {
    const batch = this.#pack(sequences)
    if (batch.headRows.length === 0) {
      const heads = sequences.map(emptyHeads)
      coefficients(heads)
      return heads
    }
    const saving = this.#options.saveActivations(batch.tokens)
    const masks = this.#masks(sequences, update)
    const tapes: LayerTape[] = []
    let hidden = await this.embed(batch.ids)
    for (let layer = 0; layer < this.config.layers; layer++) {
      options.signal?.throwIfAborted()
      const feeds: Record<string, Feed> = {
        ...this.#feeds(batch, layer, hidden, adapter),
        ...masks(layer),
      }
      const want = saving ? undefined : ['output']
      const { output, ...activations } = await this.#programs.run('learn', `forward ${layer}`, feeds, want)
      tapes.push({ hidden: feeds['hidden']!, ...this.#activationFeeds(batch, activations) })
      hidden = output!
    }
    const head = await this.#head.learn(hidden, batch, options)
    const heads = unpackHeads(sequences, batch, head)
    let cotangent = this.#head.cotangent(batch, head, packCoefficients(sequences, batch, coefficients(heads)))

    for (let layer = this.config.layers - 1; layer >= 0; layer--) {
      options.signal?.throwIfAborted()
      const pass = saving ? 'backwardFromSaved' : 'backward'
      const results = await this.#programs.run('learn', `${pass} ${layer}`, {
        ...this.#feeds(batch, layer, new Float32Array(0), adapter),
        ...masks(layer),
        ...tapes.pop(),
        cotangent: floats(cotangent, [batch.tokens, this.config.hiddenSize]),
      })
      addGradients(adapter, layer, results, gradients)
      cotangent = results[gradientName('hidden')] ?? cotangent
    }
    return heads
  }

  /** Forgets which sequences the update has seen: dropout begins anew. */
  restart(): void {
    this.#dropout?.restart()
  }

  #masks(sequences: readonly TokenSequence[], update: number): LayerMasks {
    return this.#dropout?.of(sequences, update) ?? (() => ({}))
  }

  #pack(sequences: readonly TokenSequence[]): PackedBatch {
    return packBatch(sequences, this.config, this.#rotary)
  }

  #feeds(
    batch: PackedBatch,
    layer: number,
    hidden: Float32Array,
    adapter: AdapterParameters,
  ): Record<string, Feed> {
    const shape = [hidden.length / this.config.hiddenSize, this.config.hiddenSize]
    return { ...batch.feeds, ...adapter.feeds(layer), hidden: floats(hidden, shape) }
  }

  #activationFeeds(batch: PackedBatch, activations: Readonly<Record<string, Float32Array>>): LayerTape {
    return Object.fromEntries(
      Object.entries(activations).map(([name, data]) => [
        name,
        floats(data, [batch.tokens, data.length / batch.tokens]),
      ]),
    )
  }

  [Symbol.dispose](): void {
    this.#programs[Symbol.dispose]()
    this.#embedding[Symbol.dispose]()
  }
}

function addGradients(
  adapter: AdapterParameters,
  layer: number,
  results: Readonly<Record<string, Float32Array>>,
  gradients: Float32Array,
): void {
  for (const slot of adapter.slots) {
    if (slot.layer !== layer) continue
    const part = results[gradientName(slot.input)]!
    for (let index = 0; index < part.length; index++) gradients[slot.offset + index]! += part[index]!
  }
}
