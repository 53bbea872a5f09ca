/**
 * Imports files that form one table as a version of a data set: rows are checked, mapped and counted, all or nothing.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '#shared/attempt.ts'
import { type AppError, invalidData } from '#shared/errors.ts'
import { AtomicFile, makeFolder, writeFileAtomic } from '#host/files/atomic.ts'
import { writing } from '#host/files/fileErrors.ts'
import { isAlive } from '#host/files/living.ts'
import { entryOf } from '#host/files/ownFiles.ts'
import { TableStatistics } from './columnStatistics.ts'
import {
  isProblem,
  problemText,
  type ReadItem,
  type ReadRow,
  type ReadOptions,
  type RowProblem,
} from './dataFile.ts'
import { describeFiles, listOf, readDataFiles, type DataFiles } from './dataFiles.ts'
import {
  indexStride,
  isDataSetVersion,
  openDataSetVersion,
  versionFiles,
  type DataSetInfo,
  type DataSetVersion,
} from './dataSetVersion.ts'
import type { Mapping } from './mapping.ts'
import { RowMapper } from './pairs.ts'

export interface ImportOptions extends ReadOptions {
  /** The folder that holds all data sets; the version's own folder in it is named by its id. */
  readonly folder: string
  /** The first file's name by default. */
  readonly name?: string
  /** Origin of the rows, in words; the path by default. */
  readonly origin?: string
  readonly mapping?: Mapping
}

export interface ImportedDataSet {
  readonly version: DataSetVersion
  /** False where the same rows had been imported before; they keep the names they had. */
  readonly isNew: boolean
  /** Name of this import; differs from the version's own where the same rows were imported before. */
  readonly name: string
}

/**
 * Reads data files in a stream. Rows with problems are left out and listed in the version.
 * Errors: AppError 'data/invalid' where a file as a whole is wrong or no row is left; 'file/…'; 'api/cancelled'.
 */
export async function importDataSet(files: DataFiles, options: ImportOptions): Promise<ImportedDataSet> {
  const { format, sizeBytes, path: place } = describeFiles(files)
  const { origin = place, name = path.parse(listOf(files)[0]).name, mapping = [] } = options
  const temporary = temporaryFolder(options.folder)
  try {
    using writer = new VersionWriter(temporary, mapping)
    for await (const items of readDataFiles(files, options)) writer.take(items)
    const info: DataSetInfo = {
      format: 1,
      ...writer.commit(origin),
      name,
      createdAt: Date.now(),
      source: { path: origin, format: format.id, sizeBytes },
      mapping,
    }
    return settle(temporary, entryOf(options.folder, info.id), info)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

let temporaryCount = 0
const temporaryName = /^\.import\.(\d+)\.\d+$/

/** Removes what imports left whose process has died, too. */
function temporaryFolder(folder: string): string {
  makeFolder(folder)
  return writing(folder, () => {
    for (const name of readdirSync(folder)) {
      const [, process = ''] = temporaryName.exec(name) ?? []
      if (process !== '' && !isAlive(Number(process)))
        rmSync(path.join(folder, name), { recursive: true, force: true })
    }
    const directory = path.join(folder, `.import.${process.pid}.${++temporaryCount}`)
    mkdirSync(directory)
    return directory
  })
}

/** Moves the written rows into place; if the same rows are there complete, only adds the name to them. */
function settle(temporary: string, directory: string, info: DataSetInfo): ImportedDataSet {
  const before = wholeVersion(directory)
  if (before !== null)
    writeFileAtomic(path.join(directory, versionFiles.about), aboutText(renamed(before, info)))
  else {
    writeFileAtomic(path.join(temporary, versionFiles.about), aboutText(info))
    writing(directory, () => {
      rmSync(directory, { recursive: true, force: true })
      renameSync(temporary, directory)
    })
  }
  return { version: openDataSetVersion(directory), isNew: before === null, name: info.name }
}

const aboutText = (info: DataSetInfo): string => `${JSON.stringify(info, null, 2)}\n`

/**
 * Renames a version. Source and mapping are those of the last import; each name keeps its own time, since the newest of
 * a name is the one meant.
 */
const renamed = ({ name, createdAt, otherNames }: DataSetInfo, info: DataSetInfo): DataSetInfo =>
  name === info.name
    ? { ...info, ...(otherNames === undefined ? {} : { otherNames }) }
    : { ...info, name, createdAt, otherNames: { ...otherNames, [info.name]: info.createdAt } }

function wholeVersion(directory: string): DataSetInfo | null {
  if (!existsSync(directory) || !isDataSetVersion(directory)) return null
  return attempt(() => openDataSetVersion(directory).info, null)
}

const maxListed = 1_000
const bufferedBytes = 1 << 20
const lineFeed = Buffer.from('\n')

/** Writes rows and index; counts what stands in the description. */
class VersionWriter {
  readonly #rowsFile: AtomicFile
  readonly #indexFile: AtomicFile
  readonly #mapper: RowMapper
  readonly #hash = createHash('sha256')
  readonly #statistics = new TableStatistics()
  readonly #problems: RowProblem[] = []
  readonly #offsets: number[] = []
  #problemCount = 0
  #rows = 0
  #sizeBytes = 0
  #lines: Buffer[] = []
  #lineCount = 0
  #blocks: Buffer[] = []
  #blockBytes = 0

  constructor(directory: string, mapping: Mapping) {
    this.#mapper = new RowMapper(mapping)
    this.#rowsFile = new AtomicFile(path.join(directory, versionFiles.rows))
    this.#indexFile = new AtomicFile(path.join(directory, versionFiles.index))
  }

  take(items: readonly ReadItem[]): void {
    for (const item of items) this.#keep(this.#mapper.take(item))
  }

  #keep(mapped: readonly ReadItem[]): void {
    for (const item of mapped) {
      if (isProblem(item)) this.#list(item)
      else this.#add(item)
    }
  }

  #add({ row, source }: ReadRow): void {
    this.#statistics.add(row)
    this.#rows++
    this.#lines.push(source ?? Buffer.from(JSON.stringify(row), 'utf8'), lineFeed)
    if (++this.#lineCount === indexStride) this.#endBlock()
  }

  #list(problem: RowProblem): void {
    this.#problemCount++
    if (this.#problems.length < maxListed) this.#problems.push(problem)
  }

  #endBlock(): void {
    if (this.#lineCount === 0) return
    const block = Buffer.concat(this.#lines)
    this.#lines = []
    this.#lineCount = 0
    this.#offsets.push(this.#sizeBytes)
    this.#hash.update(block)
    this.#sizeBytes += block.length
    this.#blocks.push(block)
    this.#blockBytes += block.length
    if (this.#blockBytes >= bufferedBytes) this.#flush()
  }

  #flush(): void {
    this.#rowsFile.write(Buffer.concat(this.#blocks))
    this.#blocks = []
    this.#blockBytes = 0
  }

  /** Errors: AppError 'data/invalid' where no row is left. */
  commit(file: string): Pick<DataSetInfo, 'id' | 'rows' | 'sizeBytes' | 'columns' | 'problems'> {
    this.#keep(this.#mapper.end())
    this.#endBlock()
    if (this.#rows === 0) throw noRows(file, this.#problemCount, this.#problems[0])
    this.#flush()
    this.#rowsFile.commit()
    const index = Buffer.alloc(this.#offsets.length * 8)
    for (const [at, offset] of this.#offsets.entries()) index.writeBigUInt64LE(BigInt(offset), at * 8)
    this.#indexFile.write(index)
    this.#indexFile.commit()
    return {
      id: this.#hash.digest('hex'),
      rows: this.#rows,
      sizeBytes: this.#sizeBytes,
      columns: this.#statistics.summary(),
      problems: { count: this.#problemCount, listed: this.#problems },
    }
  }

  [Symbol.dispose](): void {
    this.#rowsFile[Symbol.dispose]()
    this.#indexFile[Symbol.dispose]()
  }
}

function noRows(file: string, count: number, first: RowProblem | undefined): AppError {
  if (first === undefined) return invalidData(`${file} holds no rows.`)
  const others = count === 1 ? '' : ` All ${count} rows have problems.`
  return invalidData(`${file} has no usable row: ${problemText(first)}.${others}`)
}
