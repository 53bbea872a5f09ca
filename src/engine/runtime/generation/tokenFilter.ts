/** Finds which tokens pass top-k, top-p and min-p without sorting the vocabulary. */

export interface Filters {
  /** 0 = off. */
  readonly topK: number
  /** 1 = off. */
  readonly topP: number
  /** 0 = off. */
  readonly minP: number
}

/** Ids that passed the filter, rising. The arrays belong to the filter and hold until it is used again. */
export interface Kept {
  readonly ids: Int32Array
  readonly weights: Float64Array
}

/** Filters rows of `size` weights. */
export class TokenFilter {
  /** [V] non-negative, of any total: to be filled before each use. */
  readonly weights: Float64Array
  readonly #ids: Int32Array
  readonly #kept: Float64Array
  readonly #classes: WeightClasses
  readonly #scratch: Float64Array
  #count = 0

  constructor(size: number) {
    this.weights = new Float64Array(size)
    this.#ids = new Int32Array(size)
    this.#kept = new Float64Array(size)
    this.#classes = new WeightClasses(this.#kept)
    this.#scratch = new Float64Array(size)
  }

  /**
   * Top-k, then top-p, then min-p. As in Hugging Face's order, weights equal to the k-th all stay, of those equal at the
   * border of top-p the highest ids; the largest weight always stays. Nothing of weight 0 is kept.
   *
   * A row is long and what passes is short, so what cannot matter is left out first: all below the k-th largest; or else,
   * as V tokens below (1 − p) · total / V have less than what top-p leaves out, all below that.
   */
  keep({ topK, topP, minP }: Filters): Kept {
    if (topK > 0) {
      this.#take(kthLargest(this.weights, topK, this.#scratch))
      if (topP < 1) this.#keepNucleus(topP * sumOf(this.#kept, this.#count))
    } else if (topP < 1) {
      const total = sumOf(this.weights)
      this.#take(((1 - topP) * total) / this.weights.length)
      this.#keepNucleus(topP * total)
    } else this.#take(Math.min(minP, 1) * largestOf(this.weights))
    if (minP > 0) this.#keepFrom(Math.min(minP, 1) * largestOf(this.#kept, this.#count))
    return { ids: this.#ids.subarray(0, this.#count), weights: this.#kept.subarray(0, this.#count) }
  }

  #take(threshold: number): void {
    const [weights, ids, kept] = [this.weights, this.#ids, this.#kept]
    let count = 0
    for (let id = 0; id < weights.length; id++) {
      const weight = weights[id]!
      if (!(weight >= threshold) || weight === 0) continue
      ids[count] = id
      kept[count++] = weight
    }
    this.#count = count
  }

  /** The fewest largest that reach `mass`; all, where rounding leaves them short of it. */
  #keepNucleus(mass: number): void {
    const { index, above } = this.#classes.find(this.#count, mass)
    const size = this.#classes.gather(this.#count, index, this.#scratch)
    const border = selectMass(this.#scratch, size, mass - above)
    if (border !== null) this.#keepFrom(border.weight, border.equal - border.needed)
  }

  /** Leaves out what is below the threshold, and the first `surplus` of what equals it. */
  #keepFrom(threshold: number, surplus = 0): void {
    const [ids, kept] = [this.#ids, this.#kept]
    let count = 0
    let left = surplus
    for (let i = 0; i < this.#count; i++) {
      const weight = kept[i]!
      if (weight < threshold || (weight === threshold && left-- > 0)) continue
      ids[count] = ids[i]!
      kept[count++] = weight
    }
    this.#count = count
  }
}

/** Shift that leaves the exponent and 3 mantissa bits of the upper half of an f64: eight classes per power of two. */
const CLASS_SHIFT = 17
const CLASSES = 1 << (32 - 1 - CLASS_SHIFT)

/**
 * Sorts weights into classes by exponent and first mantissa bits: a larger weight never falls into a smaller class, so
 * whole classes can be taken or left, and only one must be looked at closely.
 */
class WeightClasses {
  readonly #weights: Float64Array
  /**
   * Halves of the weights; every second number is the upper half (all processors that ONNX Runtime knows are
   * little-endian).
   */
  readonly #halves: Uint32Array
  readonly #mass = new Float64Array(CLASSES)

  constructor(weights: Float64Array) {
    this.#weights = weights
    this.#halves = new Uint32Array(weights.buffer)
  }

  /** The class in which the largest of the first `count` weights reach `mass`, and the mass of the classes above it. */
  find(count: number, mass: number): { readonly index: number; readonly above: number } {
    const [weights, halves, masses] = [this.#weights, this.#halves, this.#mass]
    masses.fill(0)
    for (let i = 0; i < count; i++) masses[halves[2 * i + 1]! >>> CLASS_SHIFT]! += weights[i]!
    let above = 0
    for (let index = CLASSES - 1; index > 0; index--) {
      const next = above + masses[index]!
      if (next > above && next >= mass) return { index, above }
      above = next
    }
    return { index: 0, above }
  }

  /** Copies the weights of one class to `target`; returns how many. */
  gather(count: number, index: number, target: Float64Array): number {
    const [weights, halves] = [this.#weights, this.#halves]
    let size = 0
    for (let i = 0; i < count; i++) {
      if (halves[2 * i + 1]! >>> CLASS_SHIFT === index) target[size++] = weights[i]!
    }
    return size
  }
}

export function sumOf(values: Float64Array, count = values.length): number {
  let sum = 0
  for (let index = 0; index < count; index++) sum += values[index]!
  return sum
}

export function largestOf(values: ArrayLike<number>, count = values.length): number {
  let largest = -Infinity
  for (let index = 0; index < count; index++) if (values[index]! > largest) largest = values[index]!
  return largest
}

/**
 * The k-th largest value; minus infinity when fewer than k are above it, or there are no more than k values. One pass fills
 * a small part of `scratch` with what exceeds the best bound known; each time it is full, its k largest stay.
 */
function kthLargest(values: Float64Array, k: number, scratch: Float64Array): number {
  if (k >= values.length) return -Infinity
  const room = Math.min(scratch.length, Math.max(4 * k, 1024))
  let count = 0
  let bound = -Infinity
  for (let id = 0; id < values.length; id++) {
    const value = values[id]!
    if (!(value > bound)) continue
    if (count === room) {
      bound = selectLargest(scratch, count, k)
      count = k
      if (value <= bound) continue
    }
    scratch[count++] = value
  }
  return count < k ? -Infinity : selectLargest(scratch, count, k)
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

/**
 * Boundary where the largest weights reach the wanted mass: of the `equal` ids with this weight, `needed` are needed.
 */
interface Border {
  readonly weight: number
  readonly needed: number
  readonly equal: number
}

/** Finds where the largest of data[0, count) reach `mass`; null when rounding leaves even all of them short of it. */
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
