import { holdsTensors } from '#shared/device.ts'
import type { LoraConfig, ModelConfig } from '../models/config.ts'
import { layerInputName } from '../models/generationGraph.ts'
import { loraSlots, type LoraSlot } from '../models/lora.ts'
import { input } from '../graph/value.ts'
import { mul } from '../ops/arithmetic.ts'
import { piece, reshape } from '../ops/layout.ts'
import type { AdapterParameters } from './adapterParameters.ts'
import { release } from './deviceTensors.ts'
import { OnDemand } from './onDemand.ts'
import { Session, floats, type Feed, type SessionOptions } from './session.ts'

/** An adapter's tensors by the names of whole programs, where those read them. */
export class DeviceAdapter implements Disposable {
  readonly feeds: Readonly<Record<string, Feed>>

  constructor(feeds: Readonly<Record<string, Feed>>) {
    this.feeds = feeds
  }

  [Symbol.dispose](): void {
    for (const feed of Object.values(this.feeds)) release(feed)
  }
}

/**
 * Brings adapters to a device: as one array, which is cut into its tensors there. Where the device cannot hold tensors
 * they are fed from the host's memory as they lie.
 */
export class AdapterUpload {
  readonly #slots: readonly LoraSlot[]
  readonly #device: SessionOptions['device']
  readonly #cut = new OnDemand<Session>()

  constructor(config: ModelConfig, lora: LoraConfig, device: SessionOptions['device']) {
    this.#slots = loraSlots(config, lora)
    this.#device = device
  }

  async take(adapter: AdapterParameters): Promise<DeviceAdapter> {
    const names = this.#slots.map(({ layer, input: name }) => layerInputName(layer, name))
    if (!holdsTensors(this.#device)) {
      const data = ({ offset, size }: LoraSlot) => adapter.values.subarray(offset, offset + size)
      return new DeviceAdapter(
        Object.fromEntries(this.#slots.map((slot, at) => [names[at]!, floats(data(slot), slot.shape)])),
      )
    }
    const session = await this.#cut.get('adapter', () => this.#createCut(names))
    return new DeviceAdapter(
      await session.runTensors({ adapter: floats(adapter.values, [adapter.values.length]), one: ONE }),
    )
  }

  #createCut(names: readonly string[]): Promise<Session> {
    const total = this.#slots.reduce((sum, { size }) => sum + size, 0)
    const whole = mul(input('adapter', 'float32', [total]), input('one', 'float32', [1]))
    // A slice for each: one kernel that wrote all of them would need more buffers at once than devices have bindings for.
    const program = Object.fromEntries(
      this.#slots.map(({ offset, size, shape }, at) => [
        names[at]!,
        reshape(piece(whole, offset, size), shape),
      ]),
    )
    return Session.create({ name: 'adapter', program, device: this.#device, purpose: 'learn', kept: names })
  }

  [Symbol.dispose](): void {
    this.#cut[Symbol.dispose]()
  }
}

const ONE = floats(Float32Array.of(1), [1])
