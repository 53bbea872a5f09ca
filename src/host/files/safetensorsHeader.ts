/** The header of a safetensors file: names, types, shapes and places, every one checked before anything is allocated. */
import { shorten } from '#shared/plural.ts'
import { isJsonObject, JsonSyntaxError, type JsonObject, parseStrictJson } from './strictJson.ts'

/** Bits per element, in the order of the reference implementation's enumeration, which its writer sorts by. */
const dtypeBits: ReadonlyMap<string, number> = new Map([
  ['BOOL', 8],
  ['F4', 4],
  ['F6_E2M3', 6],
  ['F6_E3M2', 6],
  ['U8', 8],
  ['I8', 8],
  ['F8_E5M2', 8],
  ['F8_E4M3', 8],
  ['F8_E8M0', 8],
  ['F8_E4M3FNUZ', 8],
  ['F8_E5M2FNUZ', 8],
  ['I16', 16],
  ['U16', 16],
  ['F16', 16],
  ['BF16', 16],
  ['I32', 32],
  ['U32', 32],
  ['F32', 32],
  ['C64', 64],
  ['F64', 64],
  ['I64', 64],
  ['U64', 64],
])
const dtypeOrder = [...dtypeBits.keys()]

export const maxHeaderLength = 100_000_000
const maxTensors = 100_000
const maxNameLength = 1_024
const maxRank = 32
const metadataKey = '__metadata__'

/** Error of the parser with a reason; the reader adds the file's name. */
export class SafetensorsFormatError extends Error {}

/** `begin` and `end` in bytes from the start of the data, which follows the header. */
export interface HeaderEntry {
  readonly name: string
  readonly dtype: string
  readonly shape: readonly number[]
  readonly begin: number
  readonly end: number
}

export interface SafetensorsHeader {
  /** Entries in the order of the data. */
  readonly entries: readonly HeaderEntry[]
  readonly metadata: ReadonlyMap<string, string>
}

/**
 * Reads the header's JSON for a file whose data is `dataLength` bytes long. Strict: no duplicate keys, no holes, no
 * overlap, nothing after the last tensor. Errors: SafetensorsFormatError.
 */
export function parseSafetensorsHeader(bytes: Uint8Array, dataLength: number): SafetensorsHeader {
  const document = parseDocument(bytes)
  const names = Object.keys(document).filter((name) => name !== metadataKey)
  if (names.length > maxTensors) {
    throw new SafetensorsFormatError(`it names ${names.length} tensors; at most ${maxTensors} are read`)
  }
  const entries = names.map((name) => readEntry(name, document[name]))
  // Empty tensors share their place with the next one and must come before it.
  entries.sort((a, b) => a.begin - b.begin || a.end - b.end)
  let position = 0
  for (const { name, begin, end } of entries) {
    if (begin !== position) {
      const problem = begin > position ? 'a hole before' : 'an overlap at'
      throw new SafetensorsFormatError(`its data has ${problem} tensor “${shorten(name)}”`)
    }
    position = end
  }
  if (position !== dataLength) {
    const problem = position > dataLength ? 'is cut off' : 'has bytes that belong to no tensor'
    throw new SafetensorsFormatError(
      `it ${problem}: the header describes ${position} bytes, but there are ${dataLength}`,
    )
  }
  return { entries, metadata: readMetadata(document[metadataKey]) }
}

function parseDocument(bytes: Uint8Array): JsonObject {
  let document: unknown
  try {
    document = parseStrictJson(bytes)
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new SafetensorsFormatError(`in its header, ${error.message}`)
    throw error
  }
  if (!isJsonObject(document)) throw new SafetensorsFormatError('its header is not a JSON object')
  return document
}

function readEntry(name: string, value: unknown): HeaderEntry {
  const label = `tensor “${shorten(name)}”`
  if (name.length > maxNameLength) {
    throw new SafetensorsFormatError(`the name of ${label} is longer than ${maxNameLength} characters`)
  }
  if (!isJsonObject(value)) throw new SafetensorsFormatError(`the entry of ${label} is not an object`)
  const dtype = readDtype(value.dtype, label)
  const shape = readShape(value.shape, label)
  const [begin, end] = readOffsets(value.data_offsets, label)
  if (BigInt(end - begin) * 8n !== bitCount(dtype, shape)) {
    throw new SafetensorsFormatError(
      `${label} claims bytes ${begin} to ${end}, which is not what ${dtype} [${shape.join(', ')}] needs`,
    )
  }
  return { name, dtype, shape, begin, end }
}

function readShape(shape: unknown, label: string): readonly number[] {
  if (isCountList(shape) && shape.length <= maxRank) return shape
  throw new SafetensorsFormatError(`the shape of ${label} is not a list of at most ${maxRank} whole numbers`)
}

function readOffsets(offsets: unknown, label: string): readonly [begin: number, end: number] {
  if (isCountList(offsets) && offsets.length === 2) {
    const [begin = 0, end = 0] = offsets
    if (begin <= end) return [begin, end]
  }
  throw new SafetensorsFormatError(`the data_offsets of ${label} are not two whole numbers in order`)
}

function readDtype(dtype: unknown, label: string): string {
  if (typeof dtype === 'string' && dtypeBits.has(dtype)) return dtype
  const found = typeof dtype === 'string' ? `the unknown type “${shorten(dtype)}”` : 'no type'
  throw new SafetensorsFormatError(`${label} has ${found}`)
}

/** Size in bits; a BigInt, since a product of sizes can exceed what a number holds exactly. */
const bitCount = (dtype: string, shape: readonly number[]): bigint =>
  shape.reduce((product, size) => product * BigInt(size), BigInt(dtypeBits.get(dtype) ?? 0))

const isCountList = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && (item as number) >= 0)

function readMetadata(value: unknown): ReadonlyMap<string, string> {
  if (value === undefined) return new Map()
  if (!isJsonObject(value)) throw new SafetensorsFormatError('its metadata is not an object')
  return new Map(
    Object.entries(value).map(([key, text]) => {
      if (typeof text !== 'string') {
        throw new SafetensorsFormatError(`its metadata “${shorten(key)}” is not text`)
      }
      return [key, text] as const
    }),
  )
}

/** The reference writer's order: widest type first (which keeps every tensor aligned), then name by UTF-8 bytes. */
export function compareForWriting(a: NameAndDtype, b: NameAndDtype): number {
  return (
    dtypeOrder.indexOf(b.dtype) - dtypeOrder.indexOf(a.dtype) ||
    Buffer.compare(Buffer.from(a.name), Buffer.from(b.name))
  )
}

interface NameAndDtype {
  readonly name: string
  readonly dtype: string
}

export interface HeaderTensor extends NameAndDtype {
  readonly shape: readonly number[]
  readonly byteLength: number
}

/**
 * The first bytes of a file: length and JSON, padded with spaces to a multiple of eight. `tensors` must already be in
 * the order of their data.
 */
export function encodeSafetensorsHeader(
  tensors: readonly HeaderTensor[],
  metadata: Readonly<Record<string, string>>,
): Uint8Array {
  const parts: string[] = []
  if (Object.keys(metadata).length > 0) parts.push(`"${metadataKey}":${JSON.stringify(metadata)}`)
  let position = 0
  for (const { name, dtype, shape, byteLength } of tensors) {
    const entry = { dtype, shape, data_offsets: [position, position + byteLength] }
    parts.push(`${JSON.stringify(name)}:${JSON.stringify(entry)}`)
    position += byteLength
  }
  const json = Buffer.from(`{${parts.join(',')}}`, 'utf8')
  const length = Math.ceil(json.length / 8) * 8
  const header = Buffer.alloc(8 + length, 0x20)
  header.writeBigUInt64LE(BigInt(length), 0)
  json.copy(header, 8)
  return header
}
