/** The training and validation rows of a run, in memory. */
import { statSync } from 'node:fs'
import { invalidData } from '#shared/errors.ts'
import { commandWord } from '#shared/shownText.ts'
import { requirePart } from '#host/files/ownFiles.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { isProblem, openDataFile, problemText, type DataRow } from './dataFile.ts'
import { isDataSetVersion, openDataSetVersion } from './dataSetVersion.ts'
import { formatOf, readRows } from './table.ts'
import { splitRows, type SplitResult } from './split.ts'

export type { DataRow } from './dataFile.ts'

/** Rows become objects of several times their size; beyond this a machine with 8 GB would be in trouble. */
const maxBytes = 512 << 20

/**
 * Rows of a file, or of an imported version's folder. A run is not started on half a file: a row with a problem is an
 * error here, where an import would leave it out. Errors: AppError 'file/unreadable', or 'data/invalid' naming the row.
 */
export async function readDataSet(source: string): Promise<readonly DataRow[]> {
  const rows = isFolder(source) ? await rowsOfVersion(source) : await rowsOfFile(source)
  if (rows.length === 0) throw invalidData(`${source} holds no rows.`)
  return rows
}

/** Training and held-out rows as `data` of the run config says. Errors: as `readDataSet`. */
export async function readRunData(data: Pick<RunConfig['data'], 'train' | 'heldOut'>): Promise<SplitResult> {
  const train =
    typeof data.train === 'string' ? await readDataSet(data.train) : emptyRows(data.train.episodes)
  if (data.heldOut !== null && typeof data.heldOut !== 'string') return splitRows(train, data.heldOut)
  const heldOut = data.heldOut === null ? [] : await readDataSet(data.heldOut)
  return { train, heldOut, places: { train: [...train.keys()], heldOut: [...heldOut.keys()] } }
}

/** Rows for an environment that makes up its episodes: each but a number. */
const emptyRows = (count: number): DataRow[] => Array.from({ length: count }, (_, episode) => ({ episode }))

function isFolder(source: string): boolean {
  return statSync(source, { throwIfNoEntry: false })?.isDirectory() === true
}

async function rowsOfVersion(directory: string): Promise<DataRow[]> {
  if (!isDataSetVersion(directory)) {
    throw invalidData(`${directory} is a folder, but not an imported data set.`)
  }
  const version = openDataSetVersion(directory)
  requireSmall(directory, version.info.sizeBytes)
  const rows: DataRow[] = []
  for await (const batch of version.batches()) rows.push(...batch)
  return rows
}

async function rowsOfFile(file: string): Promise<DataRow[]> {
  formatOf(file)
  requirePart(file, undefined, {
    text: 'Name the file that you mean itself, put a copy in its place, or import it as a data set: an import reads links.',
    command: `\`turnwise dataset import ${commandWord(file)}\` does so.`,
  })
  await using source = await openDataFile(file)
  requireSmall(file, source.sizeBytes)
  const rows: DataRow[] = []
  for await (const items of readRows(source)) {
    for (const item of items) {
      if (isProblem(item)) {
        throw invalidData(`${file}, ${problemText(item)}.`, {
          text: 'Correct the file, or import it as a data set, which leaves such rows out and lists them.',
          command: `\`turnwise dataset import ${commandWord(file)}\` does so.`,
        })
      }
      rows.push(Object.assign(Object.create(null) as Record<string, unknown>, item.row))
    }
  }
  return rows
}

function requireSmall(source: string, sizeBytes: number): void {
  if (sizeBytes <= maxBytes) return
  throw invalidData(
    `${source} has ${Math.round(sizeBytes / 1e6)} MB; a run keeps its rows in memory, at most ${Math.round(maxBytes / 1e6)} MB.`,
    'Train on a part of it: reinforcement learning seldom needs more than a few tens of thousands of prompts.',
  )
}
