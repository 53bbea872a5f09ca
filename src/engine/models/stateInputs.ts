/** Graph inputs of what rows keep between passes, and how the latest positions go on. */
import type { Dim } from '../graph/shape.ts'
import { input, integers, type Value } from '../graph/value.ts'
import { concat, joinIntegers, lengthOf, slice } from '../ops/layout.ts'
import { zeros } from '../ops/reduce.ts'
import type { KeyValue, SharedPrompts } from './cachedAttention.ts'
import { attentionOf, headShape, type ModelConfig } from './config.ts'
import type { LatestState, MatrixState } from './layerStates.ts'

/** The symbol of a length that differs between windows. */
export const ofWindow = (symbol: string, window: number): Dim =>
  window === 0 ? symbol : `${symbol}${window}`

/** Graph inputs of prompts that rows share; see `SharedPrompts`. */
export const promptNames = {
  rows: (kvHeads: number): string => `prompt rows of ${String(kvHeads)} heads`,
  places: (kvHeads: number): string => `prompt places of ${String(kvHeads)} heads`,
  sizes: (window: number): string => `prompt sizes ${window}`,
} as const

const slotSymbols = { '': 'P', 'past ': 'P', 'latest ': 'W', 'prompt ': 'S' } as const

const slotInputs = (config: ModelConfig, kind: keyof typeof slotSymbols, layer: number): KeyValue => {
  const mixer = attentionOf(config, layer)
  const { window } = mixer
  const { kvHeads, headDim } = headShape(config, mixer)
  const slots = kind === 'latest ' ? 'W' : ofWindow(slotSymbols[kind], window)
  const shape = [kind === 'prompt ' ? 'G' : 'B', kvHeads, slots, headDim]
  const of = (name: string) => input(`${kind}${name} ${String(layer)}`, 'float32', shape)
  return { key: of('key'), value: of('value') }
}
export const cachedSlots = (config: ModelConfig, layer: number) => slotInputs(config, '', layer)
export const pastSlots = (config: ModelConfig, layer: number) => slotInputs(config, 'past ', layer)
export function sharedPrompts(config: ModelConfig, layer: number): SharedPrompts {
  const mixer = attentionOf(config, layer)
  const { kvHeads } = headShape(config, mixer)
  return {
    ...slotInputs(config, 'prompt ', layer),
    rows: input(promptNames.rows(kvHeads), 'int64', ['G', kvHeads, 'n']),
    places: input(promptNames.places(kvHeads), 'int64', ['B', kvHeads]),
    sizes: input(promptNames.sizes(mixer.window), 'int64', [3]),
  }
}
export const latestSlots = (config: ModelConfig, layer: number) => slotInputs(config, 'latest ', layer)

/** [B, 1, P, C] */
export const latestInput = (
  { name, channels, positions }: LatestState,
  prefix = '',
  count: Dim = positions,
): Value => input(`${prefix}${name}`, 'float32', ['B', 1, count, channels])

/** [B, H, P, C] */
export const matrixInput = ({ name, heads, channels, positions }: MatrixState): Value =>
  input(name, 'float32', ['B', heads, positions, channels])

/** Passes over what linear attention remembers, for programs that models with it do not have. */
export function refuseMatrix({ name }: MatrixState): never {
  throw new Error(`Expected no linear attention in this program, got ${name}.`)
}

/** Zeros for the positions before the first; fresh [B, 1, T, C]. */
export function nothingBefore({ positions, channels }: LatestState, fresh: Value): Value {
  const lengths = joinIntegers([lengthOf(fresh, 0), integers([1, positions, channels])])
  return zeros(lengths, ['B', 1, positions, channels])
}

/** The last positions of [B, 1, any, C]. */
export const latestOf = (all: Value, { positions }: LatestState): Value =>
  slice(all, {
    axis: 2,
    start: integers([-positions]),
    end: integers([Number.MAX_SAFE_INTEGER]),
    length: positions,
  })

/** The state behind one more position. */
export const withNewest = (state: LatestState, before: Value, fresh: Value): Value =>
  latestOf(concat([before, fresh], 2), state)
