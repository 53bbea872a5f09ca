import type { LoraConfig, ModelConfig } from '../models/config.ts'
import type { ModelSource } from '../models/source.ts'
import type { LayerParameters, LayerPrograms, Program } from '../models/learningGraphs.ts'
import { layerPrograms } from '../models/learningGraphs.ts'
import { loraInputs } from '../models/lora.ts'
import { weight } from '../graph/value.ts'
import type { Value } from '../graph/value.ts'
import type { Device } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import { Session } from './session.ts'

/** Which of a layer's programs are compiled; the saving pair costs memory, the plain pair computes the layer twice. */
export type LayerPass = keyof Omit<LayerPrograms, 'savedNames'>

/** A stored f32 tensor as a graph weight that the runtime maps from its file. */
export function mappedWeight(source: ModelSource, name: string): Value {
  const location = source.tensors.get(name)
  if (!location)
    throw new AppError('model/invalid', `The model in ${source.directory} has no tensor ${name}.`)
  if (location.dtype !== 'F32')
    throw new Error(`Expected ${name} in f32, got ${location.dtype}: convert the model first.`)
  return weight(name, location)
}

/**
 * The compiled layers. Each has sessions of its own, because its weights are mapped from disk as constants: the pages are
 * shared by all sessions and can be dropped by the system at any time. Sessions are made when first used.
 */
export class LayerStack {
  readonly #source: ModelSource
  readonly #lora: LoraConfig
  readonly #device: Device
  readonly #sessions = new Map<string, Promise<Session>>()
  readonly #programs = new Map<number, LayerPrograms>()
  readonly savedNames: readonly string[]

  constructor(source: ModelSource, lora: LoraConfig, device: Device) {
    this.#source = source
    this.#lora = lora
    this.#device = device
    this.savedNames = this.#layerPrograms(0).savedNames
  }

  get config(): ModelConfig {
    return this.#source.config
  }

  #layerPrograms(layer: number): LayerPrograms {
    const known = this.#programs.get(layer)
    if (known) return known
    const adapter = loraInputs(this.config, this.#lora)
    const weights = new Map<string, Value>()
    const parameters: LayerParameters = {
      adapter,
      trained: [...adapter.values()].flatMap(({ a, b }) => [a, b]),
      weight: (path) => {
        const name = `model.layers.${String(layer)}.${path}`
        const value = weights.get(name) ?? mappedWeight(this.#source, name)
        weights.set(name, value)
        return value
      },
    }
    const programs = layerPrograms(this.config, parameters, layer > 0)
    this.#programs.set(layer, programs)
    return programs
  }

  /** The session of one layer's program. */
  session(layer: number, pass: LayerPass): Promise<Session> {
    const name = `layer ${String(layer)} ${pass}`
    const known = this.#sessions.get(name)
    if (known) return known
    const program: Program = this.#layerPrograms(layer)[pass]
    const created = Session.create({ name, program, device: this.#device, purpose: 'learn' })
    this.#sessions.set(name, created)
    return created
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions.values())
      void session.then((created) => {
        created[Symbol.dispose]()
      })
    this.#sessions.clear()
  }
}
