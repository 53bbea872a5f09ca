/** Decompresses Parquet pages, never beyond the size that a page declares. */
import { brotliDecompressSync, gunzipSync, inflateRawSync, zstdDecompressSync } from 'node:zlib'
import { compressors } from 'hyparquet-compressors'

interface Codec {
  /** Most bytes that the format makes of one byte; `free` bytes may come out of next to nothing. */
  readonly maxRatio: number
  readonly free: number
  /** Must not make more than `length` bytes. */
  readonly decompress: (input: Uint8Array, length: number) => Uint8Array
}

type Decompress = Codec['decompress']

/** Node's own decompressors, stopped at the length. */
const bounded =
  (
    inflate: (input: Uint8Array, options: { maxOutputLength: number; chunkSize: number }) => Uint8Array,
  ): Decompress =>
  (input, length) => {
    try {
      // One chunk of the whole length saves joining many.
      return standingAlone(inflate(input, { maxOutputLength: length, chunkSize: Math.max(64, length) }))
    } catch (error) {
      if (error instanceof RangeError) throw new Error('a page is longer than it says', { cause: error })
      throw error
    }
  }

/** Copies bytes out of shared memory: small buffers share it with others, which a wrong length could make visible. */
const standingAlone = (bytes: Uint8Array): Uint8Array =>
  bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes)

const isGzip = (input: Uint8Array): boolean => input[0] === 0x1f && input[1] === 0x8b

const fromPackage = (name: 'SNAPPY' | 'LZ4' | 'LZ4_RAW'): Decompress => {
  const decompress = compressors[name]
  if (decompress === undefined) throw new Error(`hyparquet-compressors has no ${name}.`)
  return decompress
}

/** Long runs shrink without a bound in these; a page of a mebibyte, which is what writers make, may be a few bytes. */
const runs = { maxRatio: 1_032, free: 8 << 20 }

/** Ratios: snappy copies 64 bytes by 3, an lz4 length grows by 255 with each byte, deflate copies 258 bytes by 2 bits. */
const codecs: Readonly<Record<string, Codec>> = {
  UNCOMPRESSED: { maxRatio: 1, free: 0, decompress: (input) => input },
  SNAPPY: { maxRatio: 22, free: 64, decompress: fromPackage('SNAPPY') },
  LZ4: { maxRatio: 255, free: 64, decompress: fromPackage('LZ4') },
  LZ4_RAW: { maxRatio: 255, free: 64, decompress: fromPackage('LZ4_RAW') },
  GZIP: {
    maxRatio: 1_032,
    free: 64,
    // Some writers leave the header of gzip out.
    decompress: bounded((input, options) => (isGzip(input) ? gunzipSync : inflateRawSync)(input, options)),
  },
  BROTLI: { ...runs, decompress: bounded(brotliDecompressSync) },
  ZSTD: { ...runs, decompress: bounded(zstdDecompressSync) },
}

function codecOf(name: string): Codec {
  const codec = Object.hasOwn(codecs, name) ? codecs[name] : undefined
  if (codec === undefined) throw new Error(`it is compressed with ${name}, which cannot be read`)
  return codec
}

/** Returns the most bytes that `length` compressed ones can hold. */
export function maxOutputBytes(codec: string, length: number): number {
  const { maxRatio, free } = codecOf(codec)
  return maxRatio * length + free
}

/** `length` is what the page says it is, at most `maxOutputBytes`. */
export const decompressPage = (codec: string, input: Uint8Array, length: number): Uint8Array =>
  length === 0 ? new Uint8Array(0) : codecOf(codec).decompress(input, length)
