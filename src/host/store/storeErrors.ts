/** What SQLite says, as one clear sentence. */
import Database from 'better-sqlite3'
import { AppError } from '#shared/errors.ts'

const untouched =
  'The file was left as it is. turnwise runs recover saves what can still be read into a new one.'

/** The history cannot be used; `finding` is what shows it. */
export const unreadable = (file: string, finding: string, cause?: unknown): AppError =>
  new AppError(
    'store/unreadable',
    `The history in ${file} is damaged or no history of Turnwise: ${finding}.`,
    untouched,
    cause,
  )

export const tooNew = (file: string, version: number, known: number): AppError =>
  new AppError(
    'store/too-new',
    `The history in ${file} was written by a newer version of Turnwise (its format is ${version}, this one knows ${known}).`,
    'It was left as it is. Use the newer version, or another data directory.',
  )

const unwritable = (reason: string) => (file: string, error: Error) =>
  new AppError(
    'file/unwritable',
    `The history in ${file} could not be written: ${reason}.`,
    'What was there before is untouched.',
    error,
  )

const damaged = (file: string, error: Error) => unreadable(file, error.message, error)

const busy = (file: string, error: Error) =>
  new AppError(
    'store/busy',
    `Another process has kept the history in ${file} locked for too long.`,
    'Nothing was changed. End the other process or try again.',
    error,
  )

/** First match decides. */
const readings: readonly (readonly [RegExp, (file: string, error: Error) => AppError])[] = [
  [/^SQLITE_(CORRUPT|NOTADB|FORMAT|IOERR_(READ|SHORT_READ|CORRUPTFS))/, damaged],
  [/^SQLITE_FULL/, unwritable('the disk is full')],
  [/^SQLITE_READONLY/, unwritable('this account may not write there, or the disk is read-only')],
  [/^SQLITE_CANTOPEN/, unwritable('it cannot be opened there')],
  [/^SQLITE_IOERR/, unwritable('the disk answered with an error')],
  [/^SQLITE_(BUSY|LOCKED)/, busy],
]

/** An error of SQLite that a person can cause, in words; anything else as it is. */
export function storeError(file: string, error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error
  const reading = readings.find(([pattern]) => pattern.test(error.code))
  return reading ? reading[1](file, error) : error
}
