/**
 * The log of an offline run of Weights & Biases: records in blocks as LevelDB writes them, behind a head of its own and with the plain
 * CRC-32. Format: `core/pkg/leveldb/record.go` in wandb's repository.
 */
import { closeSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { appendWhole, openOwnFile } from '#host/files/ownFiles.ts'

/** Opens a file that does not exist yet. Errors: AppError 'file/unwritable'. */
export function openWandbLog(file: string): Disposable & { append: (record: Uint8Array) => void } {
  const handle = openOwnFile(file)
  let size = 0
  const write = (bytes: Uint8Array) => {
    appendWhole(file, handle, bytes)
    size += bytes.length
  }
  // 0xBEE1, version 0
  write(Buffer.from(':W&B\xe1\xbe\0', 'latin1'))
  return {
    append: (record) => write(chunksOf(record, size)),
    [Symbol.dispose]: () => closeSync(handle),
  }
}

const blockBytes = 32_768
const headBytes = 7

/** The bytes of a record at a position of the file: one chunk in each block that it reaches into. */
function chunksOf(record: Uint8Array, position: number): Uint8Array {
  const parts: Uint8Array[] = []
  let room = blockBytes - (position % blockBytes)
  if (room < headBytes) {
    parts.push(new Uint8Array(room))
    room = blockBytes
  }
  for (let done = 0, isFirst = true; isFirst || done < record.length; isFirst = false, room = blockBytes) {
    const data = record.subarray(done, done + room - headBytes)
    done += data.length
    parts.push(...chunk(data, kinds[done < record.length ? 'goesOn' : 'ends'][isFirst ? 'first' : 'later']))
  }
  return Buffer.concat(parts)
}

const kinds = { ends: { first: 1, later: 4 }, goesOn: { first: 2, later: 3 } }

/** Checksum of kind and data, length of the data, kind, data. */
function chunk(data: Uint8Array, kind: number): Uint8Array[] {
  const head = Buffer.alloc(headBytes, kind)
  head.writeUInt32LE(crc32(data, crc32(head.subarray(headBytes - 1))))
  head.writeUInt16LE(data.length, 4)
  return [head, data]
}
