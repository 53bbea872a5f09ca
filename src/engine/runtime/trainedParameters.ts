import { AppError } from '#shared/errors.ts'
import type { LoraConfig, ModelConfig } from '../models/config.ts'
import type { NamedTensor } from '../models/source.ts'
import { adamw, type AdamWSettings, type TrainedArrays } from '../optimizers/adamw.ts'
import { gradientNorms, type OptimizerState, initialState } from '../optimizers/optimizer.ts'
import type { GradientNorms, UpdateOptions, UpdateResult } from '../policy.ts'
import { AdapterParameters, adapterSize, sharedFloats } from './adapterParameters.ts'
import type { CriticTarget, FlatParameters, LearningTarget, LearningTargets } from './learner.ts'
import { HostParameters, type ParameterHome } from './parameterHome.ts'
import { ValueHeadParameters, valueHeadSize } from './valueHead.ts'

export interface TrainedParametersOptions {
  readonly config: ModelConfig
  readonly lora: LoraConfig
  readonly critic: boolean
  readonly optimizer: AdamWSettings
  /** Home of the adapters; the value head is always on the host. */
  readonly home: ParameterHome
}

/** Returns flat arrays in the form that learning reads and adds to. */
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

type GroupName = 'actor' | 'critic'

/** Parameters that are in one place. */
interface Part {
  readonly arrays: TrainedArrays
  readonly home: ParameterHome
}

/**
 * Everything that an update moves. Parameters, gradients and each of the optimizer's buffers are flat arrays of one
 * layout: the actor's adapter in the order of its tensors; then, where there is a critic, the critic's adapter in the same
 * order, the value head's weight [D] and its bias [1]. The actor is one parameter group, all of the critic is another.
 * A device may hold newer values than these arrays: fetch before reading them, and report every write to them.
 */
export class TrainedParameters implements LearningTargets {
  readonly actor: LearningTarget
  readonly critic: CriticTarget | null
  readonly flat: FlatParameters
  readonly #settings: AdamWSettings
  readonly #moments: OptimizerState['buffers']
  /** Entries without and with a critic. */
  readonly #lengths: readonly [number, number]
  readonly #groups: ReadonlyMap<GroupName, readonly Part[]>
  #updates = 0

  constructor({ config, lora, critic, optimizer, home }: TrainedParametersOptions) {
    const size = adapterSize(config, lora)
    this.#lengths = [size, 2 * size + valueHeadSize(config.hiddenSize)]
    const total = this.#lengths[critic ? 1 : 0]
    this.flat = { values: sharedFloats(total), gradients: sharedFloats(total) }
    this.#moments = initialState(adamw, total).buffers
    this.#settings = optimizer
    const targets = learningTargets({ config, lora, critic }, this.flat)
    this.actor = targets.actor
    this.critic = targets.critic
    const adapterOf = ({ adapter: { values }, gradients }: LearningTarget, start: number): Part => ({
      arrays: this.#arrays(start, { values, gradients }),
      home,
    })
    const groups: [GroupName, Part[]][] = [['actor', [adapterOf(this.actor, 0)]]]
    if (this.critic) {
      const { head, headGradients } = this.critic
      const arrays = this.#arrays(2 * size, { values: head.values, gradients: headGradients })
      const headPart = { arrays, home: new HostParameters(config, lora) }
      groups.push(['critic', [adapterOf(this.critic, size), headPart]])
    }
    this.#groups = new Map(groups)
  }

  #arrays(start: number, own: Pick<TrainedArrays, 'values' | 'gradients'>): TrainedArrays {
    const moments = (name: (typeof adamw.buffers)[number]) =>
      this.#moments[name]!.subarray(start, start + own.values.length)
    return { ...own, first: moments('firstMoments'), second: moments('secondMoments') }
  }

  get #parts(): Part[] {
    return [...this.#groups.values()].flat()
  }

  #numbers(name: GroupName) {
    return this.#groups.get(name)!.map(({ arrays, home }) => home.numbers(arrays))
  }

  /** Returns the norms of the gradients accumulated since the last update. */
  async gradientNorms(): Promise<GradientNorms> {
    const groups = [...this.#groups.keys()].map((name) => ({ numbers: this.#numbers(name) }))
    return this.#named(await gradientNorms(groups))
  }

  #named(norms: readonly number[]): GradientNorms {
    return Object.fromEntries([...this.#groups.keys()].map((name, index) => [name, norms[index]!]))
  }

  /**
   * One AdamW step of every group; the gradients stay. A group that got none has a gradient of 0 and moves by its
   * momentum and decay.
   */
  async update({ learningRates, maxGradNorm }: UpdateOptions): Promise<UpdateResult> {
    const groups = [...this.#groups.keys()].map((name) => ({
      numbers: this.#numbers(name),
      learningRate: learningRates[name],
    }))
    const step = this.#updates + 1
    const norms = await adamw.step({ groups, step, maxGradNorm }, this.#settings)
    this.#updates = step
    return { gradNorms: this.#named(norms) }
  }

  /** Updates taken so far. */
  get updates(): number {
    return this.#updates
  }

  discardGradients(): void {
    for (const { arrays, home } of this.#parts) home.clear(arrays.gradients)
  }

  /** A copy of the gradients as they are; the function it returns puts them back. */
  async keepGradients(): Promise<() => void> {
    for (const { arrays, home } of this.#parts) await home.fetch(arrays.gradients)
    const kept = this.flat.gradients.slice()
    return () => {
      this.flat.gradients.set(kept)
      for (const { arrays, home } of this.#parts) home.changed(arrays.gradients)
    }
  }

  /** Copies the gradients accumulated since the last update; the critic's with those of its value head. */
  async gradientTensors(role: GroupName): Promise<NamedTensor[]> {
    for (const { arrays, home } of this.#parts) await home.fetch(arrays.gradients)
    if (role === 'actor') return this.actor.adapter.tensors(this.actor.gradients)
    const { adapter, gradients, head, headGradients } = this.requireCritic()
    return [...adapter.tensors(gradients), ...head.tensors(headGradients)]
  }

  requireCritic(): CriticTarget {
    if (!this.critic) throw new Error('This policy was made without a critic.')
    return this.critic
  }

  /** Copies the optimizer's state. */
  async optimizerState(): Promise<OptimizerState> {
    for (const { arrays, home } of this.#parts) {
      await home.fetch(arrays.first)
      await home.fetch(arrays.second)
    }
    const buffers = Object.entries(this.#moments).map(([name, data]) => [name, data.slice()] as const)
    return { step: this.#updates, buffers: Object.fromEntries(buffers) }
  }

  /**
   * Takes over a stored state. Errors: AppError 'checkpoint/invalid' where one of the two has a critic and the other
   * none; nothing is changed then.
   */
  restoreOptimizer({ step, buffers }: OptimizerState): void {
    const targets = Object.entries(this.#moments)
    for (const [name, { length }] of targets)
      if (buffers[name]?.length !== length) throw this.#misfit(name, buffers[name]?.length ?? 0)
    for (const [name, target] of targets) target.set(buffers[name]!)
    for (const { arrays, home } of this.#parts) {
      home.changed(arrays.first)
      home.changed(arrays.second)
    }
    this.#updates = step
  }

  #misfit(name: string, length: number): Error {
    if (length === this.#lengths[this.critic ? 0 : 1]) {
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
