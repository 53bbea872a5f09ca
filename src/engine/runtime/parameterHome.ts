/**
 * Home of the adapters while a policy learns: their values, the sums of their gradients and the optimizer's moments.
 * With the host all of them are the arrays themselves; a device that holds tensors has them for as long as nobody else
 * asks (deviceParameters.ts). CUDA and DirectML are handed every input and hand every output back, since the runtime's Node
 * binding binds outputs to buffers of WebGPU only: there the adapter goes up twice for a micro-batch, its gradient comes down
 * once, and the host steps.
 */
import type { LoraConfig, ModelConfig } from '../models/config.ts'
import { layerInputName } from '../models/generationGraph.ts'
import { loraSlots } from '../models/lora.ts'
import type { AdamWFactors, TrainedArrays } from '../optimizers/adamw.ts'
import type { TrainedNumbers } from '../optimizers/optimizer.ts'
import type { AdapterParameters } from './adapterParameters.ts'
import type { HeldFeeds } from './deviceTensors.ts'
import { HostNumbers } from './hostNumbers.ts'
import { floats, numbers, type Feed } from './session.ts'

/** Identifies arrays by reference, so a slice of a longer array must always be passed as the same view. */
export interface ParameterHome extends Disposable {
  /** An adapter's tensors by the names of whole programs. */
  take(adapter: AdapterParameters): Promise<HeldFeeds>
  /** Adds to a gradient from an entry on; takes over the part. */
  add(gradients: Float32Array, part: Feed, offset: number): Promise<void>
  /** An adapter that learns, as the optimizer moves it. */
  numbers(arrays: TrainedArrays): TrainedNumbers<AdamWFactors>
  /** Brings the host's array up to date, before it is read. */
  fetch(array: Float32Array): Promise<void>
  /** The host has written to an array, or needs it no more: what else there is of it is forgotten. */
  changed(array: Float32Array): void
  /** Sets a gradient to zero. */
  clear(gradients: Float32Array): void
}

/** Keeps everything in the host's arrays. */
export class HostParameters implements ParameterHome {
  readonly #slots: readonly (readonly [string, ReturnType<typeof loraSlots>[number]])[]

  constructor(config: ModelConfig, lora: LoraConfig) {
    this.#slots = loraSlots(config, lora).map((slot) => [layerInputName(slot.layer, slot.input), slot])
  }

  take({ values }: AdapterParameters): Promise<HeldFeeds> {
    const feeds = this.#slots.map(
      ([name, { offset, size, shape }]) =>
        [name, floats(values.subarray(offset, offset + size), shape)] as const,
    )
    return Promise.resolve({ feeds: Object.fromEntries(feeds), [Symbol.dispose]: nothing })
  }

  add(gradients: Float32Array, part: Feed, offset: number): Promise<void> {
    addTo(gradients, numbers(part), offset)
    return Promise.resolve()
  }

  numbers(arrays: TrainedArrays): HostNumbers {
    return new HostNumbers(arrays)
  }

  fetch(): Promise<void> {
    return Promise.resolve()
  }

  changed(): void {
    // There is nothing else of it.
  }

  clear(gradients: Float32Array): void {
    gradients.fill(0)
  }

  [Symbol.dispose](): void {
    // Arrays are left to the collector.
  }
}

const nothing = (): void => undefined

export function addTo(total: Float32Array, part: Float32Array, offset: number): void {
  for (let index = 0; index < part.length; index++) total[offset + index]! += part[index]!
}
