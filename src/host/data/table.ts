/** Tables as in RFC 4180, with commas or tabs: the first record names the columns, values stay text. */
import { isUtf8 } from 'node:buffer'
import Papa from 'papaparse'
import { invalidData } from '#shared/errors.ts'
import { plural, shorten } from '#shared/plural.ts'
import path from 'node:path'
import type { DataFile, ReadItem } from './dataFile.ts'
import { beginningOf, notUtf8, requireData } from './dataText.ts'
import { requireNamedData } from './foreignFiles.ts'
import { lineBlocks } from './lines.ts'
import { readJsonLines } from './jsonLines.ts'
import { readJsonList } from './jsonList.ts'
import { isOverSeveralLines, overSeveralLines } from './jsonLists.ts'

const maxRecordLength = 8 << 20
const maxRunaways = 64

const readCommaTable = (file: DataFile): AsyncGenerator<readonly ReadItem[]> => readTable(file, ',')
/** Reads Parquet; its packages are loaded only when a file needs them. */
async function* readParquet(file: DataFile): AsyncGenerator<readonly ReadItem[]> {
  const parquet = await import('./parquet.ts')
  yield* parquet.readParquet(file)
}

/**
 * Reads JSON lines; a JSON list under their file name is read as a list. Errors: AppError 'data/invalid' where objects
 * are written over several lines.
 */
async function* readLines(file: DataFile): AsyncGenerator<readonly ReadItem[]> {
  const text = await beginningOf(file)
  if (text.startsWith('[')) {
    file.note('Read as one JSON list, not as JSON Lines.')
    yield* readJsonList(file)
    return
  }
  if (isOverSeveralLines(text)) throw overSeveralLines(file.path)
  yield* readJsonLines(file)
}

const readTabTable = (file: DataFile): AsyncGenerator<readonly ReadItem[]> => readTable(file, '\t')

/**
 * Reads rows of a table whose columns are separated by `defaultDelimiter`, or by what its first line shows. Errors:
 * 'data/invalid'.
 */
async function* readTable(file: DataFile, defaultDelimiter: string): AsyncGenerator<readonly ReadItem[]> {
  const parser = new TableParser(file, defaultDelimiter)
  for await (const block of lineBlocks(file)) {
    if (block === null) throw invalidData(`${file.path} has a line longer than 64 MiB.`)
    yield parser.push(block.toString('utf8'), {
      isLast: false,
      fault: isUtf8(block) ? null : notUtf8,
    })
  }
  yield parser.push('', { isLast: true, fault: null })
}

interface PushOptions {
  readonly isLast: boolean
  /** Message on values that are not UTF-8; null where the bytes are all UTF-8. */
  readonly fault: string | null
}

interface StepResult {
  readonly data: readonly (readonly string[])[]
  readonly errors: readonly unknown[]
  readonly meta: { readonly cursor: number }
}

/** Follows records over the blocks they arrive in; knows the line each begins at. */
class TableParser {
  readonly #file: Pick<DataFile, 'path' | 'note'>
  readonly #defaultDelimiter: string
  #layout: { readonly delimiter: string; readonly newline: '\n' | '\r' } | null = null
  #names: readonly string[] | null = null
  /** Text not yet taken, from the beginning of the first unfinished record. */
  #text = ''
  #fault: string | null = null
  #line = 1
  #number = 0
  #runaways = 0
  #hasDecimalComma = false
  #hasRepeatedName = false
  #items: ReadItem[] = []

  constructor(file: Pick<DataFile, 'path' | 'note'>, defaultDelimiter: string) {
    this.#file = file
    this.#defaultDelimiter = defaultDelimiter
  }

  push(text: string, { isLast, fault }: PushOptions): readonly ReadItem[] {
    this.#text += text
    this.#fault ??= fault
    if (this.#layout === null) this.#begin()
    while (this.#text !== '') {
      const isBroken = this.#takeRecords(isLast)
      const isRunaway = isLast ? this.#text !== '' : this.#text.length > maxRecordLength
      if (!isBroken && !isRunaway) break
      if (!isBroken && ++this.#runaways > maxRunaways) {
        throw invalidData(
          `${this.#file.path}, line ${this.#line}, and ${maxRunaways} lines before it open a quotation mark that is never closed.`,
          'Values that hold quotation marks must be quoted, with the marks inside doubled.',
        )
      }
      this.#dropLine()
    }
    const items = this.#items
    this.#items = []
    return items
  }

  /** Excel says in a first line of its own which delimiter follows. */
  #begin(): void {
    const [line, delimiter] = /^sep=(.)\r?\n/i.exec(this.#text) ?? []
    if (line !== undefined) {
      this.#text = this.#text.slice(line.length)
      this.#line++
    }
    const layout = layoutOf(this.#text, this.#defaultDelimiter)
    this.#layout = delimiter === undefined ? layout : { ...layout, delimiter }
    const taken = this.#layout.delimiter
    if (taken !== this.#defaultDelimiter)
      this.#file.note(`Read with ${delimiterNames[taken] ?? `“${taken}”`} between the columns.`)
  }

  /** Takes whole records off the text, up to one whose quotation marks do not fit; then true. */
  #takeRecords(isLast: boolean): boolean {
    const { delimiter, newline } = this.#layout ?? { delimiter: this.#defaultDelimiter, newline: '\n' }
    const text = this.#text
    let [start, isBroken] = [0, false]
    const step = ({ data, errors, meta }: StepResult) => {
      isBroken = errors.length > 0
      if (isBroken) parser.abort()
      else {
        this.#take(data[0] ?? [], text.slice(start, meta.cursor))
        start = meta.cursor
      }
    }
    const parser = new Papa.Parser({ delimiter, newline, step })
    parser.parse(text, 0, !isLast)
    this.#text = text.slice(start)
    return isBroken
  }

  #take(cells: readonly string[], source: string): void {
    const line = this.#line
    this.#line += newlinesIn(source, this.#layout?.newline ?? '\n')
    if (cells.length === 1 && source.trim() === '') return
    const values = [...cells]
    const last = values.at(-1) ?? ''
    // Lines may end in \r\n here and in \n there, when files were put together; the parser looks for \n.
    if (last.endsWith('\r')) values[values.length - 1] = last.slice(0, -1)
    if (this.#names === null) this.#names = columnNames(values, this.#file, this.#fault)
    else {
      this.#noteRepeatedName(values, this.#names)
      this.#items.push(this.#item(values, { names: this.#names, line }))
    }
  }

  #item(values: readonly string[], { names, line }: { names: readonly string[]; line: number }): ReadItem {
    const number = ++this.#number
    if (this.#fault !== null && values.some((value) => value.includes('\uFFFD')))
      return { number, line, sentence: this.#fault }
    if (this.#layout?.delimiter === ';') this.#noteDecimalComma(values)
    if (values.length !== names.length) {
      return {
        number,
        line,
        sentence: `it has ${plural(values.length, 'value')} for ${plural(names.length, 'column')}`,
      }
    }
    const row = Object.create(null) as Record<string, unknown>
    for (const [index, name] of names.entries()) row[name] = values[index]
    return { number, line, row }
  }

  /** A column whose name is among its first values, as `ham` of ham and spam, has lost a row to its name. */
  #noteRepeatedName(values: readonly string[], names: readonly string[]): void {
    const name = names.find((each, index) => each === values[index])
    // Pieces of a table that were put together repeat the whole line of names.
    const isNames = names.every((each, index) => each === values[index])
    if (name === undefined || isNames || this.#hasRepeatedName || this.#number >= lookedAt) return
    this.#hasRepeatedName = true
    this.#file.note(
      `“${name}” was taken for the name of a column, but is one of its values, too. ${headerAdvice}`,
    )
  }

  /** Notes decimal commas, which are possible where semicolons separate columns. */
  #noteDecimalComma(values: readonly string[]): void {
    if (this.#hasDecimalComma || !values.some((value) => /^-?\d+,\d+$/.test(value))) return
    this.#hasDecimalComma = true
    this.#file.note(
      'Some numbers have a decimal comma, such as 3,5. They stay as they are: rewards that compare numbers read the comma as a decimal point.',
    )
  }

  /** The line whose quotation marks do not fit is left out; reading goes on behind it. */
  #dropLine(): void {
    const newline = this.#layout?.newline ?? '\n'
    const sentence = 'it has a quotation mark in the middle of a value'
    if (this.#names === null) throw invalidData(`${this.#file.path}, line ${this.#line}: ${sentence}.`)
    this.#items.push({ number: ++this.#number, line: this.#line++, sentence })
    const end = this.#text.indexOf(newline)
    this.#text = end < 0 ? '' : this.#text.slice(end + 1)
  }
}

function newlinesIn(source: string, newline: string): number {
  let count = 0
  for (let at = source.indexOf(newline); at >= 0; at = source.indexOf(newline, at + 1)) count++
  return count
}

const delimiterNames: Readonly<Record<string, string>> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'tabs',
  '|': 'vertical bars (|)',
}

/**
 * Finds the layout of a table: spreadsheets of some countries write semicolons into files called .csv; databases write
 * vertical bars.
 */
function layoutOf(text: string, defaultDelimiter: string): { delimiter: string; newline: '\n' | '\r' } {
  const newline = text.includes('\n') || !text.includes('\r') ? '\n' : '\r'
  const header = (text.trimStart().split(newline, 1)[0] ?? '').replaceAll(/"[^"]*"/g, '')
  const counts = [defaultDelimiter, ',', '\t', ';', '|'].map((delimiter) => ({
    delimiter,
    count: header.split(delimiter).length - 1,
  }))
  const first = counts.find(({ count }) => count > 0)
  return { delimiter: first?.delimiter ?? defaultDelimiter, newline }
}

const longestName = 80
/** Rows whose values are compared with their columns' names. */
const lookedAt = 200
const headerAdvice =
  'If the first line is a row, put a line with names such as question,answer in front of it.'

/** Errors: AppError 'data/invalid' for a first line that names no columns. */
function columnNames(
  cells: readonly string[],
  file: Pick<DataFile, 'path' | 'note'>,
  fault: string | null,
): readonly string[] {
  if (cells.some((cell) => cell.includes('\0') || (fault !== null && cell.includes('\uFFFD'))))
    throw invalidData(`The first line of ${file.path} cannot be read: ${fault ?? notUtf8}.`)
  const names = cells.map((cell, index) => (cell.trim() === '' ? `column ${index + 1}` : cell))
  // A year or a sentence is what a row holds, not what a column is called; “No.” and “Correct?” are names.
  const value = names.find(
    (name) => /^-?[\d.,]+$|^(\S+\s+){2}.*[?!.]$/s.test(name.trim()) || name.length > longestName,
  )
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined)
    throw invalidData(
      `${file.path} has two columns called “${shorten(twice)}”.`,
      value === undefined ? 'Rename one of them.' : headerAdvice,
    )
  if (value !== undefined)
    file.note(
      `“${shorten(value)}” was taken for the name of a column, but looks like a value. ${headerAdvice}`,
    )
  return names
}

// The kinds of files that are read as data.

export interface DataFormat {
  readonly id: 'jsonl' | 'json' | 'csv' | 'tsv' | 'parquet'
  readonly title: string
  /** File extensions, with the dot, in lower case. */
  readonly extensions: readonly string[]
  /** Rows in the order of the file, some at a time; problems stand where the row would. */
  readonly read: (file: DataFile) => AsyncGenerator<readonly ReadItem[]>
}

export const dataFormats: readonly DataFormat[] = [
  { id: 'jsonl', title: 'JSON Lines', extensions: ['.jsonl', '.ndjson'], read: readLines },
  { id: 'json', title: 'JSON', extensions: ['.json'], read: readJsonList },
  { id: 'csv', title: 'CSV', extensions: ['.csv'], read: readCommaTable },
  { id: 'tsv', title: 'TSV', extensions: ['.tsv'], read: readTabTable },
  { id: 'parquet', title: 'Parquet', extensions: ['.parquet'], read: readParquet },
]

const packings: readonly string[] = ['.gz', '.zst']

/** Endings of every file that is read, packed or not. */
export const dataExtensions: readonly string[] = dataFormats.flatMap(({ extensions }) => extensions)

/** Format by a file's name, which may end in .gz or .zst; undefined for other files. */
export function formatNamed(file: string): DataFormat | undefined {
  const packing = path.extname(file).toLowerCase()
  const name = packings.includes(packing) ? file.slice(0, -packing.length) : file
  const extension = path.extname(name).toLowerCase()
  const format = dataFormats.find(({ extensions }) => extensions.includes(extension))
  return format?.id === 'parquet' && name !== file ? undefined : format
}

/** Returns the format by the file's name. Errors: AppError 'data/invalid', which names the kinds there are. */
export function formatOf(file: string): DataFormat {
  const format = formatNamed(file)
  if (format !== undefined) return format
  return requireNamedData(file, dataExtensions)
}

/**
 * Yields rows of a file in order, some at a time. Errors: AppError 'data/invalid' where it holds something else;
 * 'file/unreadable'.
 */
export async function* readRows(file: DataFile): AsyncGenerator<readonly ReadItem[]> {
  const format = formatOf(file.path)
  await requireData(file)
  yield* format.read(file)
}
