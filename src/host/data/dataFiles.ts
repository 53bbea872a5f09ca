/** Files that are one table together, such as the shards of a split: read one after the other, their rows counted through. */
import path from 'node:path'
import { isProblem, openDataFile, type ReadItem, type ReadOptions } from './dataFile.ts'
import { formatOf, type DataFormat } from './formats.ts'
import { regularFileSize } from '#host/files/strictJson.ts'

/** One, or several in their order. */
export type DataFiles = string | readonly [string, ...string[]]

export const listOf = (files: DataFiles): readonly [string, ...string[]] =>
  typeof files === 'string' ? [files] : files

export interface DataFilesFacts {
  /** Of the first. */
  readonly format: DataFormat
  readonly sizeBytes: number
  /** What they are called: the path of a file, or the folder of several. */
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

/** Rows in order, some at a time. Errors: as of reading one file. */
export async function* readDataFiles(
  files: DataFiles,
  { onProgress, signal }: ReadOptions = {},
): AsyncGenerator<readonly ReadItem[]> {
  const list = listOf(files)
  const { sizeBytes: total } = describeFiles(files)
  let [bytesBefore, rowsBefore] = [0, 0]
  for (const file of list) {
    await using source = await openDataFile(file, {
      ...(signal === undefined ? {} : { signal }),
      onProgress: (read) => onProgress?.(bytesBefore + read, total),
    })
    let last = 0
    for await (const items of formatOf(file).read(source)) {
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
