/**
 * Lists what generation keeps of a row between passes: the tensors by which each layer goes on from the positions that are
 * computed. Caches, feeds and results follow the list, whatever the layers are.
 */
import {
  headShape,
  isRecurrent,
  recurrentWidth,
  type AttentionWindow,
  type LayerMixer,
  type ModelConfig,
  type Recurrence,
} from './config.ts'
import type { Experts } from './expertConfig.ts'

/**
 * A slot for each position, [H, P, C]; through a window, for as many as the next position sees. Slots are in any order, since
 * a mask says which of them are seen.
 */
export interface SlotState {
  readonly kind: 'slots'
  /** `key 3`: of layer 3. */
  readonly name: string
  readonly heads: number
  readonly channels: number
  readonly window: AttentionWindow
  /** Kept to be read when the row ends: programs write it and do not read it. */
  readonly isRecord?: true
}

/** The latest positions alone, [1, P, C], the oldest first; zeros where a row has fewer. */
export interface LatestState {
  readonly kind: 'latest'
  readonly name: string
  readonly heads: 1
  readonly channels: number
  /** P */
  readonly positions: number
}

/** A matrix for each head, [H, P, C], which every position changes as a whole. */
export interface MatrixState {
  readonly kind: 'matrix'
  readonly name: string
  readonly heads: number
  readonly channels: number
  /** P: rows of the matrix. */
  readonly positions: number
}

export type LayerState = SlotState | LatestState | MatrixState

/** Lists what all layers keep, layer by layer. */
export const layerStates = (config: ModelConfig): readonly LayerState[] =>
  config.mixers.slice(0, config.layers).flatMap((mixer, layer): readonly LayerState[] => {
    if (mixer.kind === 'convolution') return [convolutionState(layer, config, mixer)]
    if (isRecurrent(mixer)) return [convolutionState(layer, config, mixer), matrixState(layer, mixer)]
    if (mixer.keysOf !== undefined) return []
    return attentionStates(layer, headShape(config, mixer), config.windows[mixer.window] ?? null)
  })

/** The experts of each position, as numbers: a record for each layer with experts. */
export const routeStates = ({ experts }: Pick<ModelConfig, 'experts'>): readonly SlotState[] =>
  (experts?.layers ?? []).flatMap((has, layer) => (has && experts ? [routeState(layer, experts)] : []))

export const routeState = (layer: number, { chosen }: Pick<Experts, 'chosen'>): SlotState => ({
  kind: 'slots',
  name: `routes ${String(layer)}`,
  heads: 1,
  channels: chosen,
  window: null,
  isRecord: true,
})

/** Keys and values. */
export const attentionStates = (
  layer: number,
  { kvHeads, headDim }: Pick<ModelConfig, 'kvHeads' | 'headDim'>,
  window: AttentionWindow,
): SlotState[] =>
  ['key', 'value'].map((name) => ({
    kind: 'slots',
    name: `${name} ${String(layer)}`,
    heads: kvHeads,
    channels: headDim,
    window,
  }))

/** Mixers that read a few positions before. */
export type Convolving = Exclude<LayerMixer, { readonly kind: 'attention' }>

/** The inputs that a short convolution reads of positions before. */
export const convolutionState = (
  layer: number,
  { hiddenSize }: Pick<ModelConfig, 'hiddenSize'>,
  mixer: Convolving,
): LatestState => ({
  kind: 'latest',
  name: `convolved ${String(layer)}`,
  heads: 1,
  channels: isRecurrent(mixer) ? recurrentWidth(mixer) : hiddenSize,
  positions: mixer.kernel - 1,
})

/** Memory of linear attention. */
export const matrixState = (layer: number, { valueHeads, keyDim, valueDim }: Recurrence): MatrixState => ({
  kind: 'matrix',
  name: `memory ${String(layer)}`,
  heads: valueHeads,
  channels: valueDim,
  positions: keyDim,
})

export const isRecord = (state: LayerState): boolean => state.kind === 'slots' && state.isRecord === true

/** Slots of a row for at most `capacity` positions: through a window, the next position sees one less of those before it. */
export const slotsBehind = (window: AttentionWindow, capacity: number): number =>
  window === null ? capacity : Math.min(window - 1, capacity)

/** P of a state for rows of at most `capacity` positions. */
export const slotsOf = (state: LayerState, capacity: number): number =>
  state.kind === 'slots' ? slotsBehind(state.window, capacity) : state.positions

/** Bytes of what `rows` rows of at most `capacity` positions keep, in f32. */
export const stateBytes = (states: readonly LayerState[], rows: number, capacity: number): number =>
  states.reduce((sum, state) => sum + state.heads * slotsOf(state, capacity) * state.channels, 0) *
  rows *
  Float32Array.BYTES_PER_ELEMENT
