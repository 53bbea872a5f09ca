/**
 * Blocks of quantised numbers, widened to f32 to the bit as ggml and its Python package do. The layouts are those of
 * the structs `block_*` in ggml's ggml-common.h: 32 or 256 numbers ("super-blocks") behind or before f16 scales.
 */
import type { QuantizedDtype } from '#engine/models/source.ts'
import { f16At } from './halfPrecision.ts'

/** Writes the numbers of the block at `at` into `output` from `to` on. */
type BlockReader = (bytes: Uint8Array, at: number, output: Float32Array, to: number) => void

interface BlockLayout {
  readonly elements: number
  readonly bytes: number
  readonly read: BlockReader
}

const byte = (bytes: Uint8Array, at: number): number => bytes[at] ?? 0
const signedByte = (bytes: Uint8Array, at: number): number => (byte(bytes, at) << 24) >> 24

/** 16 bytes: their lower halves are the first 16 numbers, their upper halves the others. */
function readHalves(bytes: Uint8Array, at: number, put: (index: number, half: number) => void): void {
  for (let index = 0; index < 16; index++) {
    const pair = byte(bytes, at + index)
    put(index, pair & 15)
    put(index + 16, pair >> 4)
  }
}

/** d f16, halves: (q − 8)·d. */
const readQ4_0: BlockReader = (bytes, at, output, to) => {
  const d = f16At(bytes, at)
  readHalves(bytes, at + 2, (index, half) => {
    output[to + index] = (half - 8) * d
  })
}

/** d f16, m f16, halves: q·d + m. */
const readQ4_1: BlockReader = (bytes, at, output, to) => {
  const [d, m] = [f16At(bytes, at), f16At(bytes, at + 2)]
  readHalves(bytes, at + 4, (index, half) => {
    output[to + index] = half * d + m
  })
}

/** The fifth bit of a number of 32, from four bytes. */
const fifthBit = (bytes: Uint8Array, at: number, index: number): number =>
  ((byte(bytes, at + (index >> 3)) >> (index & 7)) & 1) << 4

/** d f16, fifth bits u32, halves: (q − 16)·d. */
const readQ5_0: BlockReader = (bytes, at, output, to) => {
  const d = f16At(bytes, at)
  readHalves(bytes, at + 6, (index, half) => {
    output[to + index] = ((half | fifthBit(bytes, at + 2, index)) - 16) * d
  })
}

/** d f16, m f16, fifth bits u32, halves: q·d + m. */
const readQ5_1: BlockReader = (bytes, at, output, to) => {
  const [d, m] = [f16At(bytes, at), f16At(bytes, at + 2)]
  readHalves(bytes, at + 8, (index, half) => {
    output[to + index] = (half | fifthBit(bytes, at + 4, index)) * d + m
  })
}

/** d f16, 32 signed bytes: q·d. */
const readQ8_0: BlockReader = (bytes, at, output, to) => {
  const d = f16At(bytes, at)
  for (let index = 0; index < 32; index++) output[to + index] = signedByte(bytes, at + 2 + index) * d
}

/** The 16 values of IQ4_NL, denser around zero. */
const unevenValues = Int8Array.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)

/** d f16, halves that choose from a table: value·d. */
const readIQ4_NL: BlockReader = (bytes, at, output, to) => {
  const d = f16At(bytes, at)
  readHalves(bytes, at + 2, (index, half) => {
    output[to + index] = (unevenValues[half] ?? 0) * d
  })
}

/**
 * Scale and minimum of one of the eight sub-blocks of Q4_K and Q5_K, 6 bits each in 12 bytes: the first four are the lower
 * bits of bytes 0–3 and 4–7; of the others bytes 8–11 have the lower four bits, the tops of bytes 0–7 the upper two.
 */
function scaleAndMinimum(
  bytes: Uint8Array,
  at: number,
  index: number,
): readonly [scale: number, min: number] {
  if (index < 4) return [byte(bytes, at + index) & 63, byte(bytes, at + 4 + index) & 63]
  const low = byte(bytes, at + 4 + index)
  const [scaleTop, minTop] = [byte(bytes, at + index - 4), byte(bytes, at + index)]
  return [(low & 15) | ((scaleTop >> 6) << 4), (low >> 4) | ((minTop >> 6) << 4)]
}

/**
 * d f16, dmin f16, 12 bytes of scales, for Q5_K 32 bytes of fifth bits, 128 bytes of halves: q·d·scale − dmin·min. Every 32
 * bytes of halves hold two sub-blocks, the first in the lower halves; fifth bits of sub-block i are bit i of their bytes.
 */
const readSuperBlock =
  (hasFifthBits: boolean): BlockReader =>
  (bytes, at, output, to) => {
    const [d, dmin] = [f16At(bytes, at), f16At(bytes, at + 2)]
    const tops = at + 16
    const halves = hasFifthBits ? tops + 32 : tops
    for (let sub = 0; sub < 8; sub++) {
      const [scale, min] = scaleAndMinimum(bytes, at + 4, sub)
      const [step, offset] = [d * scale, dmin * min]
      const from = halves + (sub >> 1) * 32
      const shift = (sub & 1) * 4
      for (let index = 0; index < 32; index++) {
        const half = (byte(bytes, from + index) >> shift) & 15
        const top = hasFifthBits ? ((byte(bytes, tops + index) >> sub) & 1) << 4 : 0
        output[to + sub * 32 + index] = (half | top) * step - offset
      }
    }
  }

/**
 * 128 bytes of lower bits, 64 of upper ones, 16 signed scales, d f16: (q − 32)·d·scale. Each half of the block has four
 * runs of 32 numbers: lower bits in halves of two runs of bytes, upper bits in quarters of one.
 */
const readQ6_K: BlockReader = (bytes, at, output, to) => {
  const d = f16At(bytes, at + 208)
  for (let run = 0; run < 8; run++) {
    const [part, quarter] = [run >> 2, run & 3]
    const low = at + part * 64 + (quarter & 1) * 32
    const high = at + 128 + part * 32
    for (let index = 0; index < 32; index++) {
      const lower = (byte(bytes, low + index) >> ((quarter >> 1) * 4)) & 15
      const upper = (byte(bytes, high + index) >> (quarter * 2)) & 3
      const scale = signedByte(bytes, at + 192 + run * 2 + (index >> 4))
      output[to + run * 32 + index] = ((lower | (upper << 4)) - 32) * (d * scale)
    }
  }
}

/** The 16 numbers of MXFP4: a sign, two bits of an exponent, one of a mantissa; zero has no sign in ggml. OCP Microscaling Formats 1.0, §5.3.3. */
const tinyFloats = Float32Array.of(0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6)

/** The power of two that a byte stands for as a scale of its own; 255 means no number, and is beyond those of f32. */
const powerOfByte = (exponent: number): number => 2 ** (exponent - 127)

/** Power of two, halves that choose from a table: value·power. */
const readMXFP4: BlockReader = (bytes, at, output, to) => {
  const power = powerOfByte(byte(bytes, at))
  readHalves(bytes, at + 1, (index, half) => {
    output[to + index] = (tinyFloats[half] ?? 0) * power
  })
}

/** Elements of a block of MXFP4, and bytes of its numbers. */
export const mxfp4Block = { elements: 32, bytes: 16 } as const

/** Widens blocks of MXFP4 whose powers lie apart, [n] and [n · 16] bytes → [n · 32]; a byte holds two neighbours, the lower half first. */
export function widenMxfp4(powers: Uint8Array, pairs: Uint8Array, output: Float32Array): void {
  for (let at = 0; at < pairs.length; at++) {
    const power = powerOfByte(byte(powers, Math.floor(at / mxfp4Block.bytes)))
    const pair = byte(pairs, at)
    output[2 * at] = (tinyFloats[pair & 15] ?? 0) * power
    output[2 * at + 1] = (tinyFloats[pair >> 4] ?? 0) * power
  }
}

export const blockLayouts: Readonly<Record<QuantizedDtype, BlockLayout>> = {
  Q4_0: { elements: 32, bytes: 18, read: readQ4_0 },
  Q4_1: { elements: 32, bytes: 20, read: readQ4_1 },
  Q5_0: { elements: 32, bytes: 22, read: readQ5_0 },
  Q5_1: { elements: 32, bytes: 24, read: readQ5_1 },
  Q8_0: { elements: 32, bytes: 34, read: readQ8_0 },
  Q4_K: { elements: 256, bytes: 144, read: readSuperBlock(false) },
  Q5_K: { elements: 256, bytes: 176, read: readSuperBlock(true) },
  Q6_K: { elements: 256, bytes: 210, read: readQ6_K },
  IQ4_NL: { elements: 32, bytes: 18, read: readIQ4_NL },
  MXFP4: { elements: mxfp4Block.elements, bytes: 1 + mxfp4Block.bytes, read: readMXFP4 },
}

/** Dequantizes whole blocks, [n · bytes] → [n · elements]. */
export function dequantize(dtype: QuantizedDtype, bytes: Uint8Array, output: Float32Array): void {
  const { elements, bytes: size, read } = blockLayouts[dtype]
  for (let at = 0, to = 0; at < bytes.length; at += size, to += elements) read(bytes, at, output, to)
}
