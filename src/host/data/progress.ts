import type { z } from 'zod'
import type { progress } from '#shared/api/common.ts'

export type Progress = z.output<typeof progress>

/** What work tells by a callback as items of a stream, the latest only; returns what the work returns. */
export async function* progressOf<Result>(
  work: (onProgress: (progress: Progress) => void) => Promise<Result>,
): AsyncGenerator<{ progress: Progress }, Result> {
  const state: { latest: Progress | null; isOver: boolean } = { latest: null, isOver: false }
  let wake = () => {}
  const working = work((progress) => {
    state.latest = progress
    wake()
  }).finally(() => {
    state.isOver = true
    wake()
  })
  // Awaited below; a failure in between must not count as unheard.
  working.catch(() => undefined)
  while (!state.isOver) {
    const { latest: progress } = state
    state.latest = null
    if (progress !== null) yield { progress }
    else await new Promise<void>((resolve) => (wake = resolve))
  }
  return working
}
