/**
 * The policy on ONNX Runtime: one set of adapter arrays, read by the learning programs and the generation program alike,
 * so an update is seen by the next rollout without a copy. Reading order: session.ts → programSet.ts → learningPrograms.ts and headRunner.ts →
 * learner.ts; ortDecodeStep.ts → generation/generate.ts.
 */
import { totalmem } from 'node:os'
import type { Device } from '#shared/device.ts'
import type { LoraConfig, ModelConfig } from '../models/config.ts'
import type { ModelSource, NamedTensor } from '../models/source.ts'
import { adamw, type AdamWSettings } from '../optimizers/adamw.ts'
import type { OptimizerState } from '../optimizers/optimizer.ts'
import { initialState } from '../optimizers/optimizer.ts'
import type {
  AccumulateOptions,
  Completion,
  GenerateOptions,
  GenerationRequest,
  Heads,
  LossCoefficients,
  Policy,
  PolicyRole,
  ScoreOptions,
  TokenSequence,
  UpdateOptions,
  UpdateResult,
} from '../policy.ts'
import { AdapterParameters } from './adapterParameters.ts'
import type { GenerationStats } from './generation/generate.ts'
import { generateCompletions } from './generation/generate.ts'
import { Learner } from './learner.ts'
import { OrtDecodeStep } from './ortDecodeStep.ts'
import { usedLength } from './packedBatch.ts'

export interface OrtPolicyOptions {
  /** f32 tensors in one folder; for int8 rollouts also the 8-bit form of each matrix. */
  readonly source: ModelSource
  readonly device: Device
  readonly lora: LoraConfig
  /** Of a fresh adapter's values, and of the masks where `lora` has dropout. */
  readonly loraSeed: number
  /** Starting values of the actor; fresh if absent. */
  readonly adapter?: readonly NamedTensor[]
  readonly rolloutPrecision: 'f32' | 'int8'
  readonly activations: 'recompute' | 'save' | 'auto'
  /** Most completions that decode together. */
  readonly maxRows: number
  /** Longest prompt plus completion; the model's own limit if absent. */
  readonly contextLength?: number
  /** The optimizer's defaults if absent. */
  readonly optimizer?: AdamWSettings
}

/** Tokens scored together; bounds the memory of a scoring pass. */
const SCORE_TOKENS = 2048
/** Prompt tokens computed in one pass of the generation program. */
const PREFILL_TOKENS = 512
/** Share of the machine's memory that saved activations may take before layers are computed again instead. */
const ACTIVATION_SHARE = 0.25

export async function createOrtPolicy(options: OrtPolicyOptions): Promise<OrtPolicy> {
  const { source, lora, loraSeed: seed, device } = options
  const saveActivations = (tokens: number) => savesActivations(options, tokens)
  const backward = backwardPasses[options.activations]
  const learner = await Learner.create({ source, lora, seed, device, backward, saveActivations })
  return new OrtPolicy(options, learner)
}

const backwardPasses = {
  recompute: ['backward'],
  save: ['backwardFromSaved'],
  auto: ['backward', 'backwardFromSaved'],
} as const

function savesActivations({ source, activations }: OrtPolicyOptions, tokens: number): boolean {
  if (activations !== 'auto') return activations === 'save'
  return tokens * activationBytes(source.config) < ACTIVATION_SHARE * totalmem()
}

/** Saved activations of one token over all layers: query, key, value, mixed, attended, gate, up and the layer's input. */
function activationBytes({
  layers,
  heads,
  kvHeads,
  headDim,
  hiddenSize,
  intermediateSize,
}: ModelConfig): number {
  return 4 * layers * (2 * heads * headDim + 2 * kvHeads * headDim + 2 * hiddenSize + 2 * intermediateSize)
}

export class OrtPolicy implements Policy {
  readonly vocabSize: number
  readonly contextLength: number
  /** What the last generation did. */
  lastGeneration: GenerationStats | null = null
  readonly #options: OrtPolicyOptions
  readonly #learner: Learner
  readonly #actor: AdapterParameters
  readonly #reference: AdapterParameters
  readonly #base: AdapterParameters
  readonly #gradients: Float32Array
  #optimizer: OptimizerState
  #decodeStep: Promise<OrtDecodeStep> | null = null

  constructor(options: OrtPolicyOptions, learner: Learner) {
    const { config } = options.source
    const { lora, loraSeed, adapter } = options
    this.vocabSize = config.vocabSize
    this.contextLength = Math.min(options.contextLength ?? config.maxPositions, config.maxPositions)
    this.#options = options
    this.#learner = learner
    const fresh = () => new AdapterParameters(config, lora)
    this.#actor = adapter ? fresh().load(adapter) : fresh().initialize(loraSeed)
    this.#reference = fresh()
    this.#reference.values.set(this.#actor.values)
    this.#base = fresh() // all zero: adds nothing
    this.#gradients = new Float32Array(this.#actor.values.length)
    this.#optimizer = initialState(adamw, this.#actor.values.length)
  }

  #adapter(role: PolicyRole): AdapterParameters {
    switch (role) {
      case 'actor':
        return this.#actor
      case 'reference':
        return this.#reference
      case 'base':
        return this.#base
      case 'critic':
        throw new Error('This policy was made without a critic.')
    }
  }

  async *generate(
    requests: readonly GenerationRequest[],
    options: GenerateOptions,
  ): AsyncGenerator<Completion> {
    this.#decodeStep ??= this.#createDecodeStep()
    yield* generateCompletions(await this.#decodeStep, requests, {
      ...options,
      maxRows: this.#options.maxRows,
      contextLength: this.contextLength,
      prefillTokens: PREFILL_TOKENS,
      onEnd: (stats) => {
        this.lastGeneration = stats
      },
    })
  }

  #createDecodeStep(): Promise<OrtDecodeStep> {
    const { source, device, lora, rolloutPrecision } = this.#options
    return OrtDecodeStep.create({
      source,
      precision: rolloutPrecision,
      lora,
      device,
      embed: (ids) => this.#learner.embed(ids),
      adapter: (role) => this.#adapter(role),
    })
  }

  async score(sequences: readonly TokenSequence[], { role, ...options }: ScoreOptions): Promise<Heads[]> {
    const heads = new Array<Heads>(sequences.length)
    for (const batch of scoringBatches(sequences)) {
      const scored = await this.#learner.score(
        batch.map((index) => sequences[index]!),
        this.#adapter(role),
        options,
      )
      batch.forEach((index, place) => {
        heads[index] = scored[place]!
      })
    }
    return heads
  }

  async accumulate(
    sequences: readonly TokenSequence[],
    options: AccumulateOptions,
    coefficients: (heads: readonly Heads[]) => readonly LossCoefficients[],
  ): Promise<Heads[]> {
    const target = { adapter: this.#actor, gradients: this.#gradients, update: this.#optimizer.step }
    return this.#learner.accumulate(sequences, target, options, coefficients)
  }

  update({ learningRates, maxGradNorm }: UpdateOptions): UpdateResult {
    const parameters = this.#actor.values
    const groups = [{ ranges: [{ start: 0, end: parameters.length }], learningRate: learningRates.actor }]
    const task = { parameters, gradients: this.#gradients, state: this.#optimizer, groups, maxGradNorm }
    const [actor = 0] = adamw.step(task, this.#options.optimizer ?? adamw.settings)
    this.discardGradients()
    return { gradNorms: { actor } }
  }

  discardGradients(): void {
    this.#gradients.fill(0)
    this.#learner.restart()
  }

  refreshReference(mix: number): void {
    const [to, from] = [this.#reference.values, this.#actor.values]
    for (let index = 0; index < to.length; index++) to[index] = mix * from[index]! + (1 - mix) * to[index]!
  }

  /** A copy of an adapter under its checkpoint names. */
  adapterTensors(role: 'actor' | 'reference'): NamedTensor[] {
    return this.#adapter(role).tensors()
  }

  /** Takes an adapter's values, such as those of a checkpoint. */
  restoreAdapter(role: 'actor' | 'reference', tensors: readonly NamedTensor[]): void {
    this.#adapter(role).load(tensors)
  }

  /** A copy of what was accumulated since the last update, under the adapter's names. */
  gradientTensors(): NamedTensor[] {
    return this.#actor.tensors(this.#gradients)
  }

  /** A copy of what the optimizer remembers. */
  optimizerState(): OptimizerState {
    const { step, buffers } = this.#optimizer
    return {
      step,
      buffers: Object.fromEntries(Object.entries(buffers).map(([name, data]) => [name, data.slice()])),
    }
  }

  restoreOptimizer({ step, buffers }: OptimizerState): void {
    const fresh = initialState(adamw, this.#actor.values.length)
    for (const [name, target] of Object.entries(fresh.buffers)) {
      const stored = buffers[name]
      if (stored?.length !== target.length)
        throw new Error(`Expected ${String(target.length)} entries in optimizer buffer ${name}.`)
      target.set(stored)
    }
    this.#optimizer = { ...fresh, step }
  }

  [Symbol.dispose](): void {
    this.#learner[Symbol.dispose]()
    // If it could not be made, that was reported where it was asked for.
    void this.#decodeStep?.then(
      (step) => {
        step[Symbol.dispose]()
      },
      () => undefined,
    )
  }
}

/** Indices of sequences scored together: similar lengths, so that little of the attention block is padding. */
function scoringBatches(sequences: readonly TokenSequence[]): number[][] {
  const order = sequences
    .map((sequence, index) => ({ index, length: usedLength(sequence) }))
    .sort((a, b) => a.length - b.length)
  const batches: number[][] = []
  let tokens = Infinity
  for (const { index, length } of order) {
    if (tokens + length > SCORE_TOKENS) {
      batches.push([])
      tokens = 0
    }
    batches.at(-1)?.push(index)
    tokens += length
  }
  return batches
}
