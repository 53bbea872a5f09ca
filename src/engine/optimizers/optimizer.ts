/**
 * Reading guide: an optimizer moves flat parameter arrays along their gradients. `optimizer.ts` says what one is,
 * `clipping.ts` limits the gradient of each group, `adamw.ts` is the one we have, `schedule.ts` and the files named
 * after a curve say which learning rate belongs to which step, `registry.ts` lists both kinds.
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
