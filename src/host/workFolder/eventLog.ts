/**
 * Log of everything a run reported, one JSON document per line, append-only: histories are made from it. After a resume
 * the log still holds the events of the steps that were lost with the process; a `resumed` line says how many of the
 * earlier events count. The position of an event in the history is its sequence number: every whole line takes one,
 * damaged and `resumed` lines too.
 */
import { closeSync, existsSync, fstatSync, fsyncSync, ftruncateSync } from 'node:fs'
import path from 'node:path'
import { instant } from '#shared/api/common.ts'
import { attempt } from '#shared/attempt.ts'
import type { RunEvent } from '#shared/events.ts'
import { runIsGone, writing } from '#host/files/fileErrors.ts'
import { appendWhole, openOwnFile } from '#host/files/ownFiles.ts'
import { wholeLines } from './lineLog.ts'

/** `at` is the epoch in milliseconds. */
export interface LoggedEvent {
  readonly at: number
  readonly type: string
  readonly [field: string]: unknown
}

export interface EventLog extends Disposable {
  /** Events of the history so far, lost steps not counted. */
  readonly length: number
  append(event: RunEvent | Omit<LoggedEvent, 'at'>): void
  /** Goes back to the first `keep` events: later ones no longer belong to the history. */
  rewind(keep: number): void
  /** Returns when everything appended is on the disk itself. */
  flush(): void
}

/** Opens a log for appending; a line cut short by a killed process is removed. Errors: AppError 'file/unwritable'. */
export function openEventLog(file: string): EventLog {
  const handle = openOwnFile(file)
  const { events, bytes } = measure(file)
  let length = events
  writing(file, () => ftruncateSync(handle, bytes))
  const append: EventLog['append'] = (event) => {
    const line = Buffer.from(`${JSON.stringify({ at: Date.now(), ...event })}\n`, 'utf8')
    requireThere(file, handle)
    appendWhole(file, handle, line)
    length++
  }
  return {
    get length() {
      return length
    },
    append,
    rewind(keep) {
      length = Math.min(keep, length)
      append({ type: 'resumed', keep: length })
    },
    flush() {
      requireThere(file, handle)
      writing(file, () => fsyncSync(handle))
    },
    [Symbol.dispose]: () => closeSync(handle),
  }
}

/** Throws if the file was removed: what is written into it then would be lost without a word. */
function requireThere(file: string, handle: number): void {
  if (fstatSync(handle).nlink === 0 && !existsSync(file)) throw runIsGone(path.dirname(file))
}

/** Events of the history and bytes of whole lines, without reading more into memory than a line. */
function measure(file: string): { readonly events: number; readonly bytes: number } {
  let [events, bytes] = [0, 0]
  for (const line of wholeLines(file)) {
    events = Math.min(events, keptBy(line) ?? events) + 1
    bytes += line.length + 1
  }
  return { events, bytes }
}

/** Returns the number of events that a `resumed` line keeps; null for every other line. */
function keptBy(line: Buffer): number | null {
  if (line.length > 100) return null
  const [, keep] = /^\{"at":\d+,"type":"resumed","keep":(\d+)\}$/.exec(line.toString('latin1')) ?? []
  return keep === undefined ? null : Number(keep)
}

/**
 * The history in order, without the events of steps that were done again after a resume. A line that cannot be read is
 * an event of type `damaged-line`; a torn last line is passed over. With `types`, only events of these: much faster
 * where samples are long. Errors: AppError 'file/unreadable'.
 */
export function readEvents(file: string, types?: readonly string[]): LoggedEvent[] {
  const found: { readonly sequence: number; readonly event: LoggedEvent }[] = []
  const isWanted = (type: string | null) => types === undefined || type === null || types.includes(type)
  let length = 0
  for (const line of wholeLines(file)) {
    length = Math.min(length, keptBy(line) ?? length)
    while ((found.at(-1)?.sequence ?? -1) >= length) found.pop()
    const event = isWanted(typeAhead(line)) ? parseEvent(line) : null
    if (event !== null && isWanted(event.type)) found.push({ sequence: length, event })
    length++
  }
  return found.map(({ event }) => event)
}

/**
 * Returns the last event of a type, also one that a resume gave up; null where there is none. Errors: as `readEvents`.
 */
export function lastEvent(file: string, type: string): LoggedEvent | null {
  let last: LoggedEvent | null = null
  for (const line of wholeLines(file)) {
    const ahead = typeAhead(line)
    const event = ahead === null || ahead === type ? parseEvent(line) : null
    if (event?.type === type) last = event
  }
  return last
}

/** The type, read from the beginning of a line as we write it; null where it begins otherwise. */
function typeAhead(line: Buffer): string | null {
  const [, type] = /^\{"at":\d+,"type":"([\w-]+)"/.exec(line.toString('latin1', 0, 80)) ?? []
  return type ?? null
}

export interface LogTail {
  /** Returns the whole lines that came since the last call, in the order of the file. */
  read(): LoggedEvent[]
}

/** Follows a log that another process writes, from its present end or from its beginning. */
export function openLogTail(file: string, from: 'end' | 'beginning'): LogTail {
  let offset = from === 'end' ? measure(file).bytes : 0
  return {
    read() {
      const events: LoggedEvent[] = []
      for (const line of wholeLines(file, offset)) {
        events.push(parseEvent(line))
        offset += line.length + 1
      }
      return events
    },
  }
}

const parseEvent = (line: Buffer): LoggedEvent =>
  parseLogLine(line.toString('utf8')) ?? { at: 0, type: 'damaged-line' }

/** Parses a line of a log; null where it is damaged. */
export const parseLogLine = (line: string): LoggedEvent | null =>
  attempt(() => {
    const value: unknown = JSON.parse(line)
    if (!isLoggedEvent(value)) return null
    return instant.safeParse(value.at).success ? value : { ...value, at: wholeInstant(value.at) }
  }, null)

/** 0 where no clock could have said so. */
const wholeInstant = (at: number): number => instant.safeParse(Math.trunc(at)).data ?? 0

const isLoggedEvent = (value: unknown): value is LoggedEvent =>
  typeof value === 'object' &&
  value !== null &&
  'type' in value &&
  typeof value.type === 'string' &&
  'at' in value &&
  typeof value.at === 'number'
