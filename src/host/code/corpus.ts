/** The documents of a user's file, indexed once; the search environment searches them without any network. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { invalidConfig, invalidData } from '#shared/errors.ts'
import { type DataRow, isProblem, openDataFile, problemText } from '#host/data/dataFile.ts'
import { lineBlocks } from '#host/data/lines.ts'
import { dataExtensions, readRows } from '#host/data/table.ts'
import { hashFiles } from '#host/files/contentHash.ts'
import { makeOwnFolder, nameIt, requireOwn, requirePart } from '#host/files/ownFiles.ts'
import type { CorpusDocument, CorpusIndex } from '#host/store/corpusIndex.ts'

/** Changes whenever documents are read or indexed differently. */
const indexVersion = 1

/**
 * Columns that may hold the text of a document, of which the first present is used; retrieval data sets have one of
 * these.
 */
const textColumns = ['text', 'contents', 'content', 'body', 'passage', 'document']
const titleColumns = ['title', 'name']

const textExtensions = ['.txt', '.md']

/** Errors: AppError 'config/invalid', 'file/unreadable' for a link to elsewhere. */
export function requireCorpus(file: string): void {
  const extensions = [...textExtensions, ...dataExtensions]
  if (!extensions.includes(path.extname(file).toLowerCase())) {
    throw invalidConfig(
      `${file} is not a file of documents.`,
      `Documents are rows of ${extensions.slice(2).join(', ')}, or the paragraphs of ${textExtensions.join(', ')}.`,
    )
  }
  if (!existsSync(file)) {
    throw invalidConfig(
      `There is no file ${file}.`,
      'Set environment.settings.corpus to a file of documents.',
    )
  }
  requirePart(file, undefined, nameIt)
}

/**
 * The index of the file's documents, created in the cache unless it is there already for exactly these bytes. Errors:
 * AppError 'config/invalid' if the file does not exist or holds no documents, 'data/invalid' for a row without text,
 * 'file/…'.
 */
export async function openCorpus(file: string, cacheDirectory: string): Promise<CorpusIndex> {
  requireCorpus(file)
  // Loaded on first use, since other runs need no database.
  const { CorpusIndex: Index, writeCorpusIndex } = await import('#host/store/corpusIndex.ts')
  const [digest] = await hashFiles([file], cacheDirectory)
  const folder = path.join(cacheDirectory, 'corpora')
  // How documents are read depends on the kind of file.
  const kind = path.extname(file).toLowerCase().slice(1)
  const index = path.join(folder, `${digest ?? ''}-${kind}-${indexVersion}.sqlite`)
  requireOwn(index, 'file')
  if (!existsSync(index)) {
    makeOwnFolder(folder)
    await writeCorpusIndex(index, documentsOf(file))
  }
  return new Index(index)
}

async function* documentsOf(file: string): AsyncGenerator<CorpusDocument> {
  let count = 0
  const isText = textExtensions.includes(path.extname(file).toLowerCase())
  for await (const document of isText ? paragraphs(file) : rows(file)) {
    count++
    yield document
  }
  if (count === 0) throw invalidConfig(`${file} holds no documents.`)
}

async function* rows(file: string): AsyncGenerator<CorpusDocument> {
  await using source = await openDataFile(file)
  for await (const items of readRows(source)) {
    for (const item of items) {
      if (isProblem(item)) throw invalidData(`${file}, ${problemText(item)}.`)
      const text = firstText(item.row, textColumns)
      if (text === null) {
        throw invalidData(
          `${file}, row ${item.number}: it has no text.`,
          `The text of a document must be in a column called ${textColumns.join(', ')}; its title, if any, in ${titleColumns.join(' or ')}.`,
        )
      }
      yield { title: firstText(item.row, titleColumns) ?? '', text }
    }
  }
}

function firstText(row: DataRow, columns: readonly string[]): string | null {
  const found = columns
    .map((column) => row[column])
    .find((value) => typeof value === 'string' && value !== '')
  return typeof found === 'string' ? found : null
}

/** The text between empty lines. */
async function* paragraphs(file: string): AsyncGenerator<CorpusDocument> {
  await using source = await openDataFile(file)
  let rest = ''
  for await (const block of lineBlocks(source)) {
    if (block === null) throw invalidData(`${file} has a line longer than 64 MiB.`)
    const parts = (rest + block.toString('utf8')).split(/\r?\n[^\S\n]*\r?\n/)
    rest = parts.pop() ?? ''
    yield* parts.flatMap(paragraph)
  }
  yield* paragraph(rest)
}

const paragraph = (given: string): CorpusDocument[] => {
  const text = given.trim()
  return text === '' ? [] : [{ title: '', text }]
}
