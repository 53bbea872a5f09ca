/** What a folder says that was fetched whole: which of its files are the rows, in which order, and where they come from. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { AppError } from '#shared/errors.ts'
import { writeFileAtomic } from '#host/files/atomic.ts'
import type { DataFiles } from '#host/data/dataFiles.ts'
import { readJsonObject } from '#host/files/strictJson.ts'

/** Begins with a dot, as no file that is fetched or sent does. */
const noteName = '.fetched.json'

const note = z.strictObject({ origin: z.string(), files: z.tuple([z.string()], z.string()) })

export interface FetchedData {
  /** In words. */
  readonly origin: string
  /** Paths in the folder. */
  readonly files: DataFiles
}

export function writeFetched(folder: string, origin: string, files: readonly string[]): void {
  writeFileAtomic(path.join(folder, noteName), `${JSON.stringify({ origin, files })}\n`)
}

/** null where nothing was fetched into the folder as a data set. Errors: AppError 'data/invalid', 'file/unreadable'. */
export function readFetched(folder: string): FetchedData | null {
  const file = path.join(folder, noteName)
  if (!existsSync(file)) return null
  const { success, data } = note.safeParse(readJsonObject(file, 'data/invalid'))
  if (!success) throw new AppError('data/invalid', `${file} is damaged.`, 'Fetch the data set again.')
  const [first, ...others] = data.files
  const inside = (name: string) => path.join(folder, name)
  return { origin: data.origin, files: [inside(first), ...others.map(inside)] }
}
