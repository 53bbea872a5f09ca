/** The licence that a model is under, as it came with the model. */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import path from 'node:path'
import { frontMatter, licenseOfCard, type License } from './card.ts'
import { openGguf } from '#host/gguf/ggufReader.ts'
import { ggufFileOf } from '#host/gguf/ggufModel.ts'
import { hubNoteOf } from '#host/models/modelLibrary.ts'
import { requireOwnText } from '#host/models/tokenizerFolder.ts'

export interface ModelLicense extends License {
  /** Time at which a person accepted it here before the download, in epoch milliseconds; null: it came in another way. */
  readonly acceptedAt: number | null
}

/** Bytes read of a card: the front matter comes first, the rest is for people. */
const cardBytes = 1 << 16

/**
 * Returns the licence that was accepted before the download, else that of the card beside the model, else that of a
 * GGUF file itself; null if none is stated. `directory`: a folder, or a GGUF file. Errors: AppError 'file/unreadable' for a card that
 * is a link to elsewhere.
 */
export function licenseOf(directory: string): ModelLicense | null {
  const accepted = hubNoteOf(directory)?.license
  if (accepted !== undefined) return accepted
  const stated = licenseInCard(path.join(directory, 'README.md'), directory) ?? licenseInGguf(directory)
  return stated === null ? null : { ...stated, acceptedAt: null }
}

function licenseInCard(file: string, directory: string): License | null {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return null
  requireOwnText(file, directory)
  const handle = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(cardBytes)
    return licenseOfCard(frontMatter(bytes.toString('utf8', 0, readSync(handle, bytes))))
  } finally {
    closeSync(handle)
  }
}

function licenseInGguf(directory: string): License | null {
  const file = ggufFileOf(directory)
  if (file === null) return null
  const { metadata } = openGguf(file, 'model/invalid')
  const textAt = (key: string) => {
    const value = metadata.get(key)
    return value?.type === 'string' ? value.value : undefined
  }
  return licenseOfCard({
    license: textAt('general.license'),
    license_name: textAt('general.license.name'),
    license_link: textAt('general.license.link'),
  })
}
