/** Finds which tokens pass top-k, top-p and min-p without sorting the vocabulary. */

/** What is kept: every weight above `threshold`, and of those equal to it the ids from `tieFrom` on. */
interface Cut {
  readonly threshold: number
  readonly tieFrom: number
}

interface NucleusOptions {
  /** Weights below it take no part, as after top-k. */
  readonly floor: number
  /** 1 = off. */
  readonly topP: number
  /** 0 = off. */
  readonly minP: number
}

export function isKept(cut: Cut, weight: number, id: number): boolean {
  return weight > cut.threshold || (weight === cut.threshold && id >= cut.tieFrom)
}

/** Memory for selections among up to `size` values, used again by each. */
export class Selection {
  readonly #values: Float64Array
  readonly #classes = new WeightClasses()

  constructor(size: number) {
    this.#values = new Float64Array(size)
  }

  /**
   * The k-th largest value; minus infinity when fewer than k are above it, or there are no more than k values. One
   * pass fills a small buffer with what exceeds the best bound known; each time it is full, its k largest stay.
   */
  kthLargest(values: ArrayLike<number>, k: number): number {
    if (k >= values.length) return -Infinity
    const buffer = this.#values
    const room = Math.min(buffer.length, Math.max(4 * k, 1024))
    let count = 0
    let bound = -Infinity
    for (let id = 0; id < values.length; id++) {
      const value = values[id]!
      if (!(value > bound)) continue
      if (count === room) {
        bound = selectLargest(buffer, count, k)
        count = k
        if (value <= bound) continue
      }
      buffer[count++] = value
    }
    return count < k ? -Infinity : selectLargest(buffer, count, k)
  }

  /**
   * Top-p, then min-p, of non-negative weights that need not sum to 1. As in Hugging Face's ascending order, of equal
   * weights at the border the highest ids stay; the largest weight always stays.
   */
  nucleus(weights: ArrayLike<number>, { floor, topP, minP }: NucleusOptions): Cut {
    const least = minP > 0 ? Math.max(floor, Math.min(minP, 1) * largestOf(weights)) : floor
    if (topP >= 1) return { threshold: least, tieFrom: 0 }
    const mass = topP * this.#classes.sum(weights, floor)
    const { index, above } = this.#classes.find(mass)
    const count = this.#classes.gather(weights, index, this.#values)
    const border = selectMass(this.#values, count, mass - above)
    if (border === null || border.weight < least) return { threshold: least, tieFrom: 0 }
    return { threshold: border.weight, tieFrom: firstKept(weights, border) }
  }
}

/** Where the largest weights reach the wanted mass: of the `equal` ids with this weight, `needed` are needed. */
interface Border {
  readonly weight: number
  readonly needed: number
  readonly equal: number
}

/**
 * Sorts weights into classes by the exponent and first mantissa bits of their f32 form: a larger weight never falls
 * into a smaller class, so whole classes can be taken or left, and only one must be looked at closely.
 */
class WeightClasses {
  readonly #float = new Float32Array(1)
  readonly #bits = new Uint32Array(this.#float.buffer)
  readonly #mass = new Float64Array(1 << (32 - CLASS_SHIFT))

  /** Sums each class, leaving out weights below `floor`; returns the sum of all. */
  sum(weights: ArrayLike<number>, floor: number): number {
    const [float, bits, mass] = [this.#float, this.#bits, this.#mass]
    mass.fill(0)
    for (let id = 0; id < weights.length; id++) {
      const weight = weights[id]!
      if (!(weight >= floor)) continue
      float[0] = weight
      mass[bits[0]! >>> CLASS_SHIFT]! += weight
    }
    return mass.reduce((sum, part) => sum + part, 0)
  }

  /** The class in which the largest weights reach `mass`, and the mass of the classes above it. */
  find(mass: number): { readonly index: number; readonly above: number } {
    let above = 0
    for (let index = this.#mass.length - 1; index > 0; index--) {
      const next = above + this.#mass[index]!
      if (next > above && next >= mass) return { index, above }
      above = next
    }
    return { index: 0, above }
  }

  /** Copies the weights of one class to `target`; returns how many. */
  gather(weights: ArrayLike<number>, index: number, target: Float64Array): number {
    const [float, bits] = [this.#float, this.#bits]
    let count = 0
    for (let id = 0; id < weights.length; id++) {
      const weight = weights[id]!
      float[0] = weight
      if (bits[0]! >>> CLASS_SHIFT === index) target[count++] = weight
    }
    return count
  }
}

/** Leaves 8 exponent and 4 mantissa bits: sixteen classes per power of two. */
const CLASS_SHIFT = 19

function largestOf(values: ArrayLike<number>): number {
  let largest = -Infinity
  for (let id = 0; id < values.length; id++) if (values[id]! > largest) largest = values[id]!
  return largest
}

/** The lowest of the `needed` highest ids with the border's weight. */
function firstKept(weights: ArrayLike<number>, { weight, needed, equal }: Border): number {
  if (needed === equal) return 0
  let left = needed
  let id = weights.length
  while (left > 0 && id > 0) if (weights[--id] === weight) left--
  return id
}

/** Moves larger than `pivot` to the front of [start, end), smaller to the back; returns the borders of the equal ones. */
function partition(data: Float64Array, start: number, end: number, pivot: number): readonly [number, number] {
  let equalStart = start
  let equalEnd = end
  let next = start
  while (next < equalEnd) {
    const value = data[next]!
    if (value > pivot) {
      data[next++] = data[equalStart]!
      data[equalStart++] = value
    } else if (value < pivot) {
      data[next] = data[--equalEnd]!
      data[equalEnd] = value
    } else next++
  }
  return [equalStart, equalEnd]
}

/** Median of the first, middle and last. */
function pivotOf(data: Float64Array, start: number, end: number): number {
  const [a, b, c] = [data[start]!, data[(start + end) >> 1]!, data[end - 1]!]
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c))
}

/** The k-th largest of data[0, count), which is left with its k largest in front. */
function selectLargest(data: Float64Array, count: number, k: number): number {
  let [start, end] = [0, count]
  for (;;) {
    const pivot = pivotOf(data, start, end)
    const [equalStart, equalEnd] = partition(data, start, end, pivot)
    if (k <= equalStart) end = equalStart
    else if (k > equalEnd) start = equalEnd
    else return pivot
  }
}

/** Where the largest of data[0, count) reach `mass`; null when rounding leaves even all of them short of it. */
function selectMass(data: Float64Array, count: number, mass: number): Border | null {
  let [start, end] = [0, count]
  let missing = mass
  while (start < end) {
    const weight = pivotOf(data, start, end)
    const [equalStart, equalEnd] = partition(data, start, end, weight)
    let larger = 0
    for (let index = start; index < equalStart; index++) larger += data[index]!
    const equal = equalEnd - equalStart
    if (larger >= missing && equalStart > start) {
      end = equalStart
    } else if (larger + equal * weight >= missing) {
      const needed = Math.min(equal, Math.max(1, Math.ceil((missing - larger) / weight)))
      return { weight, needed, equal }
    } else {
      missing -= larger + equal * weight
      start = equalEnd
    }
  }
  return null
}
