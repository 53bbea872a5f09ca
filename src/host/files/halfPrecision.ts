/** Half-precision bits and f32 numbers. Every F16 and BF16 value is an f32 value, so widening is exact. */

let widened: Float32Array | null = null

function widenHalf(bits: number): number {
  const sign = bits >>> 15 === 0 ? 1 : -1
  const exponent = (bits >>> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN
  if (exponent === 0) return sign * fraction * 2 ** -24
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

const widenedHalves = (): Float32Array =>
  (widened ??= Float32Array.from({ length: 0x10000 }, (_, half) => widenHalf(half)))

/** The binary16 number at a place in bytes, little-endian. */
export const f16At = (bytes: Uint8Array, at: number): number =>
  widenedHalves()[(bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8)] ?? 0

/** IEEE 754 binary16 bits → f32, into `output`; both [n]. */
export function f16ToF32(bits: Uint16Array, output: Float32Array): void {
  const table = widenedHalves()
  for (let index = 0; index < bits.length; index++) output[index] = table[bits[index] ?? 0] ?? 0
}

/** bfloat16 bits (the upper half of an f32) → f32, into `output`; both [n]. */
export function bf16ToF32(bits: Uint16Array, output: Float32Array): void {
  const words = new Uint32Array(output.buffer, output.byteOffset, output.length)
  for (let index = 0; index < bits.length; index++) words[index] = (bits[index] ?? 0) << 16
}

/** f32 → bfloat16 bits, rounded to nearest, ties to even; NaN stays NaN. Both [n]. */
export function f32ToBf16(values: Float32Array, output: Uint16Array): void {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length)
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? 0
    const isNaNWord = (word & 0x7fffffff) > 0x7f800000
    output[index] = isNaNWord ? (word >>> 16) | 0x40 : (word + 0x7fff + ((word >>> 16) & 1)) >>> 16
  }
}

/** f32 → IEEE 754 binary16 bits, rounded to nearest, ties to even; too large becomes infinity, NaN stays NaN. Both [n]. */
export function f32ToF16(values: Float32Array, output: Uint16Array): void {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length)
  for (let index = 0; index < words.length; index++) output[index] = narrowToHalf(words[index] ?? 0)
}

/** Smallest f32 words (without the sign) that become infinity, a normal half, and more than zero. */
const [overflow, smallestNormal, smallestKept] = [0x477ff000, 0x38800000, 0x33000001]

function narrowToHalf(word: number): number {
  const sign = (word >>> 16) & 0x8000
  const magnitude = word & 0x7fffffff
  if (magnitude > 0x7f800000) return sign | 0x7e00
  if (magnitude >= overflow) return sign | 0x7c00
  if (magnitude < smallestKept) return sign
  // Half of what is cut off, and the lowest kept bit, make a tie go to even.
  if (magnitude >= smallestNormal) {
    return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13)
  }
  const fraction = (magnitude & 0x7fffff) | 0x800000
  const shift = 126 - (magnitude >>> 23) // of a subnormal half
  const half = (1 << (shift - 1)) - 1
  return sign | ((fraction + half + ((fraction >>> shift) & 1)) >>> shift)
}
