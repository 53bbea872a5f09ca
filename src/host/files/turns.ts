/** Turns of processes at something that one at a time may change, such as a file of consents or an installation. */
import Database from 'better-sqlite3'
import { systemCode, writeError } from './fileErrors.ts'
import { requireOwnDatabase } from './ownFiles.ts'

/** Time between two looks; a change of a small file takes about as long. */
const lookAgainMs = 5

/**
 * Takes the turn at a file that stays: the system keeps it, so that it is free as soon as its process is gone, in whichever
 * container that was. Disposing frees it. null: another process has it, and still had it after `longestMs`. Errors: AppError
 * 'file/unwritable'.
 */
export function takeTurn(file: string, longestMs = 0): Disposable | null {
  requireOwnDatabase(file)
  let database: Database.Database | null = null
  try {
    database = new Database(file, { timeout: 0 })
    for (let waitedMs = 0; ; waitedMs += lookAgainMs) {
      if (isBegun(database)) {
        const held = database
        database = null
        return { [Symbol.dispose]: () => free(held) }
      }
      if (waitedMs >= longestMs) return null
      pause(lookAgainMs)
    }
  } catch (error) {
    throw writeError(file, error)
  } finally {
    database?.close()
  }
}

/** Lets those who wait look before this process can take the next turn. */
function free(held: Database.Database): void {
  held.close()
  pause(2 * lookAgainMs)
}

const clock = new Int32Array(new SharedArrayBuffer(4))
const pause = (ms: number): void => void Atomics.wait(clock, 0, 0, ms)

/** Returns false while another process has the turn. */
function isBegun(database: Database.Database): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if (systemCode(error) === 'SQLITE_BUSY') return false
    throw error
  }
}
