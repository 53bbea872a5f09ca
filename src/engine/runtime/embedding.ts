/** Embeddings of tokens before the first layer: rows of the tables, which stay mapped. */
import type { Device } from '#shared/device.ts'
import type { Value } from '../graph/value.ts'
import type { ModelConfig } from '../models/config.ts'
import { embeddingValue, layerInputs, packedInputs } from '../models/decoder.ts'
import { gather } from '../ops/gather.ts'
import { floats, free, int64s, Session, type Feed } from './session.ts'

/** N tokens. */
export interface Embedded {
  /** [N, D] input of the first layer. */
  readonly hidden: Float32Array
  /** [L, N, P] what they bring into each layer; null where they bring nothing. */
  readonly layerInputs: Float32Array | null
}

/** The graph input of a layer for what its tokens bring; null where they bring nothing. */
export function layerInputFeed(
  { layers, layerChannels }: ModelConfig,
  { layerInputs: all }: Embedded,
  layer: number,
): Feed | null {
  if (all === null) return null
  const size = all.length / layers
  return floats(all.subarray(layer * size, (layer + 1) * size), [size / layerChannels, layerChannels])
}

export const freeEmbedded = ({ hidden, layerInputs: all }: Embedded): void => {
  free(hidden, ...(all === null ? [] : [all]))
}

export class Embedding {
  readonly #session: Session

  private constructor(session: Session) {
    this.#session = session
  }

  /** `weightOf` gives a tensor of the model by its full name. */
  static async create(
    config: ModelConfig,
    weightOf: (name: string) => Value,
    device: Device,
  ): Promise<Embedding> {
    const inputs = packedInputs()
    const rowsOf = (name: string, ids: Value) => gather(weightOf(name), ids)
    const hidden = embeddingValue(config, rowsOf, inputs)
    const brought = layerInputs(config, { hidden, ids: inputs.ids }, { rowsOf, weightOf })
    const program = { hidden, ...(brought && { brought }) }
    return new Embedding(await Session.create({ name: 'embedding', program, device, purpose: 'weights' }))
  }

  /** Looks up ids at positions, [N] both. */
  async of(ids: Int32Array, positions: Int32Array): Promise<Embedded> {
    const { hidden, brought = null } = await this.#session.run({
      ids: int64s(ids, [ids.length]),
      positions: int64s(positions, [ids.length]),
    })
    return { hidden: hidden!, layerInputs: brought }
  }

  [Symbol.dispose](): void {
    this.#session[Symbol.dispose]()
  }
}
