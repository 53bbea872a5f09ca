/** Keys and values that later layers read of an earlier one while learning, and the gradients that they give back. */
import { headShape, isReadLater, keysOfLayer, type ModelConfig } from '../models/config.ts'
import { gradientName, keyInputs } from '../models/learningGraphs.ts'
import { floats, free, type Feed } from './session.ts'

type Named = Readonly<Record<string, Float32Array>>
type KeysAndValues = Readonly<Record<'key' | 'value', Float32Array>>

export class SharedKeys {
  readonly #config: ModelConfig
  readonly #kept = new Map<number, KeysAndValues>()
  readonly #gradients = new Map<number, KeysAndValues>()

  constructor(config: ModelConfig) {
    this.#config = config
  }

  /** Results of a layer's forward program that later layers read. */
  wanted(layer: number): readonly string[] {
    return isReadLater(this.#config, layer) ? ['key', 'value'] : []
  }

  /** Keeps them, [N, K·C] each. */
  keep(layer: number, { key, value }: Named): void {
    if (this.wanted(layer).length > 0) this.#kept.set(layer, { key: key!, value: value! })
  }

  /** Graph inputs of a layer that reads those of another. */
  feeds(layer: number): Record<string, Feed> {
    const owner = keysOfLayer(this.#config, layer)
    return owner === layer ? {} : this.#feed(this.#kept.get(owner)!, owner, [keyInputs.key, keyInputs.value])
  }

  /** Adds the gradients that the backward program of a layer gives for what it read. */
  add(layer: number, results: Named): void {
    const owner = keysOfLayer(this.#config, layer)
    if (owner === layer) return
    const found = {
      key: results[gradientName(keyInputs.key)]!,
      value: results[gradientName(keyInputs.value)]!,
    }
    const sum = this.#gradients.get(owner)
    if (!sum) {
      this.#gradients.set(owner, { key: found.key.slice(), value: found.value.slice() })
      return
    }
    for (const name of ['key', 'value'] as const) {
      const [to, from] = [sum[name], found[name]]
      for (let index = 0; index < to.length; index++) to[index]! += from[index]!
    }
  }

  /** Graph inputs of a layer's backward program for the gradients of all that read it. */
  cotangents(layer: number): Record<string, Feed> {
    const sum = this.#gradients.get(layer)
    return sum ? this.#feed(sum, layer, [keyInputs.keyCotangent, keyInputs.valueCotangent]) : {}
  }

  #feed(
    { key, value }: KeysAndValues,
    owner: number,
    names: readonly [string, string],
  ): Record<string, Feed> {
    const { kvHeads, headDim } = headShape(this.#config, this.#config.mixers[owner])
    const width = kvHeads * headDim
    const dims = [key.length / width, width]
    return { [names[0]]: floats(key, dims), [names[1]]: floats(value, dims) }
  }

  free(): void {
    for (const { key, value } of [...this.#kept.values(), ...this.#gradients.values()]) free(key, value)
  }
}
