/** What the host asks of a training process, as the training loop sees it. */
import type { PauseRequest } from '#rl/training/dependencies.ts'

export interface TrainingControl {
  /** Aborted: end after the current step. */
  readonly signal: AbortSignal
  readonly pause: PauseRequest
  stop(): void
  requestPause(): void
  unpause(): void
}

export function createControl(): TrainingControl {
  const end = new AbortController()
  let isWanted = false
  let release = () => {}
  const unpause = () => {
    isWanted = false
    release()
  }
  return {
    signal: end.signal,
    pause: {
      get isWanted() {
        return isWanted
      },
      over: () =>
        new Promise((resolve) => {
          if (!isWanted) resolve()
          else release = resolve
        }),
    },
    stop() {
      end.abort()
      unpause()
    },
    requestPause() {
      isWanted = !end.signal.aborted
    },
    unpause,
  }
}
