/** Ctrl-C: the first requests a stop after the current step, the second stops at once. */
export interface Interrupt extends Disposable {
  /** Aborted by the first Ctrl-C. */
  readonly gently: AbortSignal
  /** Aborted by the second. */
  readonly now: AbortSignal
}

const signals = ['SIGINT', 'SIGTERM'] as const

/** Time during which further Ctrl-C presses do not end the process, so that it can still say how to resume, in ms. */
const shutdownMs = 2000
const quiet = () => undefined

/** Listens until disposed; `onFirst` and `onSecond` tell the user what happens. */
export function watchInterrupts(onFirst: () => void, onSecond: () => void): Interrupt {
  const gently = new AbortController()
  const now = new AbortController()
  const listener = () => {
    if (gently.signal.aborted) {
      onSecond()
      now.abort()
      return
    }
    onFirst()
    gently.abort()
  }
  for (const signal of signals) process.on(signal, listener)
  return {
    gently: gently.signal,
    now: now.signal,
    [Symbol.dispose]() {
      const wake = setTimeout(() => {
        for (const signal of signals) process.off(signal, quiet)
      }, shutdownMs)
      wake.unref()
      for (const signal of signals) process.on(signal, quiet).off(signal, listener)
    },
  }
}
