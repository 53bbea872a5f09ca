import { invalidData } from '#shared/errors.ts'
import { readSmallFile } from '#host/files/strictJson.ts'

const maxBytes = 16 * 1024 * 1024

/** The lines of a file that are not empty. Errors: AppError 'file/unreadable', 'data/invalid'. */
export function readTexts(file: string): string[] {
  const lines = new TextDecoder().decode(readSmallFile(file, maxBytes)).split(/\r?\n/)
  const texts = lines.filter((line) => line.trim() !== '')
  if (texts.length === 0) throw invalidData(`${file} has no line with text in it.`)
  return texts
}
