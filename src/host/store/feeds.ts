/** Feeds: send what is new, then wait for the next signal, at most a few times a second. */
import { hash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { ChangeNotifier } from './changeNotifier.ts'

const leastPauseMs = 200

export interface Watching {
  readonly notifier: ChangeNotifier
  readonly signal: AbortSignal
  /** Interval of additional checks, ms, for changes that nobody notifies of. */
  readonly everyMs?: number
}

/** Calls `look` now, after every item and after every ring until the signal aborts; null: nothing new. */
export async function* newsOf<Item>(
  { notifier, signal, everyMs }: Watching,
  look: () => Item | null | Promise<Item | null>,
): AsyncGenerator<Item> {
  while (!signal.aborted) {
    const { notifications } = notifier
    const item = await look()
    if (item !== null) {
      yield item
      await pause(leastPauseMs, signal)
    } else if (everyMs === undefined) await notifier.after(notifications, signal)
    else await notificationOrPause(notifier, notifications, { everyMs, signal })
  }
}

/** Reports only that something changed; the stamp describes the state, and is the cursor. */
export const changesOf = (
  watching: Watching,
  from: string | null,
  stamp: () => string,
): AsyncGenerator<{ cursor: string }> => {
  let seen = from
  return newsOf(watching, () => {
    const now = stamp()
    if (now === seen) return null
    seen = now
    return { cursor: now }
  })
}

/** Short, and another one when the value is. */
export const stampOf = (value: unknown): string => hash('sha1', JSON.stringify(value), 'base64')

async function notificationOrPause(
  notifier: ChangeNotifier,
  notifications: number,
  { everyMs, signal }: { readonly everyMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const either = new AbortController()
  const ended = AbortSignal.any([signal, either.signal])
  await Promise.race([notifier.after(notifications, ended), pause(everyMs, ended)])
  either.abort()
}

/** Ends early when the signal aborts. */
async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(durationMs, undefined, { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** A cursor of whole numbers; anything else means: from the beginning. */
export function readCursor(cursor: string | null, length: number): number[] {
  const numbers = cursor?.split('.').map(Number) ?? []
  const isValid = numbers.length === length && numbers.every(Number.isSafeInteger)
  return isValid ? numbers : new Array<number>(length).fill(-1)
}

export const writeCursor = (...numbers: readonly number[]): string => numbers.join('.')
