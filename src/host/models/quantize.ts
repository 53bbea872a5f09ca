import { blocksPerRow, type BlockForm } from '#engine/models/blocks.ts'

/** Smallest scale: below it f32 has too few digits. */
const smallestNormal = 2 ** -126

/**
 * Scale of each block of values of a row, or 0 where all are (nearly) zero. 8 bits: max|x| / 127. 4 bits have one more
 * value below zero than above: the largest is put there whatever its sign, so that the scale is −x / 8 of it.
 * `weights`: [rows, columns]; returns [rows, blocks].
 */
export function blockScales(weights: Float32Array, columns: number, form: BlockForm): Float32Array {
  const rows = weights.length / columns
  const blocks = blocksPerRow(columns, form)
  const scales = new Float32Array(rows * blocks)
  for (let block = 0, start = 0; block < scales.length; block++) {
    // A row's last block may be shorter.
    const end =
      (block + 1) % blocks === 0 ? (Math.floor(block / blocks) + 1) * columns : start + form.blockSize
    const largest = largestOf(weights, start, end)
    const scale = form.bits === 8 ? Math.abs(largest) / 127 : -largest / 8
    scales[block] = Math.abs(scale) < smallestNormal ? 0 : scale
    start = end
  }
  return scales
}

/** The same, where all blocks of a row have the scale of the whole row. */
export function rowScales(weights: Float32Array, columns: number, form: BlockForm): Float32Array {
  const scales = blockScales(weights, columns, { ...form, blockSize: columns })
  const blocks = blocksPerRow(columns, form)
  return Float32Array.from(
    { length: scales.length * blocks },
    (_, block) => scales[Math.floor(block / blocks)] ?? 0,
  )
}

/**
 * Number of scales tried for a row, and how far the largest is above the smallest; with the smallest, 127 reaches the
 * largest value.
 */
const TRIED = { scales: 16, extent: 0.06 }

/**
 * Finds for each row of 8 bits the scale, of a few slightly larger than the smallest, that brings all values closest in
 * squares. Where rows were rounded before they hold few different values, and some scales meet many of them. [rows,
 * columns] → [rows]
 */
export function closestRowScales(weights: Float32Array, columns: number): Float32Array {
  const scales = blockScales(weights, columns, { bits: 8, blockSize: columns, zero: 128 })
  return scales.map((smallest, row) => {
    const values = weights.subarray(row * columns, (row + 1) * columns)
    let [closest, least] = [smallest, Infinity]
    for (let tried = 0; tried < TRIED.scales && smallest > 0; tried++) {
      const scale = Math.fround(smallest * (1 + (TRIED.extent * tried) / TRIED.scales))
      const error = squaredError(values, scale)
      if (error < least) [closest, least] = [scale, error]
    }
    return closest
  })
}

function squaredError(values: Float32Array, scale: number): number {
  const inverse = 1 / scale
  let sum = 0
  // An iterator would take six times as long.
  for (let index = 0; index < values.length; index++) {
    const steps = (values[index] ?? 0) * inverse
    // Adding and subtracting 1.5 · 2⁵² rounds to the nearest whole number.
    const left = steps - (steps + 6755399441055744 - 6755399441055744)
    sum += left * left
  }
  return sum * scale * scale
}

/** The value farthest from zero. */
function largestOf(values: Float32Array, start: number, end: number): number {
  let [largest, size] = [0, 0]
  for (let index = start; index < end; index++) {
    const value = values[index] ?? 0
    if (Math.abs(value) > size) [largest, size] = [value, Math.abs(value)]
  }
  return largest
}

/**
 * Quantisation in the layout of ONNX Runtime's MatMulNBits without zero points: x ≈ (value − zero) · scale, with an error
 * of at most half a scale; of 4 bits a value as large as the largest one with the other sign is off by a whole one. A last
 * block that the row does not fill is padded with zeros. `weights`: [rows, columns], `scales` from `blockScales`;
 * returns [rows, blocks, blockSize · bits / 8], of two values in a byte the first in the lower half.
 */
export function quantizeRows(
  weights: Float32Array,
  scales: Float32Array,
  columns: number,
  form: BlockForm,
): Uint8Array {
  const { bits, blockSize } = form
  const blocks = blocksPerRow(columns, form)
  const padding = blocks * blockSize - columns
  const values = new Uint8Array((scales.length * blockSize * bits) / 8)
  const write = bits === 8 ? writeBytes : writeHalves
  if (padding > 0) values.fill(zeroByte(form))
  for (let block = 0, start = 0; block < scales.length; block++) {
    const isLast = (block + 1) % blocks === 0
    const end = start + (isLast ? blockSize - padding : blockSize)
    const scale = scales[block] ?? 0
    write(values, (block * blockSize * bits) / 8, {
      weights,
      start,
      end,
      zero: form.zero,
      inverse: scale === 0 ? 0 : 1 / scale,
    })
    start = end
  }
  return values
}

/** Dequantizes (value − zero) · scale of what `quantizeRows` gave: [rows, columns], without the padding. */
export function dequantizeRows(
  values: Uint8Array,
  scales: Float32Array,
  columns: number,
  { bits, blockSize, zero }: BlockForm,
): Float32Array {
  const blocks = Math.ceil(columns / blockSize)
  const weights = new Float32Array((scales.length / blocks) * columns)
  for (let block = 0, index = 0; block < scales.length; block++) {
    const scale = scales[block] ?? 0
    const end = (block + 1) % blocks === 0 ? ((block + 1) / blocks) * columns : index + blockSize
    for (let place = block * blockSize; index < end; index++, place++) {
      const stored =
        bits === 8 ? (values[place] ?? 0) : ((values[place >> 1] ?? 0) >> (place % 2 === 0 ? 0 : 4)) & 15
      weights[index] = (stored - zero) * scale
    }
  }
  return weights
}

/** A byte of nothing but zero points. */
export const zeroByte = ({ bits, zero }: BlockForm): number => (bits === 8 ? zero : zero * 17)

interface Block {
  readonly weights: Float32Array
  readonly start: number
  readonly end: number
  /** 1 / scale */
  readonly inverse: number
  readonly zero: number
}

function writeBytes(values: Uint8Array, target: number, { weights, start, end, inverse, zero }: Block): void {
  const rounding = zero + 0.5
  for (let index = start, place = target; index < end; index++, place++) {
    // Always in [1, 255.6): writing it to a byte cuts the fraction off, so the half rounds to nearest.
    values[place] = (weights[index] ?? 0) * inverse + rounding
  }
}

function writeHalves(
  values: Uint8Array,
  target: number,
  { weights, start, end, inverse, zero }: Block,
): void {
  const rounding = zero + 0.5
  for (let index = start, place = target; index < end; index += 2, place++) {
    const first = Math.min(15, ((weights[index] ?? 0) * inverse + rounding) | 0)
    const second = index + 1 < end ? Math.min(15, ((weights[index + 1] ?? 0) * inverse + rounding) | 0) : zero
    values[place] = first | (second << 4)
  }
}
