/**
 * Version of a data set on disk: `rows.jsonl` (one row per line), `rows.index` (offset of every 256th row) and
 * `version.json` (description). Its id is the hash of rows.jsonl, so a version never changes. Lines of a JSON Lines
 * file are kept as they are; rows of other formats are written as JSON, so the same rows have the same id there.
 */
import { createHash } from 'node:crypto'
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { count, instant } from '#shared/api/common.ts'
import { type AppError, invalidData } from '#shared/errors.ts'
import { reading } from '#host/files/fileErrors.ts'
import { requireInside } from '#host/files/ownFiles.ts'
import { isJsonObject, readJsonObject, readSmallFile, regularFileSize } from '#host/files/strictJson.ts'
import { columnStatisticsSchema } from './columnStatistics.ts'
import { openDataFile, type DataRow, type ReadOptions } from './dataFile.ts'
import { mappingSchema } from './mapping.ts'

/** Rows between two entries of the index. */
export const indexStride = 256

export const versionFiles = { rows: 'rows.jsonl', index: 'rows.index', about: 'version.json' } as const

const problem = z.strictObject({ number: count, line: count.nullable(), sentence: z.string() })

const versionSchema = z.strictObject({
  format: z.literal(1),
  /** SHA-256 of rows.jsonl, in hex. */
  id: z.string().regex(/^[0-9a-f]{64}$/),
  name: z.string(),
  /** Names under which the same rows were imported later, and when. */
  otherNames: z.record(z.string(), instant).optional(),
  createdAt: instant,
  source: z.strictObject({ path: z.string(), format: z.string(), sizeBytes: count }),
  mapping: mappingSchema,
  rows: z.int().min(1),
  sizeBytes: z.int().min(1),
  columns: z.array(columnStatisticsSchema),
  /** Rows of the source that were left out: all are counted, the first thousand listed. */
  problems: z.strictObject({ count, listed: z.array(problem) }),
})

export type DataSetInfo = z.output<typeof versionSchema>

export interface DataSetVersion {
  readonly directory: string
  readonly info: DataSetInfo
  /** Returns at most `count` rows from number `from` (0 is the first); fewer at the end. */
  rows(from: number, count: number): readonly DataRow[]
  /**
   * Yields all rows in order, some at a time. Errors: 'data/invalid' at the end where the bytes are not those of the
   * id.
   */
  batches(options?: ReadOptions): AsyncGenerator<readonly DataRow[]>
}

const maxAboutBytes = 64 << 20

export const isDataSetVersion = (directory: string): boolean =>
  existsSync(path.join(directory, versionFiles.about))

/** Errors: AppError 'data/invalid' for a folder that is no whole version, 'file/unreadable'. */
export function openDataSetVersion(directory: string): DataSetVersion {
  for (const name of Object.values(versionFiles)) requireInside(path.join(directory, name), directory)
  const info = readInfo(directory)
  const rowsFile = path.join(directory, versionFiles.rows)
  if (regularFileSize(rowsFile) !== info.sizeBytes) throw damaged(rowsFile)
  const offsets = readIndex(directory, info)
  return {
    directory,
    info,
    rows: (from, count) => readRows(rowsFile, offsets, { from, to: Math.min(from + count, info.rows) }),
    batches: (options) => readBatches(rowsFile, info, options),
  }
}

function readInfo(directory: string): DataSetInfo {
  const file = path.join(directory, versionFiles.about)
  const result = versionSchema.safeParse(readJsonObject(file, 'data/invalid', maxAboutBytes))
  if (result.success) return result.data
  const place = result.error.issues[0]?.path.join('.') ?? ''
  throw invalidData(`${file} does not describe a data set (see ${place}).`, importAgain)
}

const importAgain = 'Import the file again; rows of a data set are never changed by hand.'

const damaged = (file: string): AppError =>
  invalidData(`${file} is damaged: its rows differ from those that were imported.`, importAgain)

/** Byte offsets of rows 0, 256, 512, …, and the file's length at the end. */
function readIndex(directory: string, { rows, sizeBytes }: DataSetInfo): readonly number[] {
  const file = path.join(directory, versionFiles.index)
  const entries = Math.ceil(rows / indexStride)
  const bytes = Buffer.from(readSmallFile(file, 1 << 30))
  if (bytes.length !== entries * 8) throw damaged(file)
  const offsets = Array.from({ length: entries }, (_, at) => Number(bytes.readBigUInt64LE(at * 8)))
  const isRising = offsets.every((offset, at) => offset < (offsets[at + 1] ?? sizeBytes))
  if (!isRising || offsets[0] !== 0) throw damaged(file)
  return [...offsets, sizeBytes]
}

interface RowSpan {
  readonly from: number
  readonly to: number
}

function readRows(file: string, offsets: readonly number[], { from, to }: RowSpan): readonly DataRow[] {
  if (from < 0 || from >= to) return []
  const firstBlock = Math.floor(from / indexStride)
  const start = offsets[firstBlock] ?? 0
  const end = offsets[Math.ceil(to / indexStride)] ?? offsets.at(-1) ?? 0
  const lines = readBytes(file, start, end).toString('utf8').split('\n')
  return lines
    .slice(from - firstBlock * indexStride, to - firstBlock * indexStride)
    .map((line) => asRow(line, file))
}

function readBytes(file: string, start: number, end: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(end - start)
  let done = 0
  reading(file, () => {
    const handle = openSync(file, 'r')
    try {
      for (let read = -1; read !== 0 && done < bytes.length; done += read) {
        read = readSync(handle, bytes, done, bytes.length - done, start + done)
      }
    } finally {
      closeSync(handle)
    }
  })
  if (done < bytes.length) throw damaged(file)
  return bytes
}

/** Parses a row into an object without a prototype: a column may be called `constructor`. */
function asRow(line: string, file: string): DataRow {
  try {
    const row: unknown = JSON.parse(line)
    if (isJsonObject(row)) return Object.assign(Object.create(null) as Record<string, unknown>, row)
  } catch {
    // Said below.
  }
  throw damaged(file)
}

async function* readBatches(
  file: string,
  { id }: DataSetInfo,
  options: ReadOptions = {},
): AsyncGenerator<readonly DataRow[]> {
  await using source = await openDataFile(file, options)
  const hash = createHash('sha256')
  let rest = Buffer.alloc(0)
  for await (const piece of source.pieces()) {
    hash.update(piece)
    const bytes = Buffer.concat([rest, piece])
    const end = bytes.lastIndexOf(0x0a)
    rest = bytes.subarray(end + 1)
    if (end < 0) continue
    const lines = bytes.toString('utf8', 0, end).split('\n')
    yield lines.map((line) => asRow(line, file))
  }
  if (hash.digest('hex') !== id) throw damaged(file)
}
