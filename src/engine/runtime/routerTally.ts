/** Counts what the routers of a mixture of experts do with the tokens of a micro-batch. */
import type { Experts } from '../models/expertConfig.ts'
import type { RouterUse } from '../policy.ts'

export class RouterTally {
  readonly #experts: Experts
  /** [N, E] over the layers so far: how often an expert was chosen for a row, and the sum of its shares. */
  readonly #chosen: Uint16Array
  readonly #shares: Float32Array

  /** Begins a count of N packed rows. */
  constructor(experts: Experts, rows: number) {
    this.#experts = experts
    this.#chosen = new Uint16Array(rows * experts.count)
    this.#shares = new Float32Array(rows * experts.count)
  }

  /** Adds a layer; scores [N, E] of all experts, before the softmax. */
  add(scores: Float32Array): void {
    const { count, chosen } = this.#experts
    for (let start = 0; start < scores.length; start += count) {
      const row = scores.subarray(start, start + count)
      addShares(row, this.#shares.subarray(start, start + count))
      for (const expert of likeliest(row, chosen)) this.#chosen[start + expert]!++
    }
  }

  /** Sums over the rows of one sequence. */
  of(rows: Int32Array): RouterUse {
    const { count, layers } = this.#experts
    const [chosen, shares] = [new Float64Array(count), new Float64Array(count)]
    for (const row of rows) {
      for (let expert = 0; expert < count; expert++) {
        chosen[expert]! += this.#chosen[row * count + expert]!
        shares[expert]! += this.#shares[row * count + expert]!
      }
    }
    return { decisions: rows.length * layers.filter(Boolean).length, chosen, shares }
  }
}

/** Adds softmax(scores) to `sums`. */
function addShares(scores: Float32Array, sums: Float32Array): void {
  const largest = Math.max(...scores)
  const exponents = scores.map((score) => Math.exp(score - largest))
  const total = exponents.reduce((sum, exponent) => sum + exponent, 0)
  exponents.forEach((exponent, expert) => (sums[expert]! += exponent / total))
}

/** The `count` largest, of equals those before, as the programs choose them. */
function likeliest(scores: Float32Array, count: number): number[] {
  const left = scores.slice()
  return Array.from({ length: count }, () => {
    const best = left.reduce((found, score, expert) => (score > left[found]! ? expert : found), 0)
    left[best] = -Infinity
    return best
  })
}
