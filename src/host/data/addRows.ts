import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { dataFolders } from '#host/dataDirectory.ts'
import { scratchFolder } from '#host/files/scratch.ts'
import { importDataSet, type ImportedDataSet } from './importDataSet.ts'

/** Makes a version of rows that the program itself made; `origin`: where they come from, in words. Errors: AppError 'data/invalid', 'file/…'. */
export async function addRows(
  rows: readonly object[],
  { name, origin }: { readonly name: string; readonly origin: string },
  dataDirectory: string,
): Promise<ImportedDataSet> {
  using scratch = scratchFolder(dataDirectory)
  const file = path.join(scratch.folder, 'rows.jsonl')
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  return await importDataSet(file, { folder: dataFolders(dataDirectory).datasets, name, origin })
}
