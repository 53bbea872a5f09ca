/** An export on disk, as it may be sent elsewhere: the files that it wrote, and what its card says of it. */
import { constants, existsSync, lstatSync, realpathSync, type Stats } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { attempt } from '#shared/attempt.ts'
import { AppError, refusal } from '#shared/errors.ts'
import { readError, reading } from '#host/files/fileErrors.ts'
import { openSafetensors } from '#host/files/safetensors.ts'
import { readJsonObject, readSmallText } from '#host/files/strictJson.ts'
import { openGguf } from '#host/gguf/ggufReader.ts'
import { frontMatter, licenseOfCard } from '#host/hub/card.ts'
import { filesBelow } from './exportFolder.ts'

export const cardName = 'README.md'
export const reportName = 'parity.json'

export type Outgoing = Omit<OutputOf<Api, 'hub.outgoing'>, 'hub'>

/** Tells whether a folder is that of an export, by its report. */
export const isExport = (folder: string): boolean => existsSync(path.join(folder, reportName))

/** Names of files in a folder and the folders in it, none hidden, as exports have them. */
const name = z.string().regex(/^[^./\\:\p{Cc}][^/\\:\p{Cc}]*(?:\/[^./\\:\p{Cc}][^/\\:\p{Cc}]*)*$/u)
const written = z.object({ passed: z.boolean(), files: z.array(name).max(10_000) })

/** Names of the files of an export for its report: those in the folder, and the two that are written last. */
export function exportedNames(folder: string): string[] {
  const names = filesBelow(folder).map((file) => path.relative(folder, file.path).replaceAll(path.sep, '/'))
  return [...new Set([...names.filter((each) => !each.startsWith('.')), cardName, reportName])].sort()
}

/**
 * Lists what would be sent: the files that the export wrote and no others. Errors: AppError 'api/refused' for a folder that is no
 * whole export, or in which a link stands for a file; 'file/unreadable'.
 */
export function outgoing(directory: string): Outgoing {
  const names = writtenNames(directory)
  const files = names.map((each) => ({ path: each, sizeBytes: requireOwnFile(directory, each).size }))
  const card = frontMatter(readSmallText(path.join(directory, cardName)))
  const { base_model: base, library_name: library } = card
  if (typeof library !== 'string') {
    const problem = `${cardName} in ${directory} is no model card: it names no library (library_name) in its first lines.`
    throw refusal(problem, 'Nothing was sent. Export again into another folder.')
  }
  const baseModel = typeof base === 'string' ? base : null
  const license = licenseOfCard(card)?.name ?? null
  const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0)
  const notes = [
    ...(license === null ? [unknownLicense] : []),
    ...(baseModel === null ? ['The card names no base model, as nobody has said what a hub calls it.'] : []),
  ]
  return { directory, files, sizeBytes, baseModel, license, notes }
}

/** Files of a list of `outgoing` with the way to open each, for `pushFiles`. */
export const sending = ({ directory, files }: Outgoing) => ({
  directory,
  files,
  openOwn: (name: string) => openOwn(directory, name),
})

const unknownLicense =
  'The licence of the base model is not known: make sure that you may pass on what was made from it.'

/** Errors: AppError 'api/refused', 'file/unreadable'. */
function writtenNames(directory: string): readonly string[] {
  const report = isExport(directory) ? readJsonObject(path.join(directory, reportName), 'data/invalid') : null
  const { data } = written.safeParse(report)
  if (data?.passed === true && [cardName, reportName].every((each) => data.files.includes(each)))
    return data.files
  throw refusal(
    data?.passed === false
      ? `The export in ${directory} differs from what was trained.`
      : `${directory} is no export whose report lists its files.`,
    'Nothing was sent. Export again into another folder, then send that.',
  )
}

/**
 * Returns the state of a file of an export. Errors: AppError 'api/refused' for anything but a file that lies there itself, under one
 * name; 'file/unreadable'.
 */
function requireOwnFile(directory: string, each: string): Stats {
  const file = path.join(
    reading(directory, () => realpathSync(directory)),
    each,
  )
  const status = reading(file, () => lstatSync(file))
  const isOwn = status.isFile() && reading(file, () => realpathSync(file)) === file
  if (isOwn && (status.nlink < 2 || areWeights(file))) return status
  throw refusal(
    `${file} is ${isOwn ? 'a file with a second name (a hard link)' : 'a link, or no file'}.`,
    'Nothing was sent. Export again into another folder.',
  )
}

/**
 * Opens a file, and then looks whether what is open is an export's own file: since it was listed, a link may have come into its place or
 * into that of its folder. Errors: AppError 'file/unreadable'.
 */
async function openOwn(directory: string, name: string): Promise<FileHandle> {
  const file = path.join(directory, name)
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const handle = await open(file, flags).catch((error: unknown) => {
    throw readError(file, error)
  })
  const [opened, own] = [await handle.stat(), attempt(() => requireOwnFile(directory, name), null)]
  if (opened.dev === own?.dev && opened.ino === own.ino) return handle
  await handle.close()
  throw new AppError(
    'file/unreadable',
    `${file} was exchanged after it was listed.`,
    'Export again into another folder, and push that.',
  )
}

/** The cache gives weights a second name when the export is used; another file would have to be of their form. */
const areWeights = (file: string): boolean =>
  attempt(() => {
    if (file.endsWith('.gguf')) openGguf(file)
    else openSafetensors(file)
    return true
  }, false)
