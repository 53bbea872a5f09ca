/**
 * The part of Thrift's compact protocol that Parquet uses. The Parquet library trusts every length in such a structure,
 * so structures are walked here first and each length is checked against the remaining bytes.
 */

/** Reads a binary structure from front to back; what would lie behind its end is an error with a plain sentence. */
export class ByteReader {
  readonly bytes: Uint8Array
  /** Offset of the next byte to read. */
  at: number

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  get left(): number {
    return this.bytes.length - this.at
  }

  byte(): number {
    const byte = this.bytes[this.at]
    if (byte === undefined) throw cutShort()
    this.at++
    return byte
  }

  skip(length: number): void {
    if (!(length >= 0 && length <= this.left)) throw cutShort()
    this.at += length
  }

  /** A length in four bytes, the lowest first. */
  uint32(): number {
    return this.byte() + this.byte() * 2 ** 8 + this.byte() * 2 ** 16 + this.byte() * 2 ** 24
  }

  /** Reads seven bits a byte, the lowest first; bits above 32 are lost. */
  varint32(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte()
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw new Error('it has an unterminated number')
  }

  varint64(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw new Error('it has an unterminated number')
  }

  /** Signs are in the lowest bit. */
  zigZag32(): number {
    const value = this.varint32()
    return (value >>> 1) ^ -(value & 1)
  }

  zigZag64(): bigint {
    const value = this.varint64()
    return (value >> 1n) ^ -(value & 1n)
  }
}

const cutShort = (): Error => new Error('it ends early')

const maxDepth = 32

const types = {
  stop: 0,
  yes: 1,
  no: 2,
  byte: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  struct: 12,
}

/**
 * Callbacks of a walk. A path is made of field numbers, two digits each: 501 is field 1 of the structure in field 5.
 * Elements of a list have the list's path.
 */
export interface StructVisitor {
  /** Numbers of up to 32 bits; booleans as 0 and 1. */
  readonly onInteger?: (path: number, value: number) => void
  readonly onLong?: (path: number, value: bigint) => void
  readonly onList?: (path: number, size: number) => void
}

/** Walks the structure at `start` and returns its end. Errors: the problem, as a clause. */
export function walkStruct(bytes: Uint8Array, start: number, visitor: StructVisitor = {}): number {
  const walker = new StructWalker(new ByteReader(bytes, start), visitor)
  return walker.struct(0, 0)
}

class StructWalker {
  readonly #reader: ByteReader
  readonly #visitor: StructVisitor

  constructor(reader: ByteReader, visitor: StructVisitor) {
    this.#reader = reader
    this.#visitor = visitor
  }

  struct(path: number, depth: number): number {
    if (depth > maxDepth) throw new Error('its metadata is nested too deeply')
    let field = 0
    for (;;) {
      const head = this.#reader.byte()
      const type = head & 15
      if (type === types.stop) return this.#reader.at
      const id = head >> 4 === 0 ? this.#reader.zigZag32() : field + (head >> 4)
      if (id <= field) throw new Error('its metadata has a field twice')
      field = id
      const fieldPath = id < 100 ? path * 100 + id : Number.NaN // three digits could pass for another path
      if (type === types.yes || type === types.no) this.#visitor.onInteger?.(fieldPath, 2 - type)
      else this.#value(type, fieldPath, depth)
    }
  }

  #value(type: number, path: number, depth: number): void {
    if (type === types.struct) this.struct(path, depth + 1)
    else if (type === types.list) this.#list(path, depth)
    else if (type === types.binary) this.#reader.skip(this.#reader.varint32())
    else if (type === types.double) this.#reader.skip(8)
    else this.#number(type, path)
  }

  #list(path: number, depth: number): void {
    if (depth >= maxDepth) throw new Error('its metadata is nested too deeply')
    const head = this.#reader.byte()
    const type = head & 15
    const size = head >> 4 === 15 ? this.#reader.varint32() : head >> 4
    // No element is smaller than a byte.
    if (size < 0 || size > this.#reader.left) throw new Error('its metadata has a list longer than the file')
    this.#visitor.onList?.(path, size)
    const isTruth = type === types.yes || type === types.no
    if (isTruth) this.#reader.skip(size)
    else for (let index = 0; index < size; index++) this.#value(type, path, depth + 1)
  }

  #number(type: number, path: number): void {
    if (type === types.i64) {
      const value = this.#reader.zigZag64()
      this.#visitor.onLong?.(path, value)
    } else if (type === types.i16 || type === types.i32) {
      const value = this.#reader.zigZag32()
      this.#visitor.onInteger?.(path, value)
    } else if (type === types.byte) this.#reader.skip(1)
    else throw new Error('its metadata has a value of an unknown type')
  }
}
