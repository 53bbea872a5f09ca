/** Tells a data directory of this machine from one that came from elsewhere, by what the file system gave to it and to its history. */
import { statSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Store } from '#host/store/store.ts'
import { isOurs, isOwnSeal, markOf, ownSeal } from '#host/files/ownSeals.ts'

/** Setting with the seal of the folder and of the history in it that somebody let work on this machine. */
const markKey = 'host.place'
/** Setting with the mark of the log beside the history, which SQLite makes at each opening and may leave when a process is killed. */
const logKey = 'host.log'

/**
 * `history`: path of the history's file. A history that belongs to another user is never one of this machine's, nor is one into which
 * the opening merged a log that no process of this machine had begun: SQLite takes what lies beside the file for its own.
 */
export function isOwnDirectory({ settings, merged }: Store, history: string): boolean {
  return (
    isOurs(statSync(history)) &&
    isOwnSeal(settings.get(markKey), ...placeOf(history)) &&
    (merged === null || isDeepStrictEqual(settings.get(logKey), markOf(merged)))
  )
}

/** Counts the directory as this machine's from now on. Errors: those of the store. */
export function takeOver(store: Store, history: string): void {
  store.settings.set(markKey, ownSeal(...placeOf(history)))
  knowLog(store)
}

/** Counts the log that this opening of a directory of this machine's began as this machine's. Errors: those of the store. */
export function knowLog({ settings, file }: Store): void {
  const status = statSync(`${file}-wal`, { bigint: true, throwIfNoEntry: false })
  const mark = status && markOf(status)
  if (mark !== undefined && !isDeepStrictEqual(settings.get(logKey), mark)) settings.set(logKey, mark)
}

const placeOf = (history: string) =>
  [path.dirname(history), markKey, markOf(statSync(history, { bigint: true }))] as const
