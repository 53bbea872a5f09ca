/**
 * Reads a file that a person hands over as data, in pieces. Reading guide of this folder: `jsonLines`, `jsonList`,
 * `table` and `parquet` turn a file's bytes into rows (`parquetGuard` checks what Parquet files say
 * of themselves); `mapping` and `shapes` say what the columns mean; `importDataSet` writes rows and their problems as a version that never changes, `dataSetVersion`
 * reads it; `split`, `overlap` and `preview` answer questions about rows; `readDataSet` is what a training run calls.
 */
import { open, type FileHandle } from 'node:fs/promises'
import { AppError } from '#shared/errors.ts'
import { readError } from '#host/files/fileErrors.ts'
import { regularFileSize, type JsonObject } from '#host/files/strictJson.ts'

export type DataRow = JsonObject

/** A row of a file and where it stood. */
export interface ReadRow {
  readonly row: DataRow
  /** Number of the row in the file, from 1; rows with problems count too. */
  readonly number: number
  /** Line on which the row begins in a text file, from 1; null where the format has no lines. */
  readonly line: number | null
  /** JSON of the row in UTF-8 if the file has it on one line: it need not be written again. */
  readonly source?: Buffer
}

/** A row that could not be read: it is left out and listed. */
export interface RowProblem {
  readonly number: number
  readonly line: number | null
  /** Describes the problem, without the place. */
  readonly sentence: string
}

export type ReadItem = ReadRow | RowProblem

export const isProblem = (item: ReadItem): item is RowProblem => 'sentence' in item

/** `row 3 (line 5): it is not a JSON object`. */
export const problemText = ({ number, line, sentence }: RowProblem): string =>
  line === null ? `row ${number}: ${sentence}` : `row ${number} (line ${line}): ${sentence}`

export interface ReadOptions {
  /** Hears in sentences what a file was taken for: its encoding, the list of several that was read. */
  readonly onNote?: (sentence: string) => void
  /** The list to read of a JSON document that holds several. */
  readonly split?: string
  readonly onProgress?: (readBytes: number, totalBytes: number) => void
  /** Ends reading with AppError 'api/cancelled'. */
  readonly signal?: AbortSignal
}

/** Errors of its methods: AppError 'file/unreadable'. */
export interface DataFile extends AsyncDisposable {
  readonly path: string
  readonly sizeBytes: number
  /** The list to read of a JSON document that holds several; null: not said. */
  readonly split: string | null
  readonly note: (sentence: string) => void
  /** The whole file in order, in pieces of at most a mebibyte. */
  pieces(): AsyncGenerator<Buffer>
  /** Bytes [start, end). */
  read(start: number, end: number): Promise<Buffer>
}

const pieceBytes = 1 << 20

/** Errors: AppError 'file/unreadable'. */
export async function openDataFile(path: string, options: ReadOptions = {}): Promise<DataFile> {
  const sizeBytes = regularFileSize(path)
  let handle: FileHandle
  try {
    handle = await open(path, 'r')
  } catch (error) {
    throw readError(path, error)
  }
  const read = async (start: number, end: number) => {
    if (options.signal?.aborted === true)
      throw new AppError('api/cancelled', 'Reading the data was cancelled.')
    const bytes = await readRange(handle, { path, start, end })
    options.onProgress?.(Math.min(end, sizeBytes), sizeBytes)
    return bytes
  }
  return {
    path,
    sizeBytes,
    read,
    split: options.split ?? null,
    note: (sentence) => options.onNote?.(sentence),
    async *pieces() {
      for (let start = 0; start < sizeBytes; start += pieceBytes) {
        yield await read(start, Math.min(start + pieceBytes, sizeBytes))
      }
    },
    [Symbol.asyncDispose]: () => handle.close(),
  }
}

interface Range {
  readonly path: string
  readonly start: number
  readonly end: number
}

async function readRange(handle: FileHandle, { path, start, end }: Range): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(end - start)
  let length = 0
  try {
    while (length < bytes.length) {
      const { bytesRead } = await handle.read(bytes, length, bytes.length - length, start + length)
      if (bytesRead === 0) break
      length += bytesRead
    }
  } catch (error) {
    throw readError(path, error)
  }
  if (length < bytes.length) {
    throw new AppError('file/unreadable', `${path} could not be read: it was truncated while being read.`)
  }
  return bytes
}
