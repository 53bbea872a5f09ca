/** Files that form one table, such as the shards of a split, read one after the other with continuous row numbers. */
import path from 'node:path'
import { regularFileSize } from '#host/files/strictJson.ts'
import {
  isProblem,
  openDataFile,
  type ReadItem,
  type ReadOptions,
  type DataRow,
  type RowProblem,
} from './dataFile.ts'
import { formatOf, readRows, type DataFormat } from './table.ts'
import { TableStatistics, type ColumnStatistics } from './columnStatistics.ts'
import type { Mapping } from './mapping.ts'
import { amongRows, oddValues } from './oddValues.ts'
import { RowMapper } from './pairs.ts'
import { detectShape, type DetectedShape } from './shapes.ts'
import { judgedBy, TellingRows } from './tellingRows.ts'

/** One, or several in their order. */
export type DataFiles = string | readonly [string, ...string[]]

export const listOf = (files: DataFiles): readonly [string, ...string[]] =>
  typeof files === 'string' ? [files] : files

export interface DataFilesFacts {
  /** Format of the first file. */
  readonly format: DataFormat
  readonly sizeBytes: number
  /** Path of a file, or the folder of several. */
  readonly path: string
}

/** Errors: AppError 'data/invalid' for a file of a kind that is not read, 'file/unreadable'. */
export function describeFiles(files: DataFiles): DataFilesFacts {
  const list = listOf(files)
  const [format] = list.map(formatOf) as [DataFormat, ...DataFormat[]]
  const sizeBytes = list.reduce((sum, file) => sum + regularFileSize(file), 0)
  const [first] = list
  return { format, sizeBytes, path: path.resolve(list.length === 1 ? first : path.dirname(first)) }
}

/** Yields rows in order, some at a time. Errors: as of reading one file. */
export async function* readDataFiles(
  files: DataFiles,
  { onProgress, signal, onNote, split }: ReadOptions = {},
): AsyncGenerator<readonly ReadItem[]> {
  const list = listOf(files)
  const { sizeBytes: total } = describeFiles(files)
  let [bytesBefore, rowsBefore] = [0, 0]
  for (const file of list) {
    await using source = await openDataFile(file, {
      ...(signal === undefined ? {} : { signal }),
      ...(onNote === undefined ? {} : { onNote }),
      ...(split === undefined ? {} : { split }),
      onProgress: (read) => onProgress?.(bytesBefore + read, total),
    })
    let last = 0
    for await (const items of readRows(source)) {
      last = items.at(-1)?.number ?? last
      yield list.length === 1 ? items : items.map((item) => countedOn(item, rowsBefore, file))
    }
    bytesBefore += source.sizeBytes
    rowsBefore += last
  }
}

/** The line is that of the row's own file, which is named where there is something to say. */
const countedOn = (item: ReadItem, before: number, file: string): ReadItem => ({
  ...item,
  number: before + item.number,
  ...(isProblem(item) ? { sentence: `${item.sentence} (in ${path.basename(file)})` } : {}),
})

/* A first look at a file, or at several that are one table, before it is imported: its beginning, its columns, what it seems to be. */

export interface DataFileInspection {
  readonly format: Pick<DataFormat, 'id' | 'title'>
  readonly sizeBytes: number
  /** Sentences on how the file was interpreted. */
  readonly notes: readonly string[]
  /** Shape of the file before mapping. */
  readonly shape: DetectedShape
  readonly columns: readonly ColumnStatistics[]
  /** Sentences on values among the first rows that carry no information. */
  readonly oddValues: readonly string[]
  /** The first rows, mapped. */
  readonly rows: readonly DataRow[]
  readonly problems: readonly RowProblem[]
  /** True where the rows are all there are. */
  readonly isWhole: boolean
}

interface InspectOptions {
  readonly count?: number
  readonly mapping?: Mapping
  readonly split?: string | undefined
  /** Most bytes that are read for the meaning of the columns; 32 MiB by default. */
  readonly maxBytes?: number
  readonly onProgress?: ReadOptions['onProgress']
  readonly signal?: AbortSignal
}

/**
 * Shows the first `count` rows; what the columns are is judged by all rows, of a large file by those within `maxBytes`. Errors:
 * AppError 'data/invalid', 'file/unreadable', 'api/cancelled'.
 */
export async function inspectDataFile(
  files: DataFiles,
  { count = 100, mapping = [], maxBytes = 32 << 20, ...options }: InspectOptions = {},
): Promise<DataFileInspection> {
  const { format, sizeBytes } = describeFiles(files)
  const { items, telling, notes, isWhole } = await beginning(files, { count, maxBytes, options })
  const read = items.flatMap((item) => (isProblem(item) ? [] : [item]))
  const mapper = new RowMapper(mapping)
  const taken = items.flatMap((item) => mapper.take(item))
  // Rows that still wait for others may find them in the rest of the file.
  const mapped = isWhole ? [...taken, ...mapper.end()] : taken
  const statistics = new TableStatistics()
  for (const { row } of read) statistics.add(row)
  const [shape, columns] = [detectShape(telling), statistics.summary()]
  return {
    format: { id: format.id, title: format.title },
    sizeBytes,
    notes,
    shape,
    columns,
    oddValues: oddValues(columns, shape, amongRows(read.length, isWhole)),
    rows: mapped.flatMap((item) => (isProblem(item) ? [] : [item.row])),
    problems: mapped.filter(isProblem),
    isWhole,
  }
}

interface Looking {
  readonly count: number
  readonly maxBytes: number
  readonly options: Pick<InspectOptions, 'split' | 'onProgress' | 'signal'>
}

/** The first rows, and those that tell what the columns are. */
async function beginning(files: DataFiles, { count, maxBytes, options }: Looking) {
  const [notes, items, telling] = [new Set<string>(), [] as ReadItem[], new TellingRows()]
  let [bytes, isWhole] = [0, true]
  const reading = {
    ...onlySet(options),
    onNote: (note: string) => void notes.add(note),
    onProgress(read: number, total: number) {
      bytes = read
      options.onProgress?.(read, total)
    },
  }
  const { sizeBytes } = describeFiles(files)
  for await (const batch of readDataFiles(files, reading)) {
    isWhole &&= batch.length <= count - items.length
    items.push(...batch.slice(0, count - items.length))
    for (const item of batch) if (!isProblem(item)) telling.add(item.row)
    if (bytes < maxBytes || bytes >= sizeBytes || items.length < count) continue
    notes.add(judgedBy(telling.count))
    break
  }
  return { items, telling, notes: [...notes], isWhole }
}

const onlySet = ({ split, signal }: Looking['options']): Pick<ReadOptions, 'split' | 'signal'> => ({
  ...(split === undefined ? {} : { split }),
  ...(signal === undefined ? {} : { signal }),
})
