/**
 * Seals by which Turnwise knows again what it wrote into a data directory. Numbers and birth times of files tell a copy elsewhere, but a
 * copy that is put over the directory is written into the files that are there, and may be of somebody who read them before. So what
 * counts has a seal, under a key of this person on this machine which lies outside of every data directory.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  type BigIntStats,
  existsSync,
  linkSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { attempt } from '#shared/attempt.ts'
import { settingsDirectory } from '#host/dataDirectory.ts'
import { makeFolder, temporaryPath } from './atomic.ts'
import { readSmallFile } from './strictJson.ts'

/** Number and birth time of a file or folder, which the file system gives to it: nobody who packs one can choose them. */
export const mark = z.strictObject({ id: z.string(), bornAt: z.string() })
type Mark = z.output<typeof mark>

/** The birth time is 0 where the file system keeps none. */
export const markOf = ({ ino, birthtimeNs }: BigIntStats): Mark => ({
  id: `${ino}`,
  bornAt: `${birthtimeNs}`,
})

export const isMarked = (said: Mark, status: BigIntStats): boolean => isDeepStrictEqual(said, markOf(status))

/**
 * Seals content, of JSON, as Turnwise's own in this data directory. `what`: for what it counts, so that it does for nothing else. Errors:
 * those of the file system for a directory that is not there.
 */
export function ownSeal(dataDirectory: string, what: string, content: unknown): string {
  const place = markOf(statSync(dataDirectory, { bigint: true }))
  return createHmac('sha256', machineKey())
    .update(JSON.stringify([what, place, content]))
    .digest('hex')
}

/** Tells whether `said` is the seal of the content. Errors: as `ownSeal`. */
export function isOwnSeal(said: unknown, ...sealed: Parameters<typeof ownSeal>): boolean {
  const [given, right] = [Buffer.from(typeof said === 'string' ? said : ''), Buffer.from(ownSeal(...sealed))]
  return given.length === right.length && timingSafeEqual(given, right)
}

/** Path of the key of this person on this machine. Errors: those of the system where the person has no folder. */
export const machineKeyFile = (): string => path.join(settingsDirectory(), 'machine.key')

/** Tells whether seals are this person's alone. */
export const hasMachineKey = (): boolean => machineKey() !== ''

/** Tells whether a file or folder belongs to this user; true on systems that do not say. */
export const isOurs = ({ uid }: Pick<BigIntStats | Stats, 'uid'>): boolean =>
  process.geteuid === undefined || Number(uid) === process.geteuid()

/** Key of the seals, made when it is first asked for; empty where nothing can be kept outside of data directories: there the marks alone count. */
function machineKey(): string {
  return attempt(() => {
    const file = machineKeyFile()
    // A person without a folder gets none.
    if (!existsSync(file) && existsSync(path.resolve(file, '../../..'))) makeKey(file)
    return Buffer.from(readSmallFile(file, 1000)).toString('utf8')
  }, '')
}

/** Makes the key; of processes that do so at the same time, all get the first one's. */
function makeKey(file: string): void {
  makeFolder(path.dirname(file))
  const temporary = temporaryPath(file)
  writeFileSync(temporary, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx', flush: true })
  try {
    linkSync(temporary, file)
  } catch {
    // It is there by now, or the file system knows no second names.
    if (!existsSync(file)) renameSync(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
}
