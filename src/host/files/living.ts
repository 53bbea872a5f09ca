/** Finds out which processes live, and which of them owns a file. */
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { threadId } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { AppError } from '#shared/errors.ts'
import { systemCode, writeError } from './fileErrors.ts'
import { readSmallFile } from './strictJson.ts'

/** Owner mark in a file: the process and when it began, for its number may go to another. */
export const ownerMark = (): string => `${process.pid} ${birthOf(process.pid) ?? ''}\n`

/**
 * Returns the living process that wrote its mark into a file; null where there is none. Errors: AppError
 * 'file/unreadable'.
 */
export const livingOwner = (file: string): number | null => livingProcess(markIn(file))

/** Returns the living process of a mark. */
export function livingProcess(mark: string): number | null {
  const [, pid, birth = ''] = /^(\d+) ?(\d*)$/.exec(mark.trim()) ?? []
  return pid !== undefined && isAlive(Number(pid), birth) ? Number(pid) : null
}

/**
 * Writes this process's mark into a lock that no living process holds; disposing removes it. Errors: AppError
 * 'file/unwritable'.
 */
export function holdLock(lock: string): Disposable {
  rmSync(lock, { force: true })
  try {
    writeFileSync(lock, ownerMark(), { flag: 'wx' })
  } catch (error) {
    throw writeError(lock, error)
  }
  return { [Symbol.dispose]: () => rmSync(lock, { force: true }) }
}

/**
 * Takes a lock that nobody living holds; disposing removes it. null: somebody does. Linked, not written: whoever sees it sees whose it
 * is. Errors: AppError 'file/unwritable'.
 */
export function takeLock(lock: string): Disposable | null {
  const own = `${lock}.${process.pid}.${threadId}`
  try {
    writeFileSync(own, ownerMark())
    if (!isLinked(own, lock)) {
      if (livingOwner(lock) !== null) return null
      removeLeft(lock, `${own}.left`)
      if (!isLinked(own, lock)) return null
    }
  } catch (error) {
    throw writeError(lock, error)
  } finally {
    rmSync(own, { force: true })
  }
  return { [Symbol.dispose]: () => rmSync(lock, { force: true }) }
}

/** Removes the lock of a process that is gone. One that somebody took meanwhile is put back. */
function removeLeft(lock: string, aside: string): void {
  const mark = markIn(lock)
  if (!existsSync(lock) || livingProcess(mark) !== null) return
  try {
    renameSync(lock, aside)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return
    throw error
  }
  if (markIn(aside) !== mark) isLinked(aside, lock)
  rmSync(aside, { force: true })
}

function isLinked(own: string, lock: string): boolean {
  try {
    linkSync(own, lock)
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false
    throw error
  }
}

/** For what takes milliseconds. */
const longestWaitMs = 10_000
const lookAgainMs = 5

/**
 * Waits for its turn at a lock that the system keeps, by a file that stays: it is free as soon as its process is gone, in whichever
 * container that was. Disposing frees it. null: the turn did not come within ten seconds. Errors: AppError 'file/unwritable'.
 */
export function awaitTurn(lock: string): Disposable | null {
  const clock = new Int32Array(new SharedArrayBuffer(4))
  let database: Database.Database | null = null
  try {
    database = new Database(lock, { timeout: 0 })
    for (let waitedMs = 0; waitedMs < longestWaitMs; waitedMs += lookAgainMs) {
      if (isBegun(database)) {
        const held = database
        database = null
        return { [Symbol.dispose]: () => free(held, clock) }
      }
      Atomics.wait(clock, 0, 0, lookAgainMs)
    }
    return null
  } catch (error) {
    throw writeError(lock, error)
  } finally {
    database?.close()
  }
}

/** Who comes again at once would take it before those who wait look again. */
function free(held: Database.Database, clock: Int32Array): void {
  held.close()
  Atomics.wait(clock, 0, 0, 2 * lookAgainMs)
}

/** false: another process holds it. */
function isBegun(database: Database.Database): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if (systemCode(error) === 'SQLITE_BUSY') return false
    throw error
  }
}

/** Empty where there was no such file: it goes when its owner does, between a look and the reading too, and another may follow. */
function markIn(file: string): string {
  try {
    return Buffer.from(readSmallFile(file, 100)).toString('latin1')
  } catch (error) {
    if (systemCode(error instanceof AppError ? error.cause : error) === 'ENOENT' || !existsSync(file))
      return ''
    throw error
  }
}

/** Returns true if that very process lives: its id may have gone to another since, which only `birth` can tell. */
export function isAlive(pid: number, birth = ''): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return systemCode(error) === 'EPERM'
  }
  return process.platform !== 'linux' || birth === '' || birthOf(pid) === birth
}

/**
 * Returns when a process began, in ticks since the machine did; null where it is gone (dead but unburied too) or the
 * system does not tell.
 */
function birthOf(pid: number): string | null {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    return null
  }
  // The name in parentheses may hold anything; after it come the state and, as 20th from there, the start time.
  const fields = stat.split(') ').at(-1)?.split(' ') ?? []
  return fields[0] === 'Z' ? null : (fields[19] ?? null)
}
