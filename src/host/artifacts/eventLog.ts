/**
 * Everything a run said, one JSON document per line, append-only. After a resume the log still holds the events of the
 * steps that were lost with the process; a `resumed` event says how many of the earlier ones count.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs'
import { readError, writeError } from './fileErrors.ts'

/** `at` is the epoch in milliseconds. */
export interface LoggedEvent {
  readonly at: number
  readonly type: string
  readonly [field: string]: unknown
}

export interface EventLog extends Disposable {
  /** Events of the history so far, lost steps not counted. */
  readonly length: number
  append(event: { readonly type: string }): void
  /** Goes back to the first `keep` events: later ones no longer belong to the history. */
  rewind(keep: number): void
  /** Returns when everything appended is on the disk itself. */
  flush(): void
}

/** Opens a log for appending; a line cut short by a killed process is removed. Errors: AppError 'file/unwritable'. */
export function openEventLog(file: string): EventLog {
  dropTornLine(file)
  let length = readEvents(file).length
  const handle = attempt(file, () => openSync(file, 'a'))
  const append = (event: { readonly type: string }) => {
    attempt(file, () => writeSync(handle, `${JSON.stringify({ at: Date.now(), ...event })}\n`))
    length++
  }
  return {
    get length() {
      return length
    },
    append,
    rewind(keep) {
      length = Math.min(keep, length)
      append({ type: 'resumed', ...{ keep } })
    },
    flush: () => attempt(file, () => fsyncSync(handle)),
    [Symbol.dispose]: () => closeSync(handle),
  }
}

/** The history in order, without the events of steps that were done again after a resume; a torn last line is passed over. */
export function readEvents(file: string): LoggedEvent[] {
  const events: LoggedEvent[] = []
  for (const line of wholeLines(file)) {
    const event = parseEvent(line)
    if (event === null) continue
    if (event.type === 'resumed' && typeof event['keep'] === 'number') {
      events.length = Math.min(event['keep'], events.length)
    }
    events.push(event)
  }
  return events
}

function wholeLines(file: string): string[] {
  if (!existsSync(file)) return []
  try {
    return readFileSync(file, 'utf8').split('\n').slice(0, -1)
  } catch (error) {
    throw readError(file, error)
  }
}

function parseEvent(line: string): LoggedEvent | null {
  try {
    const value: unknown = JSON.parse(line)
    return isLoggedEvent(value) ? value : null
  } catch {
    return null
  }
}

const isLoggedEvent = (value: unknown): value is LoggedEvent =>
  typeof value === 'object' &&
  value !== null &&
  'type' in value &&
  typeof value.type === 'string' &&
  'at' in value &&
  typeof value.at === 'number'

function dropTornLine(file: string): void {
  if (!existsSync(file)) return
  const bytes = attempt(file, () => readFileSync(file))
  const whole = bytes.lastIndexOf(0x0a) + 1
  if (whole < bytes.length) attempt(file, () => truncateSync(file, whole))
}

function attempt<T>(file: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw writeError(file, error)
  }
}
