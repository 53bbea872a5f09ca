/**
 * f32 numbers as ggml's blocks, bit for bit as its `quantize_row_*_ref` (ggml-quants.c) makes them without an importance
 * matrix: every operation is rounded to f32 in the same order. `dequantize.ts` has the layouts and reads them.
 */
import type { QuantizedDtype } from '#engine/models/source.ts'
import { f16At, f32ToF16 } from '#host/files/halfPrecision.ts'
import { blockLayouts } from '#host/files/dequantize.ts'

/** The types that are written. */
export type WrittenBlocks = Extract<QuantizedDtype, 'Q8_0' | 'Q5_0' | 'Q4_K' | 'Q6_K'>

/** Writes the block of the numbers from `from` on to `bytes`, which is zero there, at `at`. */
type BlockWriter = (values: Float32Array, from: number, bytes: Uint8Array, at: number) => void

const f = Math.fround

/** Adding it to an f32 below 2²² rounds that to a whole number, ties to even. */
const wholeNumbers = 1.5 * 2 ** 23
const nearest = (value: number): number => f(f(value) + wholeNumbers) - wholeNumbers

const clamp = (value: number, least: number, most: number): number =>
  value < least ? least : value > most ? most : value

const wide = new Float32Array(1)
const half = new Uint16Array(1)

/** Stores a number as binary16 and returns what is stored. */
function putF16(bytes: Uint8Array, at: number, value: number): number {
  wide[0] = value
  f32ToF16(wide, half)
  const [bits = 0] = half
  bytes[at] = bits & 255
  bytes[at + 1] = bits >> 8
  return f16At(bytes, at)
}

/** Rounds half away from zero, as C's `roundf`. */
const roundAway = (value: number): number => Math.sign(value) * Math.floor(Math.abs(value) + 0.5)

const writeQ8_0: BlockWriter = (values, from, bytes, at) => {
  let largest = 0
  for (let index = 0; index < 32; index++) largest = Math.max(largest, Math.abs(values[from + index] ?? 0))
  const d = f(largest / 127)
  const inverse = d === 0 ? 0 : f(1 / d)
  putF16(bytes, at, d)
  for (let index = 0; index < 32; index++) {
    bytes[at + 2 + index] = roundAway(f((values[from + index] ?? 0) * inverse))
  }
}

/** The number furthest from zero, with its sign. */
function furthest(values: Float32Array, from: number, count: number): number {
  let [most, found] = [0, 0]
  for (let index = 0; index < count; index++) {
    const value = values[from + index] ?? 0
    if (Math.abs(value) > most) [most, found] = [Math.abs(value), value]
  }
  return found
}

const writeQ5_0: BlockWriter = (values, from, bytes, at) => {
  const d = f(furthest(values, from, 32) / -16)
  const inverse = d === 0 ? 0 : f(1 / d)
  putF16(bytes, at, d)
  for (let index = 0; index < 32; index++) {
    const scaled = f(f((values[from + index] ?? 0) * inverse) + 16.5)
    const level = Math.min(31, Math.trunc(scaled))
    const [tops, halves] = [at + 2 + (index >> 3), at + 6 + (index & 15)]
    bytes[tops] = (bytes[tops] ?? 0) | ((level >> 4) << (index & 7))
    bytes[halves] = (bytes[halves] ?? 0) | ((level & 15) << (index < 16 ? 0 : 4))
  }
}

// Scratch of one block; writing is synchronous.
const levels = new Uint8Array(256)
const tried = new Uint8Array(32)
const weights = new Float32Array(32)
const scales = new Float32Array(16)
const minima = new Float32Array(8)

const levelAt = (index: number): number => levels[index] ?? 0

const subBlock = 32

/** A number's weight is the size of a typical one plus its own. Returns their sum, and that of the weighted numbers. */
function weigh(values: Float32Array, from: number): readonly [weight: number, weighted: number] {
  let squares = 0
  for (let index = 0; index < subBlock; index++) {
    const value = values[from + index] ?? 0
    squares = f(squares + f(value * value))
  }
  const typical = f(Math.sqrt(f(squares / subBlock)))
  let [sum, weighted] = [0, 0]
  for (let index = 0; index < subBlock; index++) {
    const value = values[from + index] ?? 0
    const weight = f(typical + Math.abs(value))
    weights[index] = weight
    sum = index === 0 ? weight : f(sum + weight)
    weighted = index === 0 ? f(weight * value) : f(weighted + f(weight * value))
  }
  return [sum, weighted]
}

interface Fit {
  readonly scale: number
  /** Subtracted; never negative. */
  readonly minimum: number
}

/** Σ w·(scale·level + offset − x)² over a sub-block. */
function errorOf(
  values: Float32Array,
  from: number,
  { chosen, scale, offset }: { readonly chosen: Uint8Array; readonly scale: number; readonly offset: number },
): number {
  let error = 0
  for (let index = 0; index < subBlock; index++) {
    const value = values[from + index] ?? 0
    const difference = f(f(f(scale * (chosen[index] ?? 0)) + offset) - value)
    error = f(error + f((weights[index] ?? 0) * f(difference * difference)))
  }
  return error
}

/** Levels of a sub-block for steps of 1 / `inverse` from `offset` on, into `output`. */
function chooseLevels(
  values: Float32Array,
  from: number,
  { inverse, offset, output }: { inverse: number; offset: number; output: Uint8Array },
): void {
  for (let index = 0; index < subBlock; index++) {
    output[index] = clamp(nearest(f(inverse * f((values[from + index] ?? 0) - offset))), 0, 15)
  }
}

/**
 * Fits x ≈ scale·level + offset with offset ≤ 0 by least squares for the levels of `tried`; null where they do not
 * determine it.
 */
function fitOf(
  values: Float32Array,
  from: number,
  [sumW, sumX]: readonly [weight: number, weighted: number],
): readonly [scale: number, offset: number] | null {
  let [sumL, sumL2, sumXL] = [0, 0, 0]
  for (let index = 0; index < subBlock; index++) {
    const level = tried[index] ?? 0
    const weighted = f((weights[index] ?? 0) * level)
    sumL = f(sumL + weighted)
    sumL2 = f(sumL2 + f(weighted * level))
    sumXL = f(sumXL + f(weighted * (values[from + index] ?? 0)))
  }
  const determinant = f(f(sumW * sumL2) - f(sumL * sumL))
  if (!(determinant > 0)) return null
  const offset = f(f(f(sumL2 * sumX) - f(sumL * sumXL)) / determinant)
  if (offset > 0) return [f(sumXL / sumL2), 0]
  return [f(f(f(sumW * sumXL) - f(sumX * sumL)) / determinant), offset]
}

const trials = 21

/** ggml's `make_qkx2_quants` for 16 levels: of 22 scales the one with the smallest weighted error. Levels into `levels`. */
function fitSubBlock(values: Float32Array, from: number, place: number): Fit {
  let [lowest, highest] = [Infinity, -Infinity]
  for (let index = 0; index < subBlock; index++) {
    const value = values[from + index] ?? 0
    if (value < lowest) lowest = value
    if (value > highest) highest = value
  }
  const sums = weigh(values, from)
  if (lowest > 0) lowest = 0
  const best = levels.subarray(place, place + subBlock)
  if (highest === lowest) {
    best.fill(0)
    return { scale: 0, minimum: -lowest }
  }
  const inverse = f(15 / f(highest - lowest))
  let [scale, offset] = [f(1 / inverse), lowest]
  chooseLevels(values, from, { inverse, offset, output: best })
  let least = errorOf(values, from, { chosen: best, scale, offset })
  for (let trial = 0; trial < trials; trial++) {
    const steps = f(f(-1 + f(f(0.1) * trial)) + 15)
    // Starts from the offset of the best fit so far, as llama.cpp does.
    chooseLevels(values, from, { inverse: f(steps / f(highest - offset)), offset, output: tried })
    const fit = fitOf(values, from, sums)
    if (fit === null) continue
    const error = errorOf(values, from, { chosen: tried, scale: fit[0], offset: fit[1] })
    if (!(error < least)) continue
    best.set(tried)
    least = error
    ;[scale, offset] = fit
  }
  return { scale, minimum: -offset }
}

/**
 * Rounds scales or minima to whole numbers from 0 to 63, and returns the f32 number that all of them are multiples of.
 */
function sixBits(numbers: Float32Array): { readonly units: readonly number[]; readonly unit: number } {
  const largest = numbers.reduce((most, number) => Math.max(most, number), 0)
  const inverse = largest > 0 ? f(63 / largest) : 0
  return {
    units: Array.from(numbers, (number) => Math.min(63, nearest(f(inverse * number)) & 255)),
    unit: f(largest / 63),
  }
}

/** The 12 bytes that `scaleAndMinimum` reads. */
function packSixBits(
  bytes: Uint8Array,
  at: number,
  { scale, minimum }: { readonly scale: readonly number[]; readonly minimum: readonly number[] },
): void {
  for (let index = 0; index < 4; index++) {
    const [topScale, topMinimum] = [scale[index + 4] ?? 0, minimum[index + 4] ?? 0]
    bytes[at + index] = (scale[index] ?? 0) | ((topScale >> 4) << 6)
    bytes[at + 4 + index] = (minimum[index] ?? 0) | ((topMinimum >> 4) << 6)
    bytes[at + 8 + index] = (topScale & 15) | ((topMinimum & 15) << 4)
  }
}

const writeQ4_K: BlockWriter = (values, from, bytes, at) => {
  for (let sub = 0; sub < 8; sub++) {
    const fit = fitSubBlock(values, from + sub * subBlock, sub * subBlock)
    scales[sub] = fit.scale
    minima[sub] = fit.minimum
  }
  const [scale, minimum] = [sixBits(scales.subarray(0, 8)), sixBits(minima)]
  const [d, dmin] = [putF16(bytes, at, scale.unit), putF16(bytes, at + 2, minimum.unit)]
  packSixBits(bytes, at + 4, { scale: scale.units, minimum: minimum.units })
  for (let sub = 0; sub < 8; sub++) {
    const step = f(d * (scale.units[sub] ?? 0))
    const offset = f(dmin * (minimum.units[sub] ?? 0))
    if (step === 0) continue
    for (let index = sub * subBlock; index < (sub + 1) * subBlock; index++) {
      levels[index] = clamp(nearest(f(f((values[from + index] ?? 0) + offset) / step)), 0, 15)
    }
  }
  for (let index = 0; index < 128; index++) {
    const low = (index >> 5) * 64 + (index & 31)
    bytes[at + 16 + index] = levelAt(low) | (levelAt(low + 32) << 4)
  }
}

/** Limit below which a group of numbers is zero. */
const smallestGroup = f(1e-15)

/** Σ x²·x·level and Σ x²·level² of 16 numbers with 64 levels about zero, 1 / `inverse` apart. */
function products(values: Float32Array, from: number, inverse: number): readonly [number, number] {
  let [sumXL, sumL2] = [0, 0]
  for (let index = 0; index < 16; index++) {
    const value = values[from + index] ?? 0
    const level = clamp(nearest(f(inverse * value)), -32, 31)
    const weight = f(value * value)
    sumXL = f(sumXL + f(f(weight * value) * level))
    sumL2 = f(sumL2 + f(f(weight * level) * level))
  }
  return [sumXL, sumL2]
}

/** ggml's `make_qx_quants` for 64 levels, weighted by the squares: of 19 scales the one with the smallest error. */
function fitGroup(values: Float32Array, from: number, group: number): number {
  const start = from + group * 16
  const most = furthest(values, start, 16)
  if (Math.abs(most) < smallestGroup) {
    levels.fill(0, group * 16, (group + 1) * 16)
    return 0
  }
  let inverse = f(-32 / most)
  const [sumXL, sumL2] = products(values, start, inverse)
  let scale = sumL2 === 0 ? 0 : f(sumXL / sumL2)
  let best = f(scale * sumXL)
  for (let trial = -9; trial <= 9; trial++) {
    if (trial === 0) continue
    const tried = f(-f(32 + f(f(0.1) * trial)) / most)
    const [xl, l2] = products(values, start, tried)
    if (!(l2 > 0 && f(xl * xl) > f(best * l2))) continue
    scale = f(xl / l2)
    best = f(scale * xl)
    inverse = tried
  }
  chooseGroup(values, from, group, (value) => f(inverse * value))
  return scale
}

/** Levels of a group of 16, from 0 to 63. */
function chooseGroup(
  values: Float32Array,
  from: number,
  group: number,
  scaled: (value: number) => number,
): void {
  for (let index = group * 16; index < (group + 1) * 16; index++) {
    levels[index] = clamp(nearest(scaled(values[from + index] ?? 0)), -32, 31) + 32
  }
}

const writeQ6_K: BlockWriter = (values, from, bytes, at) => {
  for (let group = 0; group < 16; group++) scales[group] = fitGroup(values, from, group)
  const most = furthest(scales, 0, 16)
  if (Math.abs(most) < smallestGroup) return
  const inverse = f(-128 / most)
  const d = putF16(bytes, at + 208, f(1 / inverse))
  for (let group = 0; group < 16; group++) {
    const scale = Math.min(127, nearest(f(inverse * (scales[group] ?? 0))))
    bytes[at + 192 + group] = scale
    const step = f(d * scale)
    if (step !== 0) chooseGroup(values, from, group, (value) => f(value / step))
  }
  for (let index = 0; index < 64; index++) {
    const first = (index >> 5) * 128 + (index & 31)
    const of = (run: number): number => levelAt(first + run * 32)
    const low = at + (index >> 5) * 64 + (index & 31)
    bytes[low] = (of(0) & 15) | ((of(2) & 15) << 4)
    bytes[low + 32] = (of(1) & 15) | ((of(3) & 15) << 4)
    bytes[at + 128 + index] = (of(0) >> 4) | ((of(1) >> 4) << 2) | ((of(2) >> 4) << 4) | ((of(3) >> 4) << 6)
  }
}

const writers: Readonly<Record<WrittenBlocks, BlockWriter>> = {
  Q8_0: writeQ8_0,
  Q5_0: writeQ5_0,
  Q4_K: writeQ4_K,
  Q6_K: writeQ6_K,
}

/** Quantizes whole blocks, [n · elements] → [n · bytes]. */
export function quantize(dtype: WrittenBlocks, values: Float32Array): Uint8Array {
  const { elements, bytes: size } = blockLayouts[dtype]
  const bytes = new Uint8Array((values.length / elements) * size)
  const write = writers[dtype]
  for (let from = 0, at = 0; from < values.length; from += elements, at += size)
    write(values, from, bytes, at)
  return bytes
}
