/** Tells a data directory of this machine from one that came from elsewhere, by what the file system gave to it and to its history. */
import { statSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Store } from '#host/store/store.ts'
import { markOf } from '#host/consents/consents.ts'

/** Setting with the marks of the folder and of the history in it that somebody let work on this machine. */
const markKey = 'host.place'

/** `history`: path of the history's file. A history that belongs to another user is never one of this machine's. */
export function isOwnDirectory({ settings }: Store, history: string): boolean {
  const { uid } = statSync(history)
  const isOurs = process.geteuid === undefined || uid === process.geteuid()
  return isOurs && isDeepStrictEqual(settings.get(markKey), marksOf(history))
}

/** Counts the directory as this machine's from now on. Errors: those of the store. */
export const takeOver = ({ settings }: Store, history: string): void =>
  settings.set(markKey, marksOf(history))

const marksOf = (history: string) =>
  [path.dirname(history), history].map((place) => markOf(statSync(place, { bigint: true })))
