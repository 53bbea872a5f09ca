const utf8 = new TextEncoder()

/** Writes one message of a protocol buffer, field by field; nothing here reads. */
export class ProtobufWriter {
  #bytes = new Uint8Array(64)
  #length = 0

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + count))
    grown.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = grown
  }

  #varint(value: bigint): void {
    this.#reserve(10)
    let rest = BigInt.asUintN(64, value)
    while (rest >= 0x80n) {
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80
      rest >>= 7n
    }
    this.#bytes[this.#length++] = Number(rest)
  }

  #tag(field: number, wireType: number): void {
    this.#varint(BigInt(field * 8 + wireType))
  }

  /** int64, int32 or enum. */
  integer(field: number, value: number | bigint): this {
    this.#tag(field, 0)
    this.#varint(BigInt(value))
    return this
  }

  float(field: number, value: number): this {
    this.#tag(field, 5)
    this.#reserve(4)
    new DataView(this.#bytes.buffer).setFloat32(this.#length, value, true)
    this.#length += 4
    return this
  }

  double(field: number, value: number): this {
    this.#tag(field, 1)
    this.#reserve(8)
    new DataView(this.#bytes.buffer).setFloat64(this.#length, value, true)
    this.#length += 8
    return this
  }

  bytes(field: number, value: Uint8Array): this {
    this.#tag(field, 2)
    this.#varint(BigInt(value.length))
    this.#reserve(value.length)
    this.#bytes.set(value, this.#length)
    this.#length += value.length
    return this
  }

  string(field: number, value: string): this {
    return this.bytes(field, utf8.encode(value))
  }

  message(field: number, write: (inner: ProtobufWriter) => void): this {
    const inner = new ProtobufWriter()
    write(inner)
    return this.bytes(field, inner.finish())
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }
}
