/** Rows of a data set from a jsonl, json, csv or tsv file. */
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import {
  isJsonObject,
  JsonSyntaxError,
  parseStrictJson,
  readSmallFile,
  type JsonObject,
} from './strictJson.ts'

export type DataRow = JsonObject

const maxBytes = 256 * 1024 * 1024

type Reader = (text: string, file: string) => DataRow[]

const readers: ReadonlyMap<string, Reader> = new Map([
  ['.jsonl', readJsonLines],
  ['.ndjson', readJsonLines],
  ['.json', readJsonArray],
  ['.csv', (text, file) => readTable(text, ',', file)],
  ['.tsv', (text, file) => readTable(text, '\t', file)],
])

/** Errors: AppError 'file/unreadable', or 'data/invalid' naming file and line. */
export function readDataSet(file: string): readonly DataRow[] {
  const reader = readers.get(path.extname(file).toLowerCase())
  if (reader === undefined) {
    throw new AppError(
      'data/invalid',
      `${file} is of a kind that is not read as data.`,
      `Data files end in ${[...readers.keys()].join(', ')}.`,
    )
  }
  const rows = reader(textOf(file), file)
  if (rows.length === 0) throw new AppError('data/invalid', `${file} holds no rows.`)
  return rows
}

function textOf(file: string): string {
  const bytes = readSmallFile(file, maxBytes)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new AppError('data/invalid', `${file} is not UTF-8 text.`, undefined, error)
  }
}

function readJsonLines(text: string, file: string): DataRow[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    const place = `${file}, line ${index + 1},`
    const row = parse(line, place)
    if (isJsonObject(row)) return [row]
    throw new AppError('data/invalid', `${place} is not a JSON object.`)
  })
}

function readJsonArray(text: string, file: string): DataRow[] {
  const rows = parse(text, file)
  if (!Array.isArray(rows)) throw new AppError('data/invalid', `${file} must hold a list of objects.`)
  return rows.map((row: unknown, index) => {
    if (isJsonObject(row)) return row
    throw new AppError('data/invalid', `Entry ${index + 1} of ${file} is not an object.`)
  })
}

function parse(text: string, place: string): unknown {
  try {
    return parseStrictJson(Buffer.from(text, 'utf8'))
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    throw new AppError('data/invalid', `${place} is not valid JSON: ${error.message}.`)
  }
}

/** The first record names the columns. Values stay text. */
function readTable(text: string, separator: string, file: string): DataRow[] {
  const [header, ...records] = splitRecords(text, separator, file)
  if (header === undefined) return []
  const twice = header.cells.find((name, index) => header.cells.indexOf(name) !== index)
  if (twice !== undefined) throw new AppError('data/invalid', `${file} has two columns called «${twice}».`)
  return records.map(({ cells, line }) => {
    if (cells.length !== header.cells.length) {
      throw new AppError(
        'data/invalid',
        `${file}, line ${line}, has ${cells.length} values for ${header.cells.length} columns.`,
      )
    }
    return Object.fromEntries(header.cells.map((name, index) => [name, cells[index] ?? '']))
  })
}

interface TableRecord {
  readonly cells: readonly string[]
  /** Where it begins, from 1. */
  readonly line: number
}

/** Cells as RFC 4180 has them: quoted ones may hold separators, line ends and doubled quotes. Empty lines are no records. */
function splitRecords(text: string, separator: string, file: string): TableRecord[] {
  const cell = new RegExp(`"([^"]*(?:""[^"]*)*)"|([^"${separator}\\r\\n][^${separator}\\r\\n]*)?`, 'y')
  const records: TableRecord[] = []
  let [cells, line, start]: [string[], number, number] = [[], 1, 1]
  for (let at = 0; at < text.length || cells.length > 0; at++) {
    cell.lastIndex = at
    const [whole = '', quoted, plain = ''] = cell.exec(text) ?? []
    at += whole.length
    line += whole.split('\n').length - 1
    cells.push(quoted?.replaceAll('""', '"') ?? plain)
    if (text[at] === separator) continue
    at = lineEnd(text, at, `${file}, line ${line},`)
    if (!isEmptyLine(cells, whole)) records.push({ cells, line: start })
    ;[cells, start, line] = [[], line + 1, line + 1]
  }
  return records
}

/** A line without any character, not even the quotation marks of an empty value. */
const isEmptyLine = (cells: readonly string[], whole: string): boolean => cells.length === 1 && whole === ''

/** Place of the line feed that ends a record behind its last cell, or of the end of the text. */
function lineEnd(text: string, at: number, place: string): number {
  const end = text[at] === '\r' && text[at + 1] === '\n' ? at + 1 : at
  if (end >= text.length || text[end] === '\n') return end
  throw new AppError('data/invalid', `${place} has a quotation mark that does not close a value.`)
}
