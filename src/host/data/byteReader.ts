/** Reads a binary structure from front to back; what would lie behind its end is an error with a plain sentence. */
export class ByteReader {
  readonly bytes: Uint8Array
  /** Where the next byte is read. */
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

  /** Seven bits a byte, the lowest first; what is above 32 bits is lost. */
  varint32(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte()
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw new Error('it has a number that does not end')
  }

  varint64(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw new Error('it has a number that does not end')
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

const cutShort = (): Error => new Error('it is cut short')
