/** The kinds of files that are read as data. */
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import type { DataFile, ReadItem } from './dataFile.ts'
import { readJsonLines } from './jsonLines.ts'
import { readJsonList } from './jsonList.ts'
import { readParquet } from './parquet.ts'
import { readCommaTable, readTabTable } from './table.ts'

export interface DataFormat {
  readonly id: 'jsonl' | 'json' | 'csv' | 'tsv' | 'parquet'
  readonly title: string
  /** With the dot, in small letters. */
  readonly extensions: readonly string[]
  /** Rows in the order of the file, some at a time; problems stand where the row would. */
  readonly read: (file: DataFile) => AsyncGenerator<readonly ReadItem[]>
}

export const dataFormats: readonly DataFormat[] = [
  { id: 'jsonl', title: 'JSON Lines', extensions: ['.jsonl', '.ndjson'], read: readJsonLines },
  { id: 'json', title: 'JSON', extensions: ['.json'], read: readJsonList },
  { id: 'csv', title: 'CSV', extensions: ['.csv'], read: readCommaTable },
  { id: 'tsv', title: 'TSV', extensions: ['.tsv'], read: readTabTable },
  { id: 'parquet', title: 'Parquet', extensions: ['.parquet'], read: readParquet },
]

/** By the file's name. Errors: AppError 'data/invalid', which names the kinds there are. */
export function formatOf(file: string): DataFormat {
  const extension = path.extname(file).toLowerCase()
  const format = dataFormats.find(({ extensions }) => extensions.includes(extension))
  if (format !== undefined) return format
  throw new AppError(
    'data/invalid',
    `${file} is of a kind that is not read as data.`,
    `Data files end in ${dataFormats.flatMap(({ extensions }) => extensions).join(', ')}.`,
  )
}
