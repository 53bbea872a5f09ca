/**
 * The policy on ONNX Runtime: one set of adapter arrays (on a device: of tensors there), read by the learning programs and the
 * generation program alike, so an update is seen by the next rollout without a copy. Six f32 arrays have an entry per parameter
 * of an adapter: actor, reference, the zeros that stand for the base, gradient and two moments. Reading order: session.ts →
 * programs.ts → learningPrograms.ts, headRunner.ts and valueHead.ts → learner.ts → replica.ts → learningQueue.ts;
 * adapterParameters.ts → trainedParameters.ts; ortDecodeStep.ts → generation/generate.ts; and for devices policyPrograms.ts →
 * programs.ts, deviceTensors.ts → parameterHome.ts, deviceParameters.ts → segmentLearner.ts, deviceDecoder.ts, residentStep.ts.
 */
import { longestOf } from '../models/deviceMemory.ts'
import type { NamedTensor } from '../models/source.ts'
import type { ValueHead } from '../models/learningGraphs.ts'
import { adamw, type AdamWSettings } from '../optimizers/adamw.ts'
import type { OptimizerState } from '../optimizers/optimizer.ts'
import type {
  AccumulateOptions,
  AdapterRole,
  Completion,
  GenerateOptions,
  GenerationRequest,
  GradientNorms,
  Heads,
  LossCoefficients,
  Policy,
  ScoreOptions,
  Teacher,
  TokenSequence,
  UpdateOptions,
  UpdateResult,
} from '../policy.ts'
import { prefixFamilies, prefixTree, usedLength } from '../prefixes.ts'
import { AdapterParameters, type AnsweringRole, type NamedAdapter } from './adapterParameters.ts'
import { type GenerationStats, generateCompletions } from './generation/generate.ts'
import type { BlockLimits } from '../ops/blockwiseAttention.ts'
import { FittingSizes, generateFitting, learnFitting, scoreFitting, type FittingWork } from './fitting.ts'
import { SequenceOccurrences } from './dropoutMasks.ts'
import type { LearnerOptions, LearningTargets, ScoringTarget } from './learner.ts'
import { LearningQueue } from './learningQueue.ts'
import { learnsInBytes } from '../models/frozenWeights.ts'
import { learningMemory, planFor, type LearningMemoryOptions } from './learningMemory.ts'
import { learningTokens, replicasOf } from './packedBatch.ts'
import { sharingPays } from './ortDecodeStep.ts'
import { policyPrograms, type PolicyProgramOptions, type PolicyPrograms } from './policyPrograms.ts'
import { TrainedParameters } from './trainedParameters.ts'

export interface OrtPolicyOptions extends LearningMemoryOptions {
  /** Seed of a fresh adapter's values, and of the dropout masks where `lora` has dropout. */
  readonly loraSeed: number
  /** Starting values of the actor; fresh if absent. */
  readonly adapter?: readonly NamedTensor[]
  /** Starting values of the reference, or `base` for the base without an adapter; the actor's if absent. */
  readonly reference?: readonly NamedTensor[] | 'base'
  /** Another model that scores as the reference; the policy disposes of it. */
  readonly teacher?: Teacher
  /** Longest sequence where something else reads less than the model, such as a teacher; no plan of memory follows from it. */
  readonly readingLimit?: number
  /** A critic with an adapter of its own on the same base and a value head, both fresh; none if absent. */
  readonly critic?: boolean
  /** Seed of the fresh critic; `loraSeed` if absent. */
  readonly criticSeed?: number
  readonly rolloutPrecision: 'f32' | 'int8'
  /** Most completions that decode together. */
  readonly maxRows: number
  /** Generation reads a packed copy of exact weights; `packingPays` says when. False if absent. */
  readonly packsWeights?: boolean
  /**
   * Completions tell the experts that their tokens went through, and sequences with such a record are scored and learned from
   * over the same ones; without effect on a model that has none. False if absent.
   */
  readonly replaysRoutes?: boolean
  /** Further tokens that it will be asked about: the likeliest, or the alternatives of sequences. None if absent. */
  readonly further?: PolicyProgramOptions['further']
  /** Form in which programs are kept; the device's best if absent. */
  readonly programs?: Pick<PolicyProgramOptions, 'form' | 'segmentLayers' | 'bindingBytes' | 'keptBytes'>
  /** Length from which attention is learned in blocks, and the size of these; the measured best if absent. */
  readonly blocks?: BlockLimits
  /** The optimizer's defaults if absent. */
  readonly optimizer?: AdamWSettings
}

/** Tokens scored at once, by all replicas; bounds the memory of a scoring pass. */
const SCORE_TOKENS = 2048
/** Prompt tokens computed in one pass of the generation program. */
const PREFILL_TOKENS = 512
/** Logits that exist at once, of one learner: larger chunks gain no speed, smaller ones lose some. */
const CHUNK_BYTES = 80e6

export async function createOrtPolicy(options: OrtPolicyOptions): Promise<OrtPolicy> {
  const { source, lora, loraSeed: seed, device } = options
  const { blocks, products = 'auto', replaysRoutes = false } = options
  const memory = { ...learningMemory(options), chunkBytes: CHUNK_BYTES }
  const given = { source, lora, seed, device, products, replaysRoutes }
  const learning = { ...given, ...memory, ...(blocks && { blocks }) }
  const { rolloutPrecision: precision, packsWeights = false } = options
  const plan = planFor(options)
  const programs = await policyPrograms({
    source,
    lora,
    precision,
    packsWeights,
    sharesPrompts: sharingPays(options.maxRows, source.config.windows),
    learning,
    ...(plan && { segmentLayers: longestOf(plan.segments) }),
    ...(options.further && { further: options.further }),
    ...options.programs,
  })
  const tokens = plan?.tokens ?? learningTokens(source.config, device, learnsInBytes(source, products))
  return new OrtPolicy(options, learning, { programs, tokens })
}

interface OpenedPrograms {
  readonly programs: PolicyPrograms
  /** Tokens of a micro-batch. */
  readonly tokens: number
}

export class OrtPolicy implements Policy {
  readonly vocabSize: number
  readonly contextLength: number
  readonly learningTokens: number
  readonly replicas: number
  /** Tokens of a micro-batch, in all replicas together, up to which activations are kept. */
  readonly savedTokens: number
  lastGeneration: GenerationStats | null = null
  readonly #options: OrtPolicyOptions
  readonly #programs: PolicyPrograms
  readonly #queue: LearningQueue
  readonly #occurrences = new SequenceOccurrences()
  readonly #sizes = new FittingSizes()
  readonly #trained: TrainedParameters
  readonly #reference: AdapterParameters
  readonly #base: AdapterParameters
  readonly #teacher: Teacher | undefined
  readonly #named = new Map<NamedAdapter, AdapterParameters>()
  /** Generations under way. */
  #generations = 0

  constructor(options: OrtPolicyOptions, learning: LearnerOptions, { programs, tokens }: OpenedPrograms) {
    const { config } = options.source
    const { lora, loraSeed, adapter, reference, critic = false, criticSeed = loraSeed } = options
    this.#teacher = options.teacher
    this.vocabSize = config.vocabSize
    const limits = [options.contextLength, options.readingLimit].map((limit) => limit ?? Infinity)
    this.contextLength = Math.min(config.contextLength, ...limits)
    this.learningTokens = tokens
    this.replicas = replicasOf(options.device)
    this.savedTokens = learning.savedTokens
    this.#options = options
    this.#programs = programs
    const optimizer = options.optimizer ?? adamw.settings
    this.#trained = new TrainedParameters({ config, lora, critic, optimizer, home: programs.parameters })
    const { actor, flat } = this.#trained
    const { replicas } = this
    this.#queue = new LearningQueue(programs.learner, learning, { replicas, gradients: flat.gradients })
    if (adapter) actor.adapter.load(adapter)
    else actor.adapter.initialize(loraSeed)
    this.#trained.critic?.adapter.initialize(criticSeed, 1)
    this.#trained.critic?.head.initialize(criticSeed)
    this.#base = new AdapterParameters(config, lora) // all zero: adds nothing
    this.#reference = new AdapterParameters(config, lora)
    if (reference === undefined) this.#reference.values.set(actor.adapter.values)
    else if (reference !== 'base') this.#reference.load(reference)
  }

  /** False with dropout: the tokens of each sequence then have masks of their own. */
  get sharesPrefixes(): boolean {
    return (this.#options.lora.dropout ?? 0) === 0
  }

  #adapter(role: AnsweringRole): AdapterParameters {
    switch (role) {
      case 'actor':
        return this.#trained.actor.adapter
      case 'reference':
        return this.#reference
      case 'base':
        return this.#base
      case 'critic':
        return this.#trained.requireCritic().adapter
      default:
        return this.#requireNamed(role)
    }
  }

  #requireNamed(name: NamedAdapter): AdapterParameters {
    const adapter = this.#named.get(name)
    if (adapter === undefined) throw new Error(`Expected an adapter ${name}, which was not added.`)
    return adapter
  }

  /** A further adapter of the same LoRA config on the same base, which answers for its name and is not trained. */
  addAdapter(name: NamedAdapter, tensors: readonly NamedTensor[]): void {
    const { source, lora } = this.#options
    this.removeAdapter(name)
    this.#named.set(name, new AdapterParameters(source.config, lora).load(tensors))
  }

  removeAdapter(name: NamedAdapter): void {
    const adapter = this.#named.get(name)
    if (adapter) this.#programs.parameters.changed(adapter.values)
    this.#named.delete(name)
  }

  #scoringTarget(role: AnsweringRole): ScoringTarget {
    return role === 'critic' ? this.#trained.requireCritic() : { adapter: this.#adapter(role) }
  }

  async *generate(
    requests: readonly GenerationRequest[],
    options: GenerateOptions<AnsweringRole>,
  ): AsyncGenerator<Completion> {
    this.#generations++
    try {
      const decoder = await this.#programs.decoder((role) => this.#adapter(role))
      const { maxRows } = this.#options
      const { onToken, later, ...rest } = options
      const arrivals = { ...(onToken && { onToken }), ...(later && { later }) }
      yield* generateFitting(requests, { sizes: this.#sizes, maxRows, ...arrivals }, (wanted, rows, own) =>
        generateCompletions(decoder, wanted, {
          ...rest,
          ...own,
          maxRows: rows,
          contextLength: this.contextLength,
          prefillTokens: PREFILL_TOKENS,
          onEnd: (stats) => {
            this.lastGeneration = stats
          },
        }),
      )
    } finally {
      this.#generations--
    }
  }

  /** Makes room for sequences to be scored or learned from, unless tokens are generated meanwhile. */
  #makeRoom(): void {
    if (this.#generations === 0) this.#programs.closeDecoder()
  }

  async score(
    sequences: readonly TokenSequence[],
    { role, ...options }: ScoreOptions<AnsweringRole>,
  ): Promise<Heads[]> {
    if (role === 'reference' && this.#teacher !== undefined)
      return this.#teacher.score(sequences, { ...options, role: 'base' })
    this.#makeRoom()
    const heads = new Array<Heads>(sequences.length)
    const target = this.#scoringTarget(role)
    const those = (indices: readonly number[]) => indices.map((index) => sequences[index]!)
    const score = (indices: readonly number[]) =>
      this.#queue.add({
        cost: costOf(those(indices), true),
        work: (worker) => worker.score(those(indices), target, options),
      })
    const cost = (indices: readonly number[]) => costOf(those(indices), true)
    const scoreBatch = async (indices: readonly number[]) => {
      const shorten = () => this.#shorten()
      const scored = await scoreFitting(indices, { sizes: this.#sizes, cost, score, shorten })
      indices.forEach((index, place) => {
        heads[index] = scored[place]!
      })
    }
    await Promise.all(scoringBatches(sequences, SCORE_TOKENS / this.replicas).map(scoreBatch))
    return heads
  }

  accumulate(
    sequences: readonly TokenSequence[],
    options: AccumulateOptions,
    coefficients: (heads: readonly Heads[]) => readonly LossCoefficients[],
  ): Promise<Heads[]> {
    this.#makeRoom()
    const { actor, critic, flat, updates } = this.#trained
    const targets: LearningTargets = { actor, critic: options.values === false ? null : critic, flat }
    const occurrences = this.#occurrences.of(sequences)
    const those = (places: readonly number[]) => places.map((place) => sequences[place]!)
    const work: FittingWork = {
      sizes: this.#sizes,
      cost: (places) => costOf(those(places), this.sharesPrefixes),
      run: (places, ask) => {
        const place = { update: updates, occurrences: places.map((at) => occurrences[at]!) }
        const part = those(places)
        return this.#queue.add({
          cost: costOf(part, this.sharesPrefixes),
          work: (worker) =>
            worker.accumulate({ sequences: part, targets, place, options, coefficients: ask }),
        })
      },
      keepGradients: () => this.#keepGradients(),
      shorten: () => this.#shorten(),
    }
    return learnFitting([...sequences.keys()], work, coefficients)
  }

  /**
   * Keeps the gradients so that they can be restored. On the CPU nothing is ever restored: memory is allocated there
   * before anything is computed.
   */
  async #keepGradients(): Promise<() => void> {
    const { device, programs } = this.#options
    if (device.kind === 'cpu' && programs === undefined) return () => undefined
    return this.#trained.keepGradients()
  }

  #shorten(): boolean {
    const layers = this.#programs.shorten()
    if (layers !== null) this.#sizes.shortened(layers)
    return layers !== null
  }

  takeNotes(): string[] {
    return this.#sizes.takeNotes()
  }

  gradientNorms(): Promise<GradientNorms> {
    return this.#trained.gradientNorms()
  }

  async update(options: UpdateOptions): Promise<UpdateResult> {
    const result = await this.#trained.update(options)
    this.discardGradients()
    return result
  }

  discardGradients(): void {
    this.#trained.discardGradients()
    this.#occurrences.restart()
  }

  async refreshReference(mix: number): Promise<void> {
    const { parameters } = this.#programs
    const [to, from] = [this.#reference.values, this.#trained.actor.adapter.values]
    await parameters.fetch(from)
    for (let index = 0; index < to.length; index++) to[index] = mix * from[index]! + (1 - mix) * to[index]!
    parameters.changed(to)
  }

  /** A copy of an adapter under its checkpoint names. */
  async adapterTensors(role: AdapterRole): Promise<NamedTensor[]> {
    const adapter = this.#adapter(role)
    await this.#programs.parameters.fetch(adapter.values)
    return adapter.tensors()
  }

  /** Restores an adapter's values, such as those of a checkpoint. */
  restoreAdapter(role: AdapterRole, tensors: readonly NamedTensor[]): void {
    const { values } = this.#adapter(role).load(tensors)
    this.#programs.parameters.changed(values)
  }

  /** A copy of the critic's value head. */
  valueHead(): ValueHead {
    return this.#trained.requireCritic().head.get()
  }

  /**
   * Restores a value head's numbers, such as those of a checkpoint. Errors: AppError 'adapter/invalid' on another
   * width.
   */
  restoreValueHead(head: ValueHead): void {
    this.#trained.requireCritic().head.load(head)
  }

  /**
   * Copies the gradients accumulated since the last update, under the adapter's names; the critic's also with those of
   * its value head, `valueHeadNames`.
   */
  gradientTensors(role: 'actor' | 'critic' = 'actor'): Promise<NamedTensor[]> {
    return this.#trained.gradientTensors(role)
  }

  /** Copies the optimizer's state; the layout is that of `TrainedParameters`. */
  optimizerState(): Promise<OptimizerState> {
    return this.#trained.optimizerState()
  }

  /** Errors: AppError 'checkpoint/invalid' where only one of the state and this policy has a critic. */
  restoreOptimizer(state: OptimizerState): void {
    this.#trained.restoreOptimizer(state)
  }

  [Symbol.dispose](): void {
    this.#teacher?.[Symbol.dispose]()
    this.#queue[Symbol.dispose]()
    this.#programs[Symbol.dispose]()
  }
}

/** Number of tokens that are computed. */
const costOf = (sequences: readonly TokenSequence[], shares: boolean): number =>
  prefixTree(sequences, shares).tokens

/**
 * Returns batches of sequences to score together, as indices, at most `limit` tokens each: sequences that begin alike,
 * and similar lengths, so that little of the attention block is padding.
 */
function scoringBatches(sequences: readonly TokenSequence[], limit: number): number[][] {
  const lengths = sequences.map(usedLength)
  const longest = (family: readonly { readonly row: number }[]) =>
    Math.max(...family.map(({ row }) => lengths[row]!))
  const families = prefixFamilies(sequences).sort((a, b) => longest(a) - longest(b))
  const batches: number[][] = []
  let tokens = Infinity
  for (const family of families) {
    for (const [index, { row, common }] of family.entries()) {
      const added = lengths[row]! - (index === 0 ? 0 : common)
      const isNew = tokens + added > limit
      if (isNew) batches.push([])
      batches.at(-1)?.push(row)
      tokens = isNew ? lengths[row]! : tokens + added
    }
  }
  return batches
}
