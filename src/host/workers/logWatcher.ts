/** Sees when logs grow that processes of another host write. */
import { statSync } from 'node:fs'

export interface WatchedLog {
  readonly runId: string
  /** Its events.jsonl, which may not be there yet. */
  readonly file: string
}

export interface LogWatcherOptions {
  /** Asked anew each time: runs come and go. */
  readonly logs: () => readonly WatchedLog[]
  /** Also told once for every log that is there when it is first seen. */
  readonly onGrown: (runId: string) => void
  readonly everyMs?: number
}

/** Looks at size and time of change once in a while; works on every file system, unlike notifications. */
export function watchLogs({ logs, onGrown, everyMs = 1000 }: LogWatcherOptions): Disposable {
  const seen = new Map<string, string>()
  const look = () => {
    for (const { runId, file } of logs()) {
      const now = stampOf(file)
      if (now === null || now === seen.get(file)) continue
      seen.set(file, now)
      onGrown(runId)
    }
  }
  look()
  const timer = setInterval(look, everyMs)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

function stampOf(file: string): string | null {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat === undefined ? null : `${stat.size} ${stat.mtimeMs} ${stat.ino}`
}
