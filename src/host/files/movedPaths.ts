/**
 * Paths into the data directory, in the documents that it keeps. They are written absolute, as a config has them, with the data
 * directory of that moment beside them (`home`); when a document is read, they lead into the data directory where it lies now. So
 * it can be moved, and a copy never reaches back into the original. No file is rewritten, so a run's digests stay the same, and
 * the history needs no change: it keeps ids, from which folders such as `runs/ID` follow. Paths to other places stay as they are.
 */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { dataFolders } from '#host/dataDirectory.ts'
import { writeFileAtomic } from './atomic.ts'
import { parseStrictJson, readJsonObject, type JsonObject } from './strictJson.ts'

/** The text of a JSON document. `from`: the data directory when it was written; null: nothing says. */
export function movedText(text: string, from: string | null, to: string): string {
  if (from === null || from === to) return text
  const [old = '', now = ''] = [from, to].map((home) =>
    JSON.stringify(path.join(home, path.sep)).slice(0, -1),
  )
  return text.replaceAll(old, () => now)
}

/** The same of a value that is JSON. */
export function moved<Value>(value: Value, from: string | null, to: string): Value {
  if (from === null || from === to) return value
  return parseStrictJson(Buffer.from(movedText(JSON.stringify(value), from, to))) as Value
}

/** The data directory that a document was written in, as the document holds it. */
export const homeSchema = z.string().nullable().default(null)

/**
 * A document in a folder such as `runs/ID`, its paths as they are now. `home`: the data directory that it was written in; null:
 * it does not say.
 */
export function asItLies(
  document: JsonObject,
  folder: string,
  home = homeSchema.catch(null).parse(document['home']),
): JsonObject {
  const here = dataDirectoryAround(folder)
  return here === null ? document : moved(document, home ?? formerHome(here), here)
}

const areas = Object.keys(dataFolders(''))

/** Returns the data directory that contains a folder in one of its own, such as `runs/ID`; null: it is elsewhere. */
export function dataDirectoryAround(folder: string): string | null {
  const area = path.dirname(path.resolve(folder))
  return areas.includes(path.basename(area)) ? path.dirname(area) : null
}

// Earlier versions wrote documents that do not say where.

const homeFile = (dataDirectory: string): string => path.join(dataDirectory, 'home.json')

/** The data directory of documents that name none themselves; null if unknown. Errors: AppError 'file/unreadable'. */
export function formerHome(dataDirectory: string): string | null {
  const file = homeFile(dataDirectory)
  return existsSync(file) ? homeSchema.parse(readJsonObject(file, 'file/unreadable')['home']) : null
}

/** Keeps where they were written, once: later documents say it themselves. Errors: AppError 'file/unwritable'. */
export function keepFormerHome(dataDirectory: string, home: () => string): void {
  const file = homeFile(dataDirectory)
  if (!existsSync(file)) writeFileAtomic(file, `${JSON.stringify({ home: home() })}\n`)
}
