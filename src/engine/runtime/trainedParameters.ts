import { AppError } from '#shared/errors.ts'
import type { LoraConfig, ModelConfig } from '../models/config.ts'
import type { NamedTensor } from '../models/source.ts'
import { adamw, type AdamWSettings } from '../optimizers/adamw.ts'
import {
  gradientNorms,
  type OptimizerState,
  type ParameterRange,
  initialState,
} from '../optimizers/optimizer.ts'
import type { GradientNorms, UpdateOptions, UpdateResult } from '../policy.ts'
import { AdapterParameters, adapterSize, sharedFloats } from './adapterParameters.ts'
import type { CriticTarget, FlatParameters, LearningTarget, LearningTargets } from './learner.ts'
import { ValueHeadParameters, valueHeadSize } from './valueHead.ts'

export interface TrainedParametersOptions {
  readonly config: ModelConfig
  readonly lora: LoraConfig
  readonly critic: boolean
  readonly optimizer: AdamWSettings
}

/** Flat arrays as what learning reads and adds to. */
export function learningTargets(
  { config, lora, critic }: Pick<TrainedParametersOptions, 'config' | 'lora' | 'critic'>,
  flat: FlatParameters,
): LearningTargets {
  const { values, gradients } = flat
  const size = adapterSize(config, lora)
  const target = (start: number): LearningTarget => ({
    adapter: new AdapterParameters(config, lora, values.subarray(start, start + size)),
    gradients: gradients.subarray(start, start + size),
  })
  if (!critic) return { actor: target(0), critic: null, flat }
  const head = new ValueHeadParameters(values.subarray(2 * size))
  return {
    actor: target(0),
    critic: { ...target(size), head, headGradients: gradients.subarray(2 * size) },
    flat,
  }
}

/**
 * Everything that an update moves. Parameters, gradients and each of the optimizer's buffers are flat arrays of one
 * layout: the actor's adapter in the order of its tensors; then, where there is a critic, the critic's adapter in the same
 * order, the value head's weight [D] and its bias [1]. The actor is one parameter group, all of the critic is another.
 */
export class TrainedParameters implements LearningTargets {
  readonly actor: LearningTarget
  readonly critic: CriticTarget | null
  readonly flat: FlatParameters
  readonly #ranges: Readonly<Record<'actor' | 'critic', ParameterRange>>
  readonly #settings: AdamWSettings
  #state: OptimizerState

  constructor({ config, lora, critic, optimizer }: TrainedParametersOptions) {
    const size = adapterSize(config, lora)
    const criticSize = size + valueHeadSize(config.hiddenSize)
    const total = critic ? size + criticSize : size
    this.#ranges = { actor: { start: 0, end: size }, critic: { start: size, end: size + criticSize } }
    this.flat = { values: sharedFloats(total), gradients: sharedFloats(total) }
    this.#state = initialState(adamw, total)
    this.#settings = optimizer
    const { actor, critic: learned } = learningTargets({ config, lora, critic }, this.flat)
    this.actor = actor
    this.critic = learned
  }

  get #groups(): readonly ('actor' | 'critic')[] {
    return this.critic ? ['actor', 'critic'] : ['actor']
  }

  /** Of what was accumulated since the last update. */
  gradientNorms(): GradientNorms {
    const ranges = this.#groups.map((name) => ({ ranges: [this.#ranges[name]] }))
    return this.#named(gradientNorms(this.flat.gradients, ranges))
  }

  #named(norms: readonly number[]): GradientNorms {
    return Object.fromEntries(this.#groups.map((name, index) => [name, norms[index]!]))
  }

  /**
   * One AdamW step of every group; the gradients stay. A group that got none has a gradient of 0 and moves by its
   * momentum and decay.
   */
  update({ learningRates, maxGradNorm }: UpdateOptions): UpdateResult {
    const groups = this.#groups.map((name) => ({
      ranges: [this.#ranges[name]],
      learningRate: learningRates[name],
    }))
    const { values: parameters, gradients } = this.flat
    const state = this.#state
    const norms = adamw.step({ parameters, gradients, state, groups, maxGradNorm }, this.#settings)
    return { gradNorms: this.#named(norms) }
  }

  /** Updates taken so far. */
  get updates(): number {
    return this.#state.step
  }

  discardGradients(): void {
    this.flat.gradients.fill(0)
  }

  /** A copy of what was accumulated since the last update; the critic's with those of its value head. */
  gradientTensors(role: 'actor' | 'critic'): NamedTensor[] {
    if (role === 'actor') return this.actor.adapter.tensors(this.actor.gradients)
    const { adapter, gradients, head, headGradients } = this.requireCritic()
    return [...adapter.tensors(gradients), ...head.tensors(headGradients)]
  }

  requireCritic(): CriticTarget {
    if (!this.critic) throw new Error('This policy was made without a critic.')
    return this.critic
  }

  /** A copy of what the optimizer remembers. */
  optimizerState(): OptimizerState {
    const { step, buffers } = this.#state
    return {
      step,
      buffers: Object.fromEntries(Object.entries(buffers).map(([name, data]) => [name, data.slice()])),
    }
  }

  /**
   * Takes over a stored state. Errors: AppError 'checkpoint/invalid' where one of the two has a critic and the other
   * none; nothing is changed then.
   */
  restoreOptimizer({ step, buffers }: OptimizerState): void {
    const fresh = initialState(adamw, this.flat.values.length)
    for (const [name, target] of Object.entries(fresh.buffers)) {
      const stored = buffers[name]
      if (stored?.length !== target.length) throw this.#misfit(name, stored?.length ?? 0)
      target.set(stored)
    }
    this.#state = { ...fresh, step }
  }

  #misfit(name: string, length: number): Error {
    const { actor, critic } = this.#ranges
    if (length === (this.critic ? actor : critic).end) {
      return new AppError(
        'checkpoint/invalid',
        this.critic
          ? 'The stored optimizer state has no critic, but this run trains one.'
          : 'The stored optimizer state has a critic, but this run trains none.',
        'Start with a fresh optimizer, or use an algorithm that trains what the checkpoint contains.',
      )
    }
    return new Error(`Expected ${this.flat.values.length} entries in optimizer buffer ${name}.`)
  }
}
