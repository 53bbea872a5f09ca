import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { readError, systemCode } from './fileErrors.ts'

/** The last bytes of a text file, from the start of a whole character on; empty where there is none. Errors: AppError 'file/unreadable'. */
export function readTextTail(file: string, maxBytes: number): string {
  let handle: number
  try {
    handle = openSync(file, 'r')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return ''
    throw readError(file, error)
  }
  try {
    const { size } = fstatSync(handle)
    const bytes = Buffer.alloc(Math.min(size, maxBytes))
    const length = readSync(handle, bytes, 0, bytes.length, size - bytes.length)
    const isCut = size > bytes.length
    // A cut may fall into a character: bytes 10xxxxxx continue one.
    const start = isCut ? bytes.findIndex((byte) => (byte & 0xc0) !== 0x80) : 0
    return bytes.toString('utf8', Math.max(0, start), length)
  } finally {
    closeSync(handle)
  }
}
