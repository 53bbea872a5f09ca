import { SequentialRandom, randomStream } from '#shared/random.ts'
import { AppError } from '#shared/errors.ts'
import type { NamedTensor } from '../models/source.ts'
import { type ValueHead, valueHeadNames } from '../models/learningGraphs.ts'
import type { LearningPrograms } from './learningPrograms.ts'
import type { PackedBatch } from './packedBatch.ts'
import { type Feed, floats } from './session.ts'

/** Entries of the head in a flat array: its weight [D], then its bias. */
export const valueHeadSize = (hiddenSize: number): number => hiddenSize + 1

/** The value head in a part of a flat array, and the same memory as graph inputs: an update needs no copy. */
export class ValueHeadParameters {
  readonly #width: number
  /** [D + 1] */
  readonly values: Float32Array
  readonly feeds: Readonly<Record<'value weight' | 'value bias', Feed>>

  constructor(values: Float32Array) {
    this.#width = values.length - 1
    this.values = values
    this.feeds = {
      'value weight': floats(values.subarray(0, this.#width), [1, this.#width]),
      'value bias': floats(values.subarray(this.#width), [1]),
    }
  }

  /** Weight and bias uniform in ±1/√D, as torch's Linear begins. */
  initialize(seed: number): this {
    const random = new SequentialRandom(randomStream(seed, 0x7a1))
    const bound = 1 / Math.sqrt(this.#width)
    for (let index = 0; index < this.values.length; index++) {
      this.values[index] = bound * (2 * random.uniform() - 1)
    }
    return this
  }

  /** Returns a copy. */
  get(): ValueHead {
    return { weight: this.values.slice(0, this.#width), bias: this.values[this.#width]! }
  }

  load({ weight, bias }: ValueHead): void {
    if (weight.length !== this.#width) {
      throw new AppError(
        'adapter/invalid',
        `The value head has ${weight.length} weights, expected ${this.#width}.`,
      )
    }
    this.values.set(weight)
    this.values[this.#width] = bias
  }

  /** `array` (parameters or gradients) as named tensors; copies. */
  tensors(array: Float32Array = this.values): NamedTensor[] {
    return [
      { name: valueHeadNames.weight, shape: [1, this.#width], data: array.slice(0, this.#width) },
      { name: valueHeadNames.bias, shape: [1], data: array.slice(this.#width) },
    ]
  }
}

export interface ValueScores {
  /** [A] */
  readonly values: Float64Array
  /** [A, D] the hidden states they are of. */
  readonly hidden: Float32Array
}

/** Runs the value head over the rows that need it; without a vocabulary there is nothing to cut into chunks. */
export class ValueHeadRunner {
  readonly #width: number
  readonly #programs: LearningPrograms

  constructor(hiddenSize: number, programs: LearningPrograms) {
    this.#width = hiddenSize
    this.#programs = programs
  }

  /** Values of the batch's head rows. hidden [N, D]. */
  async score(
    hidden: Float32Array,
    { headRows }: PackedBatch,
    head: ValueHeadParameters,
  ): Promise<ValueScores> {
    const chosen = new Float32Array(headRows.length * this.#width)
    headRows.forEach((row, index) => {
      chosen.set(hidden.subarray(row * this.#width, (row + 1) * this.#width), index * this.#width)
    })
    const { value } = await this.#programs.run('value', 'value forward', this.#feeds(chosen, head))
    return { values: Float64Array.from(value!), hidden: chosen }
  }

  /** Adds up the head's gradients [D + 1] and returns ∂loss/∂hidden [N, D]. `coefficients` [A] are ∂loss/∂value. */
  async learn(
    { tokens, headRows }: PackedBatch,
    { hidden }: ValueScores,
    { head, headGradients }: { readonly head: ValueHeadParameters; readonly headGradients: Float32Array },
    coefficients: Float64Array,
  ): Promise<Float32Array> {
    const results = await this.#programs.run('value', 'value backward', {
      ...this.#feeds(hidden, head),
      'value coefficients': floats(Float32Array.from(coefficients), [coefficients.length, 1]),
    })
    const [weight, bias, byHidden] = [results['weight']!, results['bias']!, results['hidden']!]
    weight.forEach((gradient, at) => (headGradients[at]! += gradient))
    headGradients[this.#width]! += bias[0]!
    const cotangent = new Float32Array(tokens * this.#width)
    headRows.forEach((row, index) => {
      const [to, from] = [row * this.#width, index * this.#width]
      for (let at = 0; at < this.#width; at++) cotangent[to + at]! += byHidden[from + at]!
    })
    return cotangent
  }

  #feeds(hidden: Float32Array, head: ValueHeadParameters): Record<string, Feed> {
    return { ...head.feeds, hidden: floats(hidden, [hidden.length / this.#width, this.#width]) }
  }
}
