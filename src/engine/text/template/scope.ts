import { charge } from './limits.ts'
import type { Value } from './values.ts'

/** Names and their values; what an inner scope sets, the outer one does not see. */
export class Scope {
  readonly #values = new Map<string, Value>()
  readonly #outer: Scope | null

  constructor(outer: Scope | null = null) {
    this.#outer = outer
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value)
  }

  get(name: string): Value {
    charge(1)
    return this.#values.has(name) ? this.#values.get(name) : this.#outer?.get(name)
  }
}
