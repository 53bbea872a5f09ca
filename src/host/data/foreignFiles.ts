/** Files and folders that hold data in a form that is not read: what each is, and how to convert it. */
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { type AppError, invalidData } from '#shared/errors.ts'
import { arrow, foreignFolder, foreignNamed, pandas, unpack, type ForeignData } from '#shared/foreignData.ts'

interface Foreign {
  readonly looksSo: (bytes: Buffer, text: string) => boolean
  readonly sentence: string
  readonly advice: (file: string) => string
}

const begins = (signature: string) => (bytes: Buffer) =>
  bytes.subarray(0, signature.length).toString('latin1') === signature

/** Foreign files recognized by their first bytes, whatever the name. */
const byContent: readonly Foreign[] = [
  {
    looksSo: (_, text) => text.startsWith('version https://git-lfs.github.com/spec'),
    sentence: 'is a pointer of Git LFS, not the file itself',
    advice: () => 'Fetch the file with `git lfs pull`, or download it from the page of its repository.',
  },
  {
    looksSo: (_, text) => /^\s*<(?:!doctype\s+html|html)\b/i.test(text),
    sentence: 'is a web page, not data',
    advice: () => 'What was saved is probably a sign-in or error page: download the file itself.',
  },
  {
    looksSo: begins('PK\u0003\u0004'),
    sentence: 'is a zip archive or a spreadsheet',
    advice: () => 'Unpack it, or save the sheet as CSV (UTF-8).',
  },
  { looksSo: begins('%PDF-'), sentence: 'is a PDF', advice: () => 'Export its rows as CSV or JSON Lines.' },
  { looksSo: begins('ARROW1'), sentence: 'is an Arrow file', advice: pandas('read_feather') },
  { looksSo: begins('\u00ff\u00ff\u00ff\u00ff'), sentence: 'is a stream in Arrow’s format', advice: arrow },
  {
    looksSo: begins('SQLite format 3'),
    sentence: 'is an SQLite database',
    advice: () => 'Export the table as CSV.',
  },
  { looksSo: begins('\u0080\u0004'), sentence: 'is a Python pickle', advice: pandas('read_pickle') },
  { looksSo: begins('BZh'), sentence: 'is packed with bzip2', advice: unpack('bzip2 -d') },
  { looksSo: begins('\u00fd7zXZ'), sentence: 'is packed with xz', advice: unpack('xz -d') },
]

/** The sentence about a file whose first bytes say that it holds something else than rows as text; undefined for others. */
export function foreignContent(file: string, bytes: Buffer): ForeignData | undefined {
  const text = bytes.toString('latin1')
  const found = byContent.find(({ looksSo }) => looksSo(bytes, text))
  return found && { sentence: found.sentence, advice: found.advice(file) }
}

/** Errors: AppError 'data/invalid' for a folder, or a file whose name says that it holds something else. */
export function requireNamedData(file: string, endings: readonly string[]): never {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) throw folderError(file, endings)
  const found = foreignNamed(file)
  throw found === undefined
    ? invalidData(
        `${file} is not a supported data file.`,
        `Data files end in ${endings.join(', ')}; text files may be packed (.gz, .zst).`,
      )
    : invalidData(`${file} ${found.sentence}, which is not read as data.`, found.advice)
}

const listedNames = 5

function folderError(folder: string, endings: readonly string[]): AppError {
  const names = readdirSync(folder)
  const found = foreignFolder(path.resolve(folder), names)
  if (found !== undefined) return invalidData(`${folder} ${found.sentence}.`, found.advice)
  const data = names.filter((name) => endings.some((ending) => name.includes(ending))).sort()
  const shown = data.slice(0, listedNames).join(', ')
  return invalidData(
    `${folder} is a folder, not a data file.`,
    data.length === 0
      ? `It holds no file that ends in ${endings.join(', ')}.`
      : `Choose one of its files: ${shown}${data.length > listedNames ? ', …' : ''}.`,
  )
}
