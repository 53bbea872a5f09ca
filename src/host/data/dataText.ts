/**
 * The bytes of a data file as UTF-8 text, whatever they are in: packed with gzip or zstd, in UTF-16, behind a byte order
 * mark.
 */
import { isAscii } from 'node:buffer'
import path from 'node:path'
import { Readable } from 'node:stream'
import { TextDecoder } from 'node:util'
import zlib from 'node:zlib'
import { AppError, invalidData } from '#shared/errors.ts'
import type { DataFile } from './dataFile.ts'
import { foreignContent } from './foreignFiles.ts'

const beginning = 4_096
/** A file that unpacks to more than this many times its size, and to more than a gibibyte, fills disks. */
const maxExpansion = 200
const freelyUnpacked = 1 << 30

const isParquet = (bytes: Buffer): boolean => bytes.subarray(0, 4).toString('latin1') === 'PAR1'
const hasParquetName = (file: string): boolean => path.extname(file).toLowerCase() === '.parquet'

/** Errors: AppError 'data/invalid' where the first bytes say that the file holds something else than its name does. */
export async function requireData(file: DataFile): Promise<void> {
  const bytes = await file.read(0, Math.min(file.sizeBytes, beginning))
  const found = foreignContent(file.path, bytes)
  if (found !== undefined) throw invalid(file, found.sentence, found.advice)
  if (isParquet(bytes) && !hasParquetName(file.path))
    throw invalid(file, 'is a Parquet file', 'Rename it, so that its name ends in .parquet.')
}

const invalid = (file: DataFile, sentence: string, advice: string): AppError =>
  invalidData(`${file.path} ${sentence}.`, advice)

/** The text of a file in UTF-8, in pieces, without a byte order mark. Errors: AppError 'data/invalid'. */
export async function* textPieces(file: DataFile): AsyncGenerator<Buffer> {
  const head = await file.read(0, Math.min(file.sizeBytes, beginning))
  yield* withoutMark(decoded(file, unpacked(file, head)))
}

type Pieces = AsyncIterable<Buffer>

function unpacked(file: DataFile, head: Buffer): Pieces {
  if (head[0] === 0x1f && head[1] === 0x8b) return through(file, zlib.createGunzip(), 'gzip')
  if (head.length < 4 || head.readUInt32LE(0) !== 0xfd2fb528) return file.pieces()
  // Node 20 has no zstd.
  if (typeof zlib.createZstdDecompress !== 'function')
    throw invalid(file, 'is packed with zstd, which needs Node 22.15 or newer', 'Unpack it with `zstd -d`.')
  return through(file, zlib.createZstdDecompress(), 'zstd')
}

async function* through(file: DataFile, codec: NodeJS.ReadWriteStream, name: string): AsyncGenerator<Buffer> {
  file.note(`Unpacked with ${name}.`)
  let bytes = 0
  try {
    for await (const piece of Readable.from(file.pieces()).pipe(codec)) {
      bytes += piece.length
      if (bytes > freelyUnpacked && bytes > maxExpansion * file.sizeBytes)
        throw invalid(
          file,
          `unpacks to more than ${maxExpansion} times its size`,
          'If that is intended, unpack it yourself.',
        )
      yield piece as Buffer
    }
  } catch (error) {
    if (error instanceof AppError) throw error
    throw invalid(file, `cannot be unpacked as ${name}`, 'It is damaged or incomplete: download it again.')
  }
}

type Utf16 = 'utf-16le' | 'utf-16be'

/** Recognises UTF-16 by its mark, or by zeros in every other byte, as mostly Latin text has them. */
function utf16Of(head: Buffer): Utf16 | null {
  const mark = head.subarray(0, 2).toString('hex')
  if (mark === 'fffe') return 'utf-16le'
  return mark === 'feff' ? 'utf-16be' : utf16ByZeros(head.subarray(0, 256))
}

function utf16ByZeros(head: Buffer): Utf16 | null {
  if (head.length < 8) return null
  const share = (parity: number) =>
    (2 * head.filter((byte, at) => at % 2 === parity && byte === 0).length) / head.length
  const [even, odd] = [share(0), share(1)]
  if (odd > 0.6 && even < 0.1) return 'utf-16le'
  return even > 0.6 && odd < 0.1 ? 'utf-16be' : null
}

async function* decoded(file: DataFile, pieces: Pieces): AsyncGenerator<Buffer> {
  let encoding: Encoding | 'ascii' | null = null
  let decoder: TextDecoder | null = null
  for await (const piece of wholeCharacters(pieces)) {
    if (encoding === null || encoding === 'ascii') {
      encoding = (encoding === null ? utf16Of(piece) : null) ?? encodingOf(piece)
      if (encoding !== 'ascii' && encoding !== 'utf-8') {
        file.note(readAs(encoding))
        decoder = new TextDecoder(encoding)
      }
    }
    yield decoder === null ? piece : Buffer.from(decoder.decode(piece, { stream: true }), 'utf8')
  }
  if (decoder) yield Buffer.from(decoder.decode(), 'utf8')
}

type Encoding = Utf16 | 'utf-8' | 'windows-1252'

const readAs = (encoding: Encoding): string =>
  encoding === 'windows-1252'
    ? 'Read as Windows-1252 (Latin-1) text: it is not UTF-8. If accented letters look wrong, save the file as UTF-8.'
    : `Read as ${encoding.toUpperCase()} text.`

/**
 * Returns what the bytes beyond ASCII are in. Western text in the encoding of Windows has an accented letter here and there
 * and none that UTF-8 could have written; a file that is UTF-8 elsewhere is damaged.
 */
function encodingOf(piece: Buffer): 'ascii' | 'utf-8' | 'windows-1252' {
  if (isAscii(piece)) return 'ascii'
  const high = piece.filter((byte) => byte >= 0x80).length
  const isWestern = 4 * high <= piece.length && !/[^\0-\x7f\ufffd]/.test(piece.toString('utf8'))
  return isWestern ? 'windows-1252' : 'utf-8'
}

/** Leaves a character that the end of a piece may cut to the next piece. */
async function* wholeCharacters(pieces: Pieces): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    const cut = bytes.subarray(-3).findIndex((byte) => byte >= 0xc0)
    const end = cut < 0 ? bytes.length : Math.max(0, bytes.length - 3) + cut
    rest = bytes.subarray(end)
    if (end > 0) yield bytes.subarray(0, end)
  }
  if (rest.length > 0) yield rest
}

/** Drops the byte order mark some programs put before UTF-8. */
async function* withoutMark(pieces: Pieces): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const piece of pieces) {
    const hasMark = isFirst && piece[0] === 0xef && piece[1] === 0xbb && piece[2] === 0xbf
    yield hasMark ? piece.subarray(3) : piece
    isFirst = false
  }
}

/** The same with line feeds where a file ends its lines with carriage returns alone, as old Macs did. */
export async function* linesWithFeeds(pieces: Pieces): AsyncGenerator<Buffer> {
  let isOld: boolean | undefined
  for await (const piece of pieces) {
    isOld ??= piece.includes(0x0d) && !piece.includes(0x0a)
    yield isOld ? Buffer.from(piece.map((byte) => (byte === 0x0d ? 0x0a : byte))) : piece
  }
}

/** Ends a sentence on a row whose bytes are not UTF-8, as those of the file are. */
export const notUtf8 = 'it is not UTF-8 text; save the file as UTF-8'

/** The first piece of the text that holds more than white space. */
export async function beginningOf(file: DataFile): Promise<string> {
  for await (const piece of textPieces(file)) {
    const text = piece.toString('latin1').trimStart()
    if (text !== '') return text
  }
  return ''
}
