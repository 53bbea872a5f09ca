/** What is made when it is first asked for, under a key, and disposed together. */
export class OnDemand<Made extends Disposable> implements Disposable {
  readonly #made = new Map<string, Promise<Made>>()

  get(key: string, make: () => Promise<Made>): Promise<Made> {
    const known = this.#made.get(key)
    if (known) return known
    const made = make()
    this.#made.set(key, made)
    return made
  }

  [Symbol.dispose](): void {
    for (const made of this.#made.values()) {
      // What could not be made was reported where it was asked for; there is nothing to release.
      void made.then(
        (created) => {
          created[Symbol.dispose]()
        },
        () => undefined,
      )
    }
    this.#made.clear()
  }
}
