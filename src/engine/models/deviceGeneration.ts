/** The programs of generation on devices that hold what rows keep between passes, or are given it for each run. */
import { product, type Dim } from '../graph/shape.ts'
import type { Program } from '../graph/onnx.ts'
import { constant, input, type Value } from '../graph/value.ts'
import { add, mul } from '../ops/arithmetic.ts'
import { gather } from '../ops/gather.ts'
import { concat, reshape } from '../ops/layout.ts'
import type { KeyValue } from './cachedAttention.ts'
import type { LoraConfig, ModelConfig } from './config.ts'
import { decoderScores, embeddedIds, passInputs, type DeviceWeights } from './generationGraph.ts'
import { layerStates, type LatestState } from './layerStates.ts'
import {
  latestInput,
  latestOf,
  latestSlots,
  nothingBefore,
  pastSlots,
  withNewest,
  refuseMatrix,
} from './stateInputs.ts'

/** Graph inputs of a decode step on a device: which of the latest slots stay as they are, and the one that is new (1 or 0). */
export const latestNames = { kept: 'latest kept', fresh: 'latest fresh' } as const

export type DeviceGenerationPrograms = Readonly<
  Record<'prompt' | 'longPrompt' | 'behind' | 'decode', Program>
>

/**
 * Generation where keys and values stay on a device. Nothing can be written in place there, so what is new goes into few
 * latest slots [B, K, W, C], which alone are copied in a step; `cacheProgram` puts them behind the others now and then.
 *
 * Inputs are those of `generationProgram`, but ids [N] (and learned positions) instead of hidden states. Outputs beside the
 * scores: `key i` and `value i`: of `prompt` and `behind` (a cache) [B, K, T, C], of `longPrompt` [B, K, P+T, C] (P ≥ 1), of
 * `decode` the latest slots. Inputs are `past key i` and `past value i` [B, K, P, C], `latest key i` and `latest value i`. A
 * layer that convolves reads `past convolved i` and returns `convolved i`: `decode` the latest positions, the others all.
 */
export function deviceGenerationPrograms(
  config: ModelConfig,
  lora: LoraConfig | null,
  weights: DeviceWeights,
): DeviceGenerationPrograms {
  const program = (length: Dim, ways: Ways) => passProgram(config, lora, weights, { length, ...ways })
  return {
    prompt: program('T', promptWays),
    longPrompt: program('T', longPromptWays(config)),
    behind: program('T', {
      see: (layer, fresh) => ({ parts: [pastSlots(config, layer), fresh], kept: fresh }),
      recall: (state, fresh) => ({ before: latestInput(state, 'past '), kept: fresh }),
    }),
    decode: program(1, decodeWays(config)),
  }
}

/** Ways in which new positions reach those before them, and what comes out. */
interface Ways {
  readonly see: (layer: number, fresh: KeyValue) => Seen
  readonly recall: (state: LatestState, fresh: Value) => { readonly before: Value; readonly kept: Value }
}

interface Seen {
  readonly parts: readonly KeyValue[]
  readonly kept: KeyValue
}

const promptWays: Ways = {
  see: (_, fresh) => ({ parts: [fresh], kept: fresh }),
  recall: (state, fresh) => ({ before: nothingBefore(state, fresh), kept: fresh }),
}

const longPromptWays = (config: ModelConfig): Ways => ({
  see(layer, fresh) {
    const joined = both(pastSlots(config, layer), fresh, (past, added) => concat([past, added], 2))
    return { parts: [joined], kept: joined }
  },
  recall(state, fresh) {
    const past = latestInput(state, 'past ', 'p')
    const before = latestOf(concat([nothingBefore(state, fresh), past], 2), state)
    return { before, kept: concat([past, fresh], 2) }
  },
})

const decodeWays = (config: ModelConfig): Ways => ({
  see(layer, fresh) {
    const latest = withLatest(latestSlots(config, layer), fresh, latestFlags())
    return { parts: [pastSlots(config, layer), latest], kept: latest }
  },
  recall(state, fresh) {
    const before = latestInput(state, 'past ')
    return { before, kept: withNewest(state, before, fresh) }
  },
})

function passProgram(
  config: ModelConfig,
  lora: LoraConfig | null,
  weights: DeviceWeights,
  { length, see, recall }: Ways & { readonly length: Dim },
): Program {
  const outputs: Record<string, Value> = {}
  const inputs = passInputs(config, length, 'B')
  const scores = decoderScores(config, lora, weights, {
    ...inputs,
    hidden: embeddedIds(config, weights, {
      ids: input('ids', 'int64', [product(['B', length])]),
      positions: inputs.positions,
    }),
    see(layer, fresh) {
      const { parts, kept } = see(layer, fresh)
      outputs[`key ${String(layer)}`] = kept.key
      outputs[`value ${String(layer)}`] = kept.value
      return parts
    },
    remember: refuseMatrix,
    recall(state, fresh) {
      const { before, kept } = recall(state, fresh)
      outputs[state.name] = kept
      return before
    },
  })
  return { ...scores, ...outputs }
}

/** Flags for which of the latest slots stay as they are and which one is new: 1 or 0, [1, 1, W, 1]. */
interface LatestFlags {
  readonly kept: Value
  readonly fresh: Value
}

function latestFlags(): LatestFlags {
  const flags = (name: string) => input(name, 'float32', [1, 1, 'W', 1])
  return { kept: flags(latestNames.kept), fresh: flags(latestNames.fresh) }
}

/** The latest slots [B, K, W, C] with the new position [B, K, 1, C] in its place. */
export const withLatest = (latest: KeyValue, added: KeyValue, { kept, fresh }: LatestFlags): KeyValue =>
  both(latest, added, (old, one) => add(mul(old, kept), mul(one, fresh)))

const both = (a: KeyValue, b: KeyValue, join: (a: Value, b: Value) => Value): KeyValue => ({
  key: join(a.key, b.key),
  value: join(a.value, b.value),
})

/** Graph input of `cacheProgram`: [B, 1, P] where the latest positions come from. */
export const latestPlacesName = 'places of latest positions'

/**
 * Builds a rearranged cache, [B, H, S, C]: of `parts`, any [Bᵢ, H, Sᵢ, C], the slots that `places` [B, H, S] number
 * through all of them one after the other. So rows leave, enter, change places and get slots, all in one gather. Latest
 * positions are in the parts but `latest`, with one of zeros behind them for rows that have fewer.
 */
export function cacheProgram(config: ModelConfig, parts: readonly string[]): Program {
  const slotPlaces = input('places', 'int64', ['B', config.kvHeads, 'S'])
  const outputs: Record<string, Value> = {}
  for (const state of layerStates(config)) {
    const { kind, name, heads, channels } = state
    const slotsIn = (part: string) => {
      const slots = kind === 'latest' && part === 'past' ? state.positions : `${part} slots`
      const slot = input(`${part} ${name}`, 'float32', [`${part} rows`, heads, slots, channels])
      return reshape(slot, [product(slot.shape.slice(0, -1)), channels])
    }
    if (kind === 'slots') {
      const slots = parts.map(slotsIn)
      outputs[name] = gather(slots.length === 1 ? (slots[0] as Value) : concat(slots, 0), slotPlaces)
    } else {
      const none = constant(new Array<number>(channels).fill(0), [1, channels])
      const slots = [...parts.filter((part) => part !== 'latest').map(slotsIn), none]
      outputs[name] = gather(concat(slots, 0), input(latestPlacesName, 'int64', ['B', 1, state.positions]))
    }
  }
  return outputs
}
