/** Finds out which processes live, and which of them owns a file. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { AppError } from '#shared/errors.ts'
import { systemCode, writing } from './fileErrors.ts'
import { readSmallFile } from './strictJson.ts'

/** Owner mark in a file: the process and when it began, for its number may go to another. */
const ownerMark = (): string => `${process.pid} ${birthOf(process.pid) ?? ''}\n`

/**
 * Returns the living process that wrote its mark into a file; null where there is none. Errors: AppError
 * 'file/unreadable'.
 */
export function livingOwner(file: string): number | null {
  const [, pid, birth = ''] = /^(\d+) ?(\d*)$/.exec(markIn(file).trim()) ?? []
  return pid !== undefined && isAlive(Number(pid), birth) ? Number(pid) : null
}

/**
 * Writes this process's mark into a lock that no living process holds; disposing removes it. Errors: AppError
 * 'file/unwritable'.
 */
export function holdLock(lock: string): Disposable {
  rmSync(lock, { force: true })
  writing(lock, () => writeFileSync(lock, ownerMark(), { flag: 'wx' }))
  return { [Symbol.dispose]: () => rmSync(lock, { force: true }) }
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
