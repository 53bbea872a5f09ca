import { SequentialRandom, randomStream } from '#shared/random.ts'
import { AppError } from '#shared/errors.ts'
import type { LoraConfig, ModelConfig } from '../models/config.ts'
import { type LoraSlot, loraSlots } from '../models/lora.ts'
import type { NamedTensor } from '../models/source.ts'
import type { PolicyRole } from '../policy.ts'
import { type Feed, floats } from './session.ts'

/** An adapter used for generation only, under a name of its own. */
export type NamedAdapter = `named ${string}`

/** The roles and adapters that one base can run with. */
export type AnsweringRole = PolicyRole | NamedAdapter

/** Entries of an adapter in a flat array. */
export const adapterSize = (config: ModelConfig, lora: LoraConfig): number =>
  loraSlots(config, lora).reduce((total, { size }) => total + size, 0)

/** Zeros in shared memory, which the learner threads read and write without a copy. */
export const sharedFloats = (length: number): Float32Array =>
  new Float32Array(new SharedArrayBuffer(length * Float32Array.BYTES_PER_ELEMENT))

/** The tensors of one adapter in one flat array, and the same memory as graph inputs: an update needs no copy. */
export class AdapterParameters {
  readonly slots: readonly LoraSlot[]
  readonly values: Float32Array
  readonly #feeds: readonly Readonly<Record<string, Feed>>[]

  /** `values`: the memory to use, such as a part of a longer array. */
  constructor(config: ModelConfig, lora: LoraConfig, values?: Float32Array) {
    this.slots = loraSlots(config, lora)
    this.values = values ?? sharedFloats(adapterSize(config, lora))
    const feeds = Array.from({ length: config.layers }, (): Record<string, Feed> => ({}))
    for (const slot of this.slots) {
      const layer = feeds[slot.layer]
      if (layer) layer[slot.input] = floats(this.#view(slot), slot.shape)
    }
    this.#feeds = feeds
  }

  #view({ offset, size }: LoraSlot): Float32Array {
    return this.values.subarray(offset, offset + size)
  }

  /** Inputs of one layer's programs; they always have the current values. */
  feeds(layer: number): Readonly<Record<string, Feed>> {
    return this.#feeds[layer] ?? {}
  }

  /**
   * A uniform in ±1/√in (Kaiming with a = √5), B zero: the adapted model starts equal to its base. Adapters of one seed
   * differ by their `place`.
   */
  initialize(seed: number, ...place: readonly number[]): this {
    const random = new SequentialRandom(randomStream(seed, 0x10a, ...place))
    for (const slot of this.slots) {
      const bound = slot.factor === 'A' ? 1 / Math.sqrt(slot.shape[1]) : 0
      const view = this.#view(slot)
      for (let index = 0; index < view.length; index++) view[index] = bound * (2 * random.uniform() - 1)
    }
    return this
  }

  /** Copies values in by name; every tensor must be there with its shape. */
  load(tensors: readonly NamedTensor[]): this {
    const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]))
    for (const slot of this.slots) {
      const tensor = byName.get(slot.name)
      if (!tensor) throw new AppError('adapter/invalid', `The adapter lacks the tensor ${slot.name}.`)
      if (tensor.data.length !== slot.size) {
        throw new AppError(
          'adapter/invalid',
          `The adapter's ${slot.name} has shape [${tensor.shape.join(', ')}], expected [${slot.shape.join(', ')}].`,
        )
      }
      this.#view(slot).set(tensor.data)
    }
    return this
  }

  /** `array` (parameters, gradients or moments in storage order) as named tensors; copies. */
  tensors(array: Float32Array = this.values): NamedTensor[] {
    return this.slots.map(({ name, shape, offset, size }) => ({
      name,
      shape,
      data: array.slice(offset, offset + size),
    }))
  }
}
