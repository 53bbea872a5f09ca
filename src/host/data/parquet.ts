/** Reads Parquet one row group (or part of one) at a time; values are converted to JSON. */
import { isUtf8 } from 'node:buffer'
import { parquetMetadata, parquetScan, parquetSchema, type FileMetaData, type ParquetScan } from 'hyparquet'
import { AppError, invalidData } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import type { DataFile, DataRow, ReadItem } from './dataFile.ts'
import { maxOutputBytes } from './parquetCodecs.ts'
import { withoutStructNulls } from './structNulls.ts'
import { guardTable, readFooter, type GuardedTable, type Source } from './parquetGuard.ts'

/** Uncompressed bytes of a row group that are decoded at once where the file has an index of its pages. */
const windowBytes = 64 << 20
/**
 * Largest row group without such an index, which is decoded as a whole; strings of a larger one would not fit the
 * process.
 */
const maxGroupBytes = 1 << 30
const batchRows = 1_024

/** Rows of a Parquet file. A part that cannot be decoded is a problem of its rows. Errors: 'data/invalid'. */
export async function* readParquet(file: DataFile): AsyncGenerator<readonly ReadItem[]> {
  const { metadata, guarded } = await readMetadata(sourceOf(file), file.path)
  const notes = notesOf(file)
  const scan = await openScan(guarded, metadata)
  const table = { decimals: takeDecimals(metadata), scan, guarded, notes }
  let first = 0
  for (const group of metadata.row_groups) {
    const end = first + Number(group.num_rows)
    for (const range of windowsOf(group, first, end)) yield* readWindow(table, range)
    first = end
  }
}

/** Says once of a column what was made of its values. */
function notesOf(file: DataFile): Notes {
  const noted = new Set<string>()
  const once = (sentence: string) => {
    if (noted.has(sentence)) return
    noted.add(sentence)
    file.note(sentence)
  }
  return {
    bytes: (name) => once(`“${shorten(name)}” holds bytes that are not UTF-8 text: they are read as Base64.`),
    nulls: (name) =>
      once(
        `“${shorten(name)}” holds null in arguments or parameters of tools, where Arrow gives each row the fields of all others: these fields are left out.`,
      ),
  }
}

interface Notes {
  /** Notes that a column holds bytes that are not text. */
  readonly bytes: (name: string) => void
  /** Notes that nulls in structs of a column were left out. */
  readonly nulls: (name: string) => void
}

const openScan = ({ source, compressors }: GuardedTable, metadata: FileMetaData): Promise<ParquetScan> =>
  parquetScan({ file: source, metadata, compressors, parsers, utf8: false, geoparquet: false })

const sourceOf = (file: DataFile): Source => ({
  byteLength: file.sizeBytes,
  slice: (start, end = file.sizeBytes) => readBytes(file, start, end),
})

async function readBytes(file: DataFile, start: number, end: number): Promise<ArrayBuffer> {
  if (!(start >= 0 && start <= end && end <= file.sizeBytes)) throw new Error('it points outside the file')
  const bytes = await file.read(start, end)
  const { buffer, byteOffset, length } = bytes
  if (buffer.byteLength === length) return buffer as ArrayBuffer
  return buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer
}

interface Described {
  readonly metadata: FileMetaData
  readonly guarded: GuardedTable
}

async function readMetadata(source: Source, path: string): Promise<Described> {
  try {
    const metadata = parquetMetadata(await readFooter(source), { geoparquet: false })
    return { metadata, guarded: guardTable(source, metadata) }
  } catch (error) {
    if (error instanceof AppError) throw error
    throw invalidData(`${path} is not a readable Parquet file: ${reasonOf(error)}.`)
  }
}

interface RowRange {
  readonly rowStart: number
  readonly rowEnd: number
}

type RowGroup = FileMetaData['row_groups'][number]

function windowsOf(group: RowGroup, first: number, end: number): RowRange[] {
  const hasIndex = group.columns.every(({ offset_index_offset }) => offset_index_offset !== undefined)
  const bytes = Math.min(Number(group.total_byte_size), largestGroupBytes(group))
  if (!hasIndex && bytes > maxGroupBytes) {
    throw invalidData(
      `The Parquet file has a row group of ${Math.round(bytes / 1e6)} MB without a page index, which would have to be read into memory as a whole.`,
      'Rewrite it with row groups of ten thousand rows or so, or with a page index.',
    )
  }
  const parts = hasIndex ? Math.max(1, Math.ceil(bytes / windowBytes)) : 1
  const size = Math.max(256, Math.ceil((end - first) / parts))
  const ranges: RowRange[] = []
  for (let rowStart = first; rowStart < end; rowStart += size) {
    ranges.push({ rowStart, rowEnd: Math.min(rowStart + size, end) })
  }
  return ranges
}

/**
 * Upper bound of the bytes of a row group: sizes in the file may be wrong, and would make many windows, each of which
 * decodes the same pages.
 */
const largestGroupBytes = ({ columns }: RowGroup): number =>
  columns.reduce(
    (sum, { meta_data }) => sum + maxOutputBytes('ZSTD', Number(meta_data?.total_compressed_size ?? 0)),
    0,
  )

interface Table {
  readonly scan: ParquetScan
  readonly guarded: GuardedTable
  readonly decimals: ReadonlyMap<string, number>
  readonly notes: Notes
}

interface DecodedColumn {
  readonly name: string
  readonly values: ArrayLike<unknown>
  readonly plain: (value: unknown) => unknown
  readonly isStruct: boolean
}

async function* readWindow(table: Table, range: RowRange): AsyncGenerator<readonly ReadItem[]> {
  const columns = await decodeColumns(table, range)
  for (let start = range.rowStart; start < range.rowEnd; start += batchRows) {
    const length = Math.min(batchRows, range.rowEnd - start)
    yield Array.from({ length }, (_, index): ReadItem => {
      const place = { number: start + index + 1, line: null }
      if (typeof columns === 'string') return { ...place, sentence: columns }
      return { ...place, row: rowAt(columns, start + index - range.rowStart, table.notes) }
    })
  }
}

/**
 * Decodes one column after another, in the order of the file; or returns the sentence about what is wrong with them.
 */
async function decodeColumns(table: Table, range: RowRange): Promise<DecodedColumn[] | string> {
  const { scan, decimals } = table
  const columns: DecodedColumn[] = []
  table.guarded.startWindow()
  try {
    for (const { element } of parquetSchema(scan.metadata).children) {
      const { name } = element
      const scale = decimals.get(name)
      const values = await scan.readColumn({ column: name, ...range })
      if (values.length !== range.rowEnd - range.rowStart) return `its column “${shorten(name)}” ends early`
      columns.push({
        name,
        values,
        plain: plainer(element.type, scale),
        isStruct: (element.num_children ?? 0) > 0,
      })
    }
    return columns
  } catch (error) {
    if (error instanceof AppError) throw error
    return `its part of the file cannot be decoded: ${reasonOf(error)}`
  }
}

function rowAt(columns: readonly DecodedColumn[], index: number, notes: Notes): DataRow {
  const row = Object.create(null) as Record<string, unknown>
  for (const { name, values, plain, isStruct } of columns) {
    const value = values[index]
    if (value instanceof Uint8Array && plain === plainValue && !isUtf8(value)) notes.bytes(name)
    row[name] = isStruct ? withoutStructNulls(plain(value), () => notes.nulls(name)) : plain(value)
  }
  return row
}

function plainer(type: string | undefined, scale: number | undefined): DecodedColumn['plain'] {
  if (scale !== undefined) return (value) => plainDecimal(value, scale)
  return type === 'FLOAT' ? plainSingle : plainValue
}

/** A number of 32 bits with as few digits as tell it from its neighbours: 0.1, not 0.10000000149011612. */
function plainSingle(value: unknown): unknown {
  if (typeof value !== 'number' || !Number.isFinite(value)) return plainValue(value)
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return short
  }
  return value
}

const reasonOf = (error: unknown): string =>
  shorten(
    error instanceof Error ? error.message.replace(/^parquet:? /, '').replace(/\.$/, '') : String(error),
  )

const instant = (count: bigint, perSecond: bigint): string => {
  const rest = ((count % perSecond) + perSecond) % perSecond
  const fraction = rest === 0n ? '' : `.${String(rest).padStart(String(perSecond).length - 1, '0')}`
  const date = new Date(Number((count - rest) / perSecond) * 1000)
  // Years a date cannot show stay the number they are.
  return Number.isNaN(date.getTime()) ? String(count) : `${date.toISOString().slice(0, -5)}${fraction}Z`
}

/** Dates and times as ISO 8601 text, to the last digit. */
const parsers = {
  timestampFromMilliseconds: (count: bigint | null) => textOf(count, (value) => instant(value, 1_000n)),
  timestampFromMicroseconds: (count: bigint | null) => textOf(count, (value) => instant(value, 1_000_000n)),
  timestampFromNanoseconds: (count: bigint | null) =>
    textOf(count, (value) => instant(value, 1_000_000_000n)),
  dateFromDays: (days: number | null) =>
    textOf(days, (value) => instant(BigInt(value) * 86_400n, 1n).replace(/T.*/, '')),
}

const textOf = <T>(value: T | null | undefined, write: (value: T) => string): string | null =>
  value === null || value === undefined ? null : write(value)

/**
 * Scales of the file's decimal columns, which are read as whole numbers from now on: the library would multiply by a
 * power of ten, which makes 0.5700000000000001 of 0.57.
 */
function takeDecimals(metadata: FileMetaData): ReadonlyMap<string, number> {
  const scales = new Map<string, number>()
  for (let at = 1; at < metadata.schema.length; at += 1 + descendants(metadata, at)) {
    const element = metadata.schema[at]
    if (element?.converted_type !== 'DECIMAL') continue
    scales.set(element.name, element.scale ?? 0)
    delete element.converted_type
    delete element.logical_type
  }
  return scales
}

/** Elements below one: the schema is a tree written in preorder. */
function descendants({ schema }: FileMetaData, at: number): number {
  let next = at + 1
  for (let left = schema[at]?.num_children ?? 0; left > 0 && next < schema.length; left--) {
    next += 1 + descendants({ schema } as FileMetaData, next)
  }
  return next - at - 1
}

/** Numbers stay numbers where JSON readers get them back exactly; others become text. NaN and infinities are null. */
function plainValue(value: unknown): unknown {
  if (value === undefined || value === null) return null
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value === 'bigint') return plainInteger(value)
  return typeof value === 'object' ? plainObject(value) : value
}

function plainObject(value: object): unknown {
  if (value instanceof Uint8Array) return bytesAsText(value)
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map(plainValue)
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as Iterable<unknown>, plainValue)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plainValue(inner)]))
}

const plainInteger = (value: bigint): number | string =>
  Number.isSafeInteger(Number(value)) ? Number(value) : String(value)

/** Text, which some writers do not mark as such; other bytes in base64. */
const bytesAsText = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(isUtf8(bytes) ? 'utf8' : 'base64')

function plainDecimal(value: unknown, scale: number): number | string | null {
  if (value === null || value === undefined) return null
  const units = value instanceof Uint8Array ? signedInteger(value) : BigInt(value as number | bigint)
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  const fraction = scale === 0 ? '' : `.${digits.slice(digits.length - scale)}`
  const text = `${units < 0n ? '-' : ''}${digits.slice(0, digits.length - scale)}${fraction}`
  return digits.length <= 15 ? Number(text) : text
}

/** Big-endian two's complement. */
const signedInteger = (bytes: Uint8Array): bigint =>
  bytes.length === 0 ? 0n : BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`))
