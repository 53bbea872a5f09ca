/**
 * Reading guide: an optimizer moves flat parameter arrays along their gradients. This file says what one is and limits
 * the gradient of each group, `adamw.ts` is the one we have, `adamwProgram.ts` what it computes, `schedules.ts` says which
 * learning rate belongs to which step.
 *
 * All arrays are f32 and flat, one entry per parameter, and every operation on an entry is rounded to f32: the same
 * program moves them with the host and on a device.
 */

/** Parameters with their gradient and what the optimizer remembers of them, wherever they are. */
export interface TrainedNumbers<Factors> {
  /** Sum of squares of the gradient, as `sumOfSquares` computes it; not finite where the gradient is not. */
  squares(): Promise<number>
  move(factors: Factors): Promise<void>
}

/** Parameters that share a learning rate and are clipped together, such as actor or critic. */
export interface ParameterGroup<Factors> {
  readonly numbers: readonly TrainedNumbers<Factors>[]
  readonly learningRate: number
  /** Overrides the optimizer's own weight decay, such as 0 for norms. */
  readonly weightDecay?: number
}

/** Everything an optimizer remembers. `buffers` hold one entry per parameter; a checkpoint stores both fields as they are. */
export interface OptimizerState {
  /** Updates taken so far. */
  readonly step: number
  readonly buffers: Readonly<Record<string, Float32Array>>
}

/** Work of one update. */
export interface OptimizerTask<Factors> {
  readonly groups: readonly ParameterGroup<Factors>[]
  /** Number of the update, from 1 on. */
  readonly step: number
  /** L2 limit of each group's gradient; Infinity = off. */
  readonly maxGradNorm: number
}

/** A plug-in kind: one file. `Factors` is what is the same for all parameters of a group in one update. */
export interface Optimizer<Settings, Factors> {
  readonly id: string
  readonly title: string
  readonly settings: Settings
  /** Names of the state's buffers. */
  readonly buffers: readonly string[]
  /** Takes one update; returns the gradient norm of each group before clipping. */
  step(task: OptimizerTask<Factors>, settings: Settings): Promise<number[]>
}

/** The state before the first update, for `length` parameters. */
export function initialState(
  optimizer: Pick<Optimizer<unknown, never>, 'buffers'>,
  length: number,
): OptimizerState {
  return {
    step: 0,
    buffers: Object.fromEntries(optimizer.buffers.map((name) => [name, new Float32Array(length)])),
  }
}

/** The smallest normal number of f32. */
export const LEAST_F32 = 2 ** -126

/** Rounds to f32 as devices do: anything smaller than a normal number becomes zero. */
export function f32(value: number): number {
  const rounded = Math.fround(value)
  return Math.abs(rounded) < LEAST_F32 ? 0 * rounded : rounded
}

/** Keeps the division finite when a group's gradient is all zero; PyTorch's `clip_grad_norm_` uses the same. */
const NORM_OFFSET = 1e-6

/** L2 norm of each group's gradient. Reads only. */
export const gradientNorms = (groups: readonly Pick<ParameterGroup<never>, 'numbers'>[]): Promise<number[]> =>
  Promise.all(
    groups.map(async ({ numbers }) => {
      let sum = 0
      for (const part of numbers) sum += await part.squares()
      return Math.sqrt(sum)
    }),
  )

/** Factor that brings a gradient of this norm within the limit: min(1, limit / (norm + 1e-6)). */
export function clipScale(norm: number, maxGradNorm: number): number {
  return Math.min(1, maxGradNorm / (norm + NORM_OFFSET))
}

/** Entries whose squares are added up in f32, the two halves entry by entry until one is left; sums of blocks are added in f64. */
export const BLOCK = 4096

/** Factors for numbers whose squares are too large or too small for f32; they are multiplied first. */
const [SMALLER, LARGER] = [2 ** -72, 2 ** 72]
const LEAST_SUM = 2 ** -80

/**
 * A sum of squares from the sums of blocks of numbers that were multiplied with `unit`. The order of all sums is fixed, so that it is the
 * same number wherever the blocks are. Not finite where a number is not.
 */
export async function sumOfSquares(blocks: (unit: number) => Promise<Float32Array>): Promise<number> {
  const plain = total(await blocks(1))
  if (plain >= LEAST_SUM && plain < Infinity) return plain
  const unit = plain < LEAST_SUM ? LARGER : SMALLER
  return total(await blocks(unit)) / unit ** 2
}

const total = (sums: Float32Array): number => sums.reduce((sum, part) => sum + part, 0)

/** Adds up blocks on the host. */
export function blockSums(values: Float32Array, unit: number): Float32Array {
  const sums = new Float32Array(Math.ceil(values.length / BLOCK))
  const squares = new Float32Array(BLOCK)
  for (let block = 0; block < sums.length; block++) {
    const start = block * BLOCK
    const length = Math.min(BLOCK, values.length - start)
    for (let at = 0; at < length; at++) {
      const value = Math.fround(values[start + at]! * unit)
      const square = Math.fround(value * value)
      squares[at] = square < LEAST_F32 ? 0 : square // of a number too small for f32 too
    }
    squares.fill(0, length)
    for (let half = BLOCK / 2; half >= 1; half /= 2) {
      for (let at = 0; at < half; at++) squares[at] = squares[at]! + squares[half + at]!
    }
    sums[block] = squares[0]!
  }
  return sums
}
