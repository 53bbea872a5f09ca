/** A first look at a file, or at several that are one table, before it is imported: its beginning, its columns, what it seems to be. */
import { TableStatistics, type ColumnStatistics } from './columnStatistics.ts'
import { isProblem, type DataRow, type ReadItem, type RowProblem } from './dataFile.ts'
import { describeFiles, readDataFiles, type DataFiles } from './dataFiles.ts'
import type { DataFormat } from './formats.ts'
import { mapItem, type Mapping } from './mapping.ts'
import { detectShape, type DetectedShape } from './shapes.ts'

export interface DataFileInspection {
  readonly format: Pick<DataFormat, 'id' | 'title'>
  readonly sizeBytes: number
  /** Of the file as it is. */
  readonly shape: DetectedShape
  readonly columns: readonly ColumnStatistics[]
  /** The first rows, mapped. */
  readonly rows: readonly DataRow[]
  readonly problems: readonly RowProblem[]
  /** True where the rows are all there are. */
  readonly isWhole: boolean
}

/** Reads about the first `count` rows. Errors: AppError 'data/invalid', 'file/unreadable'. */
export async function inspectDataFile(
  files: DataFiles,
  { count = 100, mapping = [] }: { readonly count?: number; readonly mapping?: Mapping } = {},
): Promise<DataFileInspection> {
  const { format, sizeBytes } = describeFiles(files)
  const items: ReadItem[] = []
  let isWhole = true
  for await (const batch of readDataFiles(files)) {
    items.push(...batch.slice(0, count - items.length))
    isWhole = batch.length === 0 || items.length < count
    if (!isWhole) break
  }
  const read = items.flatMap((item) => (isProblem(item) ? [] : [item]))
  const mapped = items.map((item) => (isProblem(item) ? item : mapItem(item, mapping)))
  const statistics = new TableStatistics()
  for (const { row } of read) statistics.add(row)
  return {
    format: { id: format.id, title: format.title },
    sizeBytes,
    shape: detectShape(read.map(({ row }) => row)),
    columns: statistics.summary(),
    rows: mapped.flatMap((item) => (isProblem(item) ? [] : [item.row])),
    problems: mapped.filter(isProblem),
    isWhole,
  }
}
