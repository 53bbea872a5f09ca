/** Parquet files put together by hand, which can say of themselves what no writer would. */
import { ByteWriter } from 'hyparquet-writer'
import { serializeTCompactProtocol } from 'hyparquet-writer/src/thrift.js'

type Structure = Parameters<typeof serializeTCompactProtocol>[1]

export const physical = { int32: 1, int64: 2, byteArray: 6 }
export const codec = { none: 0, gzip: 2, brotli: 4, zstd: 6 }
export const encoding = { plain: 0, dictionary: 8, delta: 5, deltaTexts: 7 }

export function thrift(structure: Structure): Buffer {
  const writer = new ByteWriter()
  serializeTCompactProtocol(writer, structure)
  return Buffer.from(writer.getBytes())
}

/** Seven bits a byte, the lowest first. */
export function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))]
}

/** Signs in the lowest bit. */
export const zigZag = (value: number): number[] => varint(value < 0 ? -2 * value - 1 : 2 * value)

export interface Column {
  readonly type: number
  readonly codec?: number
  /** As many as are claimed, everywhere. */
  readonly rows: number
  /** A page of the second kind where its header has field 8. */
  readonly pages: readonly { readonly header: Structure; readonly content: Uint8Array }[]
}

export const dataPage = (
  content: Uint8Array,
  values: number,
  kind: number,
  uncompressed = content.length,
) => ({
  header: {
    field_1: 0,
    field_2: uncompressed,
    field_3: content.length,
    field_5: { field_1: values, field_2: kind, field_3: 3, field_4: 3 },
  },
  content,
})

/** Without levels. */
export const secondPage = (content: Uint8Array, values: number, kind: number) => ({
  header: {
    field_1: 3,
    field_2: content.length,
    field_3: content.length,
    field_8: { field_1: values, field_2: 0, field_3: values, field_4: kind, field_5: 0, field_6: 0 },
  },
  content,
})

/** One required column, x. */
export function parquetFile({ type, codec: compression = 0, rows, pages }: Column): Buffer {
  const body = Buffer.concat([
    Buffer.from('PAR1'),
    ...pages.flatMap((page) => [thrift(page.header), page.content]),
  ])
  return withFooter(body, footerOf({ type, compression, rows: BigInt(rows), bytes: BigInt(body.length - 4) }))
}

interface Described {
  readonly type: number
  readonly compression: number
  readonly rows: bigint
  readonly bytes: bigint
}

const footerOf = ({ type, compression, rows, bytes }: Described): Structure => ({
  field_1: 1,
  field_2: [
    { field_4: 'root', field_5: 1 },
    { field_1: type, field_3: 0, field_4: 'x' },
  ],
  field_3: rows,
  field_4: [{ field_1: [chunkOf({ type, compression, rows, bytes })], field_2: bytes, field_3: rows }],
})

export const chunkOf = ({ type, compression, rows, bytes }: Described, name = 'x'): Structure => ({
  field_2: 0n,
  field_3: {
    field_1: type,
    field_2: [0],
    field_3: [name],
    field_4: compression,
    field_5: rows,
    field_6: bytes,
    field_7: bytes,
    field_9: 4n,
  },
})

export function withFooter(body: Uint8Array, footer: Structure | Uint8Array): Buffer {
  const bytes = footer instanceof Uint8Array ? footer : thrift(footer)
  const length = Buffer.alloc(4)
  length.writeUInt32LE(bytes.length)
  return Buffer.concat([body, bytes, length, Buffer.from('PAR1')])
}
