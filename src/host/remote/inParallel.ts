/** Runs jobs, so many at once, and yields their results as they come. The first error ends it; others are let go. */
export async function* inParallel<T>(jobs: readonly (() => Promise<T>)[], limit: number): AsyncGenerator<T> {
  type Settled = { readonly place: number } & ({ readonly value: T } | { readonly error: unknown })
  const running = new Map<number, Promise<Settled>>()
  let next = 0
  const start = (place: number): void => {
    const job = jobs[place]
    if (job === undefined) return
    const settled = job().then(
      (value): Settled => ({ place, value }),
      (error: unknown): Settled => ({ place, error }),
    )
    running.set(place, settled)
  }
  while (next < jobs.length && running.size < limit) start(next++)
  while (running.size > 0) {
    const settled = await Promise.race(running.values())
    running.delete(settled.place)
    if ('error' in settled) throw settled.error
    if (next < jobs.length) start(next++)
    yield settled.value
  }
}
