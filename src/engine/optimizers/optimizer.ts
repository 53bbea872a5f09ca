/**
 * Reading guide: an optimizer moves flat parameter arrays along their gradients. This file says what one is and limits
 * the gradient of each group, `adamw.ts` is the one we have, `schedules.ts` says which learning rate belongs to which step.
 *
 * All arrays are f32 and flat, one entry per parameter; the arithmetic of one entry is f64 and rounded once when it
 * is stored. Plain loops, because an elementwise graph was measured slower than JavaScript for this.
 */

/** Half-open range [start, end) of a flat parameter array. */
export interface ParameterRange {
  readonly start: number
  readonly end: number
}

/** Parameters that share a learning rate and are clipped together, such as actor or critic. */
export interface ParameterGroup {
  readonly ranges: readonly ParameterRange[]
  readonly learningRate: number
  /** Overrides the optimizer's own weight decay, such as 0 for norms. */
  readonly weightDecay?: number
}

/** Everything an optimizer remembers. `buffers` hold one entry per parameter; a checkpoint stores both fields as they are. */
export interface OptimizerState {
  /** Updates taken so far. */
  step: number
  readonly buffers: Readonly<Record<string, Float32Array>>
}

/** One update. `parameters` and `state` are changed in place; `gradients` are only read. */
export interface OptimizerTask {
  readonly parameters: Float32Array
  readonly gradients: Float32Array
  readonly state: OptimizerState
  readonly groups: readonly ParameterGroup[]
  /** L2 limit of each group's gradient; Infinity = off. */
  readonly maxGradNorm: number
}

/** A plug-in kind: one file, one line in `registry.ts`. */
export interface Optimizer<Settings> {
  readonly id: string
  readonly title: string
  readonly settings: Settings
  /** Names of the state's buffers. */
  readonly buffers: readonly string[]
  /** Takes one update; returns the gradient norm of each group before clipping. */
  step(task: OptimizerTask, settings: Settings): number[]
}

/** The state before the first update, for `length` parameters. */
export function initialState(optimizer: Pick<Optimizer<unknown>, 'buffers'>, length: number): OptimizerState {
  return {
    step: 0,
    buffers: Object.fromEntries(optimizer.buffers.map((name) => [name, new Float32Array(length)])),
  }
}

/** The named buffer, checked against the number of parameters: a checkpoint of another adapter must not slip in. */
export function stateBuffer(state: OptimizerState, name: string, length: number): Float32Array {
  const buffer = state.buffers[name]
  if (!buffer) throw new Error(`Expected optimizer state with a buffer named ${name}.`)
  if (buffer.length !== length) {
    throw new Error(`Expected ${length} entries in optimizer buffer ${name}, got ${buffer.length}.`)
  }
  return buffer
}

/** Keeps the division finite when a group's gradient is all zero; PyTorch's `clip_grad_norm_` uses the same. */
const NORM_OFFSET = 1e-6

/**
 * L2 norm of each group's gradient, summed in f64. Reads only. Squares of f32 numbers cannot overflow f64: a norm that is
 * not finite means a gradient that is not.
 */
export const gradientNorms = (
  gradients: Float32Array,
  groups: readonly Pick<ParameterGroup, 'ranges'>[],
): number[] =>
  groups.map(({ ranges }) =>
    Math.sqrt(ranges.reduce((sum, { start, end }) => sum + sumOfSquares(gradients, start, end), 0)),
  )

/** Factor that brings a gradient of this norm within the limit: min(1, limit / (norm + 1e-6)). */
export function clipScale(norm: number, maxGradNorm: number): number {
  return Math.min(1, maxGradNorm / (norm + NORM_OFFSET))
}

function sumOfSquares(values: Float32Array, start: number, end: number): number {
  let sum = 0
  for (let index = start; index < end; index++) {
    const value = values[index]!
    sum += value * value
  }
  return sum
}
