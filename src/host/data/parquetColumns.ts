/** Checks the column offsets and types in a Parquet footer against the file itself. */
import {
  parquetSchema,
  type ColumnMetaData,
  type FileMetaData,
  type ParquetType,
  type SchemaTree,
} from 'hyparquet'

/** A column's part of a row group: bytes [start, end) of the file. */
export interface ColumnChunk {
  /** Path of the column, with dots between the levels: `messages.list.element.role`. */
  readonly name: string
  readonly codec: string
  readonly type: ParquetType
  /** Bytes of each value of FIXED_LEN_BYTE_ARRAY; otherwise 0. */
  readonly typeBytes: number
  /** Lists that a value of the column lies in. */
  readonly maxRepetition: number
  /** Levels at which a value may be missing. */
  readonly maxDefinition: number
  /** One value per row. */
  readonly isFlat: boolean
  readonly start: number
  readonly end: number
  readonly groupRows: number
  /** Most values that a page may have. */
  readonly maxValues: number
  /** Byte range of the page index. */
  readonly index: { readonly start: number; readonly end: number } | null
}

/** A column's part, and where the footer describes it. */
export interface PlacedChunk {
  readonly chunk: ColumnChunk
  readonly meta: ColumnMetaData
}

/**
 * Rows allowed without regard to size: runs of equal values take hardly any bytes, so bytes do not bound the rows; but
 * nobody learns from such a file.
 */
const freeRows = 2 ** 20
const maxRowsPerByte = 128
const maxColumns = 4_096
const maxLevels = 32

type RowGroup = FileMetaData['row_groups'][number]
type Chunk = RowGroup['columns'][number]

/**
 * Lists the columns of every row group in the order of the file. The library relies on everything that is checked here.
 * Errors: the problem, as a clause.
 */
export function columnChunks(metadata: FileMetaData, sizeBytes: number): PlacedChunk[] {
  const leaves = leavesOf(metadata)
  const maxRows = freeRows + maxRowsPerByte * sizeBytes
  let rows = 0
  const places = metadata.row_groups.flatMap((group) => {
    if (!isCount(group.num_rows) || !isCount(group.total_byte_size)) throw new Error(badParts)
    rows += Number(group.num_rows)
    if (rows > maxRows) throw new Error(`it claims ${rows} rows`)
    return groupChunks(group, leaves, maxRows)
  })
  places.sort(({ chunk: left }, { chunk: right }) => left.start - right.start || left.end - right.end)
  requireSeparate(
    places.map(({ chunk }) => chunk),
    sizeBytes,
  )
  return places
}

const badParts = 'its contents do not match its schema'

const isCount = (value: unknown): boolean => typeof value === 'bigint' && value >= 0n

interface Leaf {
  readonly name: string
  readonly tree: SchemaTree
  readonly maxRepetition: number
  readonly maxDefinition: number
  readonly isFlat: boolean
}

function leavesOf(metadata: FileMetaData): ReadonlyMap<string, Leaf> {
  requireShallow(metadata.schema)
  const leaves = new Map<string, Leaf>()
  const visit = (tree: SchemaTree, maxRepetition: number, maxDefinition: number): void => {
    for (const child of tree.children) {
      const kind = child.element.repetition_type
      const repetition = maxRepetition + (kind === 'REPEATED' ? 1 : 0)
      const definition = maxDefinition + (kind === 'REQUIRED' ? 0 : 1)
      if (child.children.length > 0) visit(child, repetition, definition)
      else {
        const name = child.path.join('.')
        if (leaves.has(name)) throw new Error(`it has two columns called “${name}”`)
        const isFlat = child.path.length === 1 && repetition === 0
        leaves.set(name, { name, tree: child, maxRepetition: repetition, maxDefinition: definition, isFlat })
      }
    }
  }
  visit(parquetSchema(metadata), 0, 0)
  if (leaves.size > maxColumns)
    throw new Error(`it has ${leaves.size} columns; up to ${maxColumns} can be read`)
  return leaves
}

/** The schema is a tree written in preorder, each element with the number of its children. */
function requireShallow(schema: FileMetaData['schema']): void {
  const open: number[] = [] // children still to come, of each level
  for (const { num_children } of schema) {
    open.push(num_children ?? 0)
    if (open.length > maxLevels) throw new Error('its columns are nested too deeply')
    while (open.at(-1) === 0) {
      open.pop()
      if (open.length > 0) open.push((open.pop() ?? 0) - 1)
    }
  }
}

function groupChunks(group: RowGroup, leaves: ReadonlyMap<string, Leaf>, maxValues: number): PlacedChunk[] {
  const seen = new Set<string>()
  dropPartialIndex(group)
  const places = group.columns.map((column): PlacedChunk => {
    const { meta_data: meta } = column
    const leaf = leaves.get(meta?.path_in_schema.join('.') ?? '')
    if (!meta || !leaf || seen.has(leaf.name)) throw new Error(badParts)
    seen.add(leaf.name)
    const groupRows = Number(group.num_rows)
    return {
      meta,
      chunk: { ...chunkOf(column, meta, leaf), groupRows, maxValues: leaf.isFlat ? groupRows : maxValues },
    }
  })
  if (seen.size !== leaves.size) throw new Error(badParts)
  return places
}

type Described = Omit<ColumnChunk, 'groupRows' | 'maxValues'>

function chunkOf(column: Chunk, meta: ColumnMetaData, { tree, ...leaf }: Leaf): Described {
  if (meta.type !== tree.element.type) throw new Error(badParts)
  return {
    ...leaf,
    codec: meta.codec,
    type: meta.type,
    typeBytes: meta.type === 'FIXED_LEN_BYTE_ARRAY' ? typeBytes(leaf.name, tree) : 0,
    ...rangeOf(column),
    index: indexOf(column),
  }
}

/** A group whose columns are not all indexed is read as one without an index. */
function dropPartialIndex({ columns }: RowGroup): void {
  if (columns.every((column) => indexOf(column) !== null)) return
  for (const column of columns) delete column.offset_index_offset
}

function typeBytes(name: string, { element }: SchemaTree): number {
  const length = element.type_length ?? 0
  if (!(length > 0)) throw new Error(`its column “${name}” has values of length 0`)
  return length
}

interface Range {
  readonly start: number
  readonly end: number
}

/** Returns the byte range of a column chunk, computed as the library does. */
function rangeOf({ meta_data: meta }: Chunk): Range {
  const offset = meta?.dictionary_page_offset || meta?.data_page_offset
  const length = meta?.total_compressed_size
  if (!isCount(offset) || !isCount(length)) throw new Error(badParts)
  return { start: Number(offset), end: Number(offset) + Number(length) }
}

function indexOf({ offset_index_offset: offset, offset_index_length: length }: Chunk): Range | null {
  if (!offset || !length || !isCount(offset) || !(length > 0)) return null
  return { start: Number(offset), end: Number(offset) + length }
}

/** A few bytes that many columns share could be read over and over; indexes must not pass for columns. */
function requireSeparate(chunks: readonly ColumnChunk[], sizeBytes: number): void {
  const indexes = chunks.flatMap(({ index }) => index ?? [])
  const ranges: Range[] = [...chunks, ...indexes].sort((left, right) => left.start - right.start)
  let taken = 0
  for (const { start, end } of ranges) {
    if (end > sizeBytes) throw new Error('it points outside the file')
    if (start < taken && end > start) throw new Error('its columns overlap')
    taken = Math.max(taken, end)
  }
}
