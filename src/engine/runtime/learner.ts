/**
 * Learning layer by layer. Forward keeps each layer's input (or its activations too); the head answers per token with the
 * log-probability, the entropy and their slopes with respect to the hidden state; the loss coefficients turn slopes into
 * the cotangent that runs back through the layers. Logits exist for one chunk of tokens or one slice of the vocabulary at
 * a time. A critic runs through the same programs with its own adapter and ends in a value head instead of the vocabulary.
 */
import type { AccumulateOptions, Heads, LossCoefficients, ScoreOptions, TokenSequence } from '../policy.ts'
import { gradientName } from '../models/learningGraphs.ts'
import { expertsOf, routeWidth } from '../models/expertConfig.ts'
import { routerScores, routesName } from '../models/expertPart.ts'
import { tokenPartName } from '../models/layerScope.ts'
import type { AdapterParameters } from './adapterParameters.ts'
import { type BlockLimits, defaultBlocks } from '../ops/blockwiseAttention.ts'
import { Embedding, type Embedded, freeEmbedded, layerInputFeed } from './embedding.ts'
import { HeadRunner } from './headRunner.ts'
import type { DropoutPlace, LayerMasks } from './dropoutMasks.ts'
import { DropoutMasks } from './dropoutMasks.ts'
import { type LearningProgramOptions, LearningPrograms, programUse } from './learningPrograms.ts'
import { isTouched, type PackedBatch, type PackedCoefficients, touchesPolicy } from './packedBatch.ts'
import { emptyHeads, packBatch, packCoefficients, unpackHeads } from './packedBatch.ts'
import { RotaryTables } from './passFeeds.ts'
import { layerRoutes } from './replayedRoutes.ts'
import { RouterTally } from './routerTally.ts'
import type { Feed } from './session.ts'
import { floats, free, numbers } from './session.ts'
import { SharedKeys } from './sharedKeys.ts'
import type { ValueHeadParameters } from './valueHead.ts'
import { ValueHeadRunner } from './valueHead.ts'

export interface LearnerOptions extends LearningProgramOptions {
  /** Seed of the dropout masks; read only where the adapter has dropout. */
  readonly seed?: number
  /**
   * Number of tokens up to which activations are kept for the backward pass (faster); above it, layers are recomputed.
   */
  readonly savedTokens: number
  /** Upper limit, in bytes, of the logits that exist at once. */
  readonly chunkBytes: number
  /** Limits that decide when attention is computed in blocks. */
  readonly blocks?: BlockLimits
}

/** The adapter that learns, and where its gradients add up (both in storage order). */
export interface LearningTarget {
  readonly adapter: AdapterParameters
  readonly gradients: Float32Array
}

/** The critic learns its value head too; [D + 1], the bias last. */
export interface CriticTarget extends LearningTarget {
  readonly head: ValueHeadParameters
  readonly headGradients: Float32Array
}

/** Weights that score: with a value head the values, without one the log-probabilities of the vocabulary. */
export interface ScoringTarget {
  readonly adapter: AdapterParameters
  readonly head?: ValueHeadParameters
}

export interface LearningTargets {
  readonly actor: LearningTarget
  readonly critic: CriticTarget | null
  /** Arrays that hold the parameters of both. */
  readonly flat: FlatParameters
}

/** Parameters and their gradients in the layout of `TrainedParameters`, in memory that threads share. */
export interface FlatParameters {
  readonly values: Float32Array
  readonly gradients: Float32Array
}

/** Coefficients that a loss gives to the head outputs of a micro-batch. */
export type Coefficients = (
  heads: readonly Heads[],
) => readonly LossCoefficients[] | Promise<readonly LossCoefficients[]>

/** One micro-batch and whose parameters learn from it. */
export interface LearningTask {
  readonly sequences: readonly TokenSequence[]
  readonly targets: LearningTargets
  readonly place: DropoutPlace
  readonly options: AccumulateOptions
  readonly coefficients: Coefficients
}

/** Data that all passes of one micro-batch share. */
interface Pass {
  readonly batch: PackedBatch
  readonly embedded: Embedded
  /** Activations are kept. */
  readonly saving: boolean
  readonly masks: LayerMasks
  readonly signal: AbortSignal | undefined
}

/** Tensors from which the backward pass of one layer starts. */
type LayerTape = Readonly<Record<string, Feed>>

/** Results that a pass forward leaves for the way back. */
interface Taken {
  readonly tapes: LayerTape[]
  readonly keys: SharedKeys
  /** null without experts. */
  readonly routers: RouterTally | null
}

export class Learner {
  readonly #options: LearnerOptions
  readonly #programs: LearningPrograms
  readonly #head: HeadRunner
  readonly #valueHead: ValueHeadRunner
  readonly #embedding: Embedding
  readonly #rotary: readonly RotaryTables[]
  /** Dropout masks; null without dropout. */
  readonly #dropout: DropoutMasks | null

  private constructor(options: LearnerOptions, programs: LearningPrograms, embedding: Embedding) {
    this.#options = options
    this.#programs = programs
    this.#head = new HeadRunner(options.source.config, programs, options.chunkBytes)
    this.#valueHead = new ValueHeadRunner(options.source.config.hiddenSize, programs)
    this.#embedding = embedding
    this.#rotary = options.source.config.ropes.map((rope) => new RotaryTables(rope))
    const { source, lora, seed = 0 } = options
    this.#dropout = (lora.dropout ?? 0) > 0 ? new DropoutMasks(source.config, lora, seed) : null
  }

  static async create(options: LearnerOptions): Promise<Learner> {
    const { source, device } = options
    const programs = new LearningPrograms(options)
    const embedding = await Embedding.create(source.config, (name) => programs.weight(name), device)
    return new Learner(options, programs, embedding)
  }

  get config() {
    return this.#options.source.config
  }

  /** Looks up ids at positions, both [N]. */
  embed(ids: Int32Array, positions: Int32Array): Promise<Embedded> {
    return this.#embedding.of(ids, positions)
  }

  /** Heads of the sequences as one packed batch; no gradient. */
  async score(
    sequences: readonly TokenSequence[],
    { adapter, head }: ScoringTarget,
    options: Omit<ScoreOptions, 'role'>,
  ): Promise<Heads[]> {
    const batch = this.#pack(sequences, true)
    if (batch.headRows.length === 0) {
      return sequences.map((sequence) => emptyHeads(sequence, head !== undefined))
    }
    const use = programUse('score', batch)
    const embedded = await this.embed(batch.ids, batch.positions)
    const keys = new SharedKeys(this.config)
    let { hidden } = embedded
    for (let layer = 0; layer < this.config.layers; layer++) {
      options.signal?.throwIfAborted()
      const feeds = { ...this.#feeds({ batch, embedded }, layer, hidden, adapter), ...keys.feeds(layer) }
      const want = ['output', ...keys.wanted(layer)]
      const { output, ...others } = await this.#programs.run(use, `forward ${layer}`, feeds, want)
      keys.keep(layer, others)
      free(hidden)
      hidden = output!
    }
    keys.free()
    freeEmbedded(embedded)
    const policy = head ? null : await this.#head.score(hidden, batch, options)
    const values = head ? (await this.#valueHead.score(hidden, batch, head)).values : null
    free(hidden)
    return unpackHeads(sequences, batch, { policy, values })
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
    const tapes = critic ? 2 : 1
    const pass: Pass = {
      batch,
      embedded: await this.embed(batch.ids, batch.positions),
      saving: tapes * batch.tokens <= this.#options.savedTokens,
      masks: this.#masks(sequences, place),
      signal: options.signal,
    }
    const criticRun = critic && (await this.#runCritic(pass, critic))
    const actorRun = await this.#runActor(pass, actor, options)
    const { scores: policy, routers } = actorRun
    const results = { policy, routers, values: criticRun?.values ?? null }
    const heads = unpackHeads(sequences, batch, results)
    const packed = packCoefficients(sequences, batch, await coefficients(heads))
    if (packed.values && isTouched(packed.values)) {
      if (!criticRun) throw new Error('The loss has a value term, but no critic was run.')
      await criticRun.learn(packed.values)
    }
    if (touchesPolicy(packed)) await actorRun.learn(packed)
    freeEmbedded(pass.embedded)
    return heads
  }

  #masks(sequences: readonly TokenSequence[], place: DropoutPlace): LayerMasks {
    return this.#dropout?.of(sequences, place) ?? (() => ({}))
  }

  /** Forward to the vocabulary; `learn` goes back, once. */
  async #runActor(pass: Pass, actor: LearningTarget, options: AccumulateOptions) {
    const { hidden, ...taken } = await this.#forward(pass, actor.adapter)
    const head = await this.#head.learn(hidden, pass.batch, options)
    const learn = async (coefficients: PackedCoefficients): Promise<void> =>
      this.#backward(pass, actor, taken, await head.cotangent(coefficients))
    return { scores: head.scores, routers: taken.routers, learn }
  }

  /** Forward to the value head; `learn` goes back, once, from ∂loss/∂value of each head row. */
  async #runCritic(pass: Pass, critic: CriticTarget) {
    const { hidden, ...taken } = await this.#forward(pass, critic.adapter)
    const scores = await this.#valueHead.score(hidden, pass.batch, critic.head)
    free(hidden)
    const learn = async (coefficients: Float64Array): Promise<void> => {
      const cotangent = await this.#valueHead.learn(pass.batch, scores, critic, coefficients)
      await this.#backward(pass, critic, taken, cotangent)
    }
    return { values: scores.values, learn }
  }

  /** Through all layers; a tape of each stays for the way back. */
  async #forward(pass: Pass, adapter: AdapterParameters): Promise<Taken & { readonly hidden: Float32Array }> {
    const { batch, embedded, saving, masks, signal } = pass
    const tapes: LayerTape[] = []
    const keys = new SharedKeys(this.config)
    const { experts } = this.config
    const routers = experts && new RouterTally(experts, batch.tokens)
    const use = programUse('learn', batch)
    let { hidden } = embedded
    for (let layer = 0; layer < this.config.layers; layer++) {
      signal?.throwIfAborted()
      const feeds: Record<string, Feed> = {
        ...this.#feeds(pass, layer, hidden, adapter),
        ...masks(layer),
        ...keys.feeds(layer),
      }
      const ofRouter = expertsOf(this.config, layer) === null ? [] : [routerScores]
      const want = saving ? undefined : ['output', ...keys.wanted(layer), ...ofRouter]
      const { output, ...others } = await this.#programs.run(use, `forward ${layer}`, feeds, want)
      keys.keep(layer, others)
      for (const name of ofRouter) routers?.add(others[name]!)
      const activations = saving ? others : {}
      tapes.push({ hidden: feeds['hidden']!, ...this.#activationFeeds(batch, activations) })
      hidden = output!
    }
    return { hidden, tapes, keys, routers }
  }

  /** Back through all layers from ∂loss/∂hidden [N, D] behind the last; uses up the tapes. */
  async #backward(
    passed: Pass,
    { adapter, gradients }: LearningTarget,
    { tapes, keys }: Taken,
    cotangent: Float32Array,
  ): Promise<void> {
    const { batch, embedded, saving, masks, signal } = passed
    const use = programUse('learn', batch)
    for (let layer = this.config.layers - 1; layer >= 0; layer--) {
      signal?.throwIfAborted()
      const pass = saving ? 'backwardFromSaved' : 'backward'
      const tape = tapes.pop()!
      const { [gradientName('hidden')]: next, ...results } = await this.#programs.run(
        use,
        `${pass} ${layer}`,
        {
          ...this.#feeds(passed, layer, new Float32Array(0), adapter),
          ...masks(layer),
          ...tape,
          ...keys.feeds(layer),
          ...keys.cotangents(layer),
          cotangent: floats(cotangent, [batch.tokens, this.config.hiddenSize]),
        },
      )
      addGradients(adapter, layer, results, gradients)
      keys.add(layer, results)
      // The critic and the actor start from the same embedding.
      const read = Object.values(tape)
        .map(numbers)
        .filter((array) => array !== embedded.hidden)
      free(cotangent, ...read, ...Object.values(results))
      if (next) cotangent = next
    }
    keys.free()
  }

  #pack(sequences: readonly TokenSequence[], shares: boolean): PackedBatch {
    const { blocks = defaultBlocks, replaysRoutes = false } = this.#options
    const { experts } = this.config
    const replayed = { routeWidth: replaysRoutes && experts ? routeWidth(experts) : 0 }
    return packBatch(sequences, this.config, { rotary: this.#rotary, shares, blocks, ...replayed })
  }

  #feeds(
    { batch, embedded }: Pick<Pass, 'batch' | 'embedded'>,
    layer: number,
    hidden: Float32Array,
    adapter: AdapterParameters,
  ): Record<string, Feed> {
    const shape = [hidden.length / this.config.hiddenSize, this.config.hiddenSize]
    const own = layerInputFeed(this.config, embedded, layer)
    const experts = expertsOf(this.config, layer)
    return {
      ...batch.feeds,
      ...adapter.feeds(layer),
      hidden: floats(hidden, shape),
      ...(own && { [tokenPartName]: own }),
      ...(experts && batch.routes && { [routesName]: layerRoutes(batch.routes, experts, layer) }),
    }
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
