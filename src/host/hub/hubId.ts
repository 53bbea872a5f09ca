/** What a model is called on a hub: noted beside its files when it is fetched or imported, and told to who gets its adapters. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { AppError } from '#shared/errors.ts'
import { writeFileAtomic } from '#host/files/atomic.ts'
import { isHubId } from '#host/adapters/peftConfig.ts'
import { readJsonObject } from '#host/files/strictJson.ts'

/** Begins with a dot, as no file that is fetched or sent does. */
export const hubNoteName = '.hub.json'

const note = z.strictObject({ id: z.string().refine(isHubId) })

/** null where nothing is known, or the note is damaged: it is no more than a name. */
export function hubIdOf(folder: string): string | null {
  const file = path.join(folder, hubNoteName)
  if (!existsSync(file)) return null
  try {
    return note.parse(readJsonObject(file, 'model/invalid')).id
  } catch {
    return null
  }
}

/** Errors: AppError 'usage/invalid' for what cannot be a hub id; 'file/unwritable'. */
export function writeHubId(folder: string, id: string): void {
  requireHubId(id)
  writeFileAtomic(path.join(folder, hubNoteName), `${JSON.stringify({ id })}\n`)
}

/** Errors: AppError 'usage/invalid'. */
export function requireHubId(id: string): void {
  if (isHubId(id)) return
  throw new AppError(
    'usage/invalid',
    `“${id.slice(0, 200)}” cannot be a model's id on a hub.`,
    'It has the form owner/name, such as Qwen/Qwen2.5-0.5B.',
  )
}
