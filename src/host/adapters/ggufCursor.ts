import { readSync } from 'node:fs'

/** Thrown with a reason; `openGguf` adds the file's name. */
export class GgufFormatError extends Error {}

const windowBytes = 1 << 16

/** Reads a file from front to back through a small window. */
export class FileCursor {
  readonly size: number
  #position = 0
  #window = Buffer.alloc(0)
  #windowStart = 0
  readonly #handle: number

  constructor(handle: number, size: number) {
    this.#handle = handle
    this.size = size
  }

  get position(): number {
    return this.#position
  }

  get rest(): number {
    return this.size - this.#position
  }

  /** The next bytes, valid until the next call. */
  take(count: number): Buffer {
    if (count > this.rest) throw new GgufFormatError(`it is cut off at byte ${this.size}`)
    const start = this.#position - this.#windowStart
    if (start + count > this.#window.length) this.#fill(Math.max(count, windowBytes))
    const from = this.#position - this.#windowStart
    this.#position += count
    return this.#window.subarray(from, from + count)
  }

  #fill(wanted: number): void {
    const bytes = Buffer.alloc(Math.min(wanted, this.rest))
    for (let done = 0; done < bytes.length;) {
      const read = readSync(this.#handle, bytes, done, bytes.length - done, this.#position + done)
      if (read === 0) throw new GgufFormatError('it became shorter while it was read')
      done += read
    }
    this.#window = bytes
    this.#windowStart = this.#position
  }

  u32(): number {
    return this.take(4).readUInt32LE(0)
  }

  /** A count or a place, which a number must hold exactly. */
  u64(what: string): number {
    const value = this.take(8).readBigUInt64LE(0)
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new GgufFormatError(`${what} is ${value}, too large`)
    return Number(value)
  }

  /** A count of things that take at least `least` bytes each. */
  count(what: string, least: number): number {
    const count = this.u64(`the number of ${what}`)
    if (count > this.rest / least) {
      throw new GgufFormatError(`it claims ${count} ${what}, for which ${this.rest} bytes are too few`)
    }
    return count
  }

  text(what: string, maxBytes: number): string {
    const length = this.u64(`the length of ${what}`)
    if (length > maxBytes) throw new GgufFormatError(`${what} is ${length} bytes long, more than ${maxBytes}`)
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(this.take(length))
    } catch (error) {
      if (error instanceof GgufFormatError) throw error
      throw new GgufFormatError(`${what} is not valid UTF-8`)
    }
  }
}
