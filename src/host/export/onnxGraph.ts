/**
 * Builds the generation graph with inputs and outputs that other programs know: token ids in, logits of every position
 * out, keys and values of the past in, of past and present out. Names and shapes are those of Optimum's
 * `text-generation-with-past`.
 */
import { type Program } from '#engine/graph/onnx.ts'
import type { Dim, Shape } from '#engine/graph/shape.ts'
import { substitute } from '#engine/graph/substitute.ts'
import {
  apply,
  constant,
  input,
  type InputNode,
  type OpNode,
  outputOf,
  topologicalOrder,
  type Value,
  weight,
  type WeightLocation,
} from '#engine/graph/value.ts'
import type { LoraConfig, ModelConfig } from '#engine/models/config.ts'
import { embeddingValue } from '#engine/models/decoder.ts'
import {
  layerInputName,
  generationProgram,
  type GenerationWeights,
  windowMaskName,
} from '#engine/models/generationGraph.ts'
import { rotaryNames } from '#engine/models/rotaryInputs.ts'
import { addLora, loraSlots } from '#engine/models/lora.ts'
import { add, mul, scale, cast } from '#engine/ops/arithmetic.ts'
import { cumulativeSum, lessOrEqualOp } from '#engine/ops/choice.ts'
import { int } from '#engine/ops/define.ts'
import { gather } from '#engine/ops/gather.ts'
import { concat, concatOp, lengthOf, reshape, splitAt, splitRows } from '#engine/ops/layout.ts'
import { matmul } from '#engine/ops/matmul.ts'

export interface OnnxGraphOptions {
  readonly config: ModelConfig
  /** null: no adapter, or one that is in the weights already. */
  readonly lora: LoraConfig | null
  /** Place of each weight, by name: those of the model, and `rotaryWeightNames`. */
  readonly places: ReadonlyMap<string, WeightLocation>
}

/** Weights of a rotary embedding's tables, [positions, R/2] each. */
export const rotaryWeightNames = (rope: number) =>
  ({ cos: `rope.${rope}.cos`, sin: `rope.${rope}.sin` }) as const

/** Names of a layer's cached keys and values, before and after. */
export const cacheNames = (layer: number) =>
  ({
    pastKey: `past_key_values.${layer}.key`,
    pastValue: `past_key_values.${layer}.value`,
    presentKey: `present.${layer}.key`,
    presentValue: `present.${layer}.value`,
  }) as const

const [batch, length, past, total] = [
  'batch_size',
  'sequence_length',
  'past_sequence_length',
  'total_sequence_length',
]

/** Value added to the scores of hidden positions; finite, so that a row of nothing else stays a number. */
const hidden = -1e9

/** Inputs, in this order: input_ids, attention_mask, position_ids, the past, and with `lora` the adapter's matrices. */
export function onnxProgram(options: OnnxGraphOptions): Program {
  const { config } = options
  const ids = input('input_ids', 'int64', [batch, length])
  const positions = input('position_ids', 'int64', [batch, length])
  const mask = input('attention_mask', 'int64', [batch, total])
  const caches = Array.from({ length: config.layers }, (_, layer) => cacheInputs(config, layer))
  const program = scoringEveryPosition(options)
  const replaced = replaceInputs(program, {
    hidden: embedded(options, ids, positions),
    positions,
    inverseTemperature: constant([1], [1]),
    ...tables(options),
    ...masks(config, mask, caches[0] as Cache),
    ...Object.fromEntries(
      caches.flatMap(({ key, value }, layer) => [
        [`key ${layer}`, key],
        [`value ${layer}`, value],
      ]),
    ),
    ...adapterInputs(options),
  })
  const outputs: Record<string, Value> = { logits: splitRows(replaced['logits'] as Value, ids) }
  caches.forEach((cache, layer) => {
    const { presentKey, presentValue } = cacheNames(layer)
    outputs[presentKey] = grown(cache.key, replaced[`new key ${layer}`] as Value)
    outputs[presentValue] = grown(cache.value, replaced[`new value ${layer}`] as Value)
  })
  return outputs
}

interface Cache {
  readonly key: Value
  readonly value: Value
}

function cacheInputs({ kvHeads, headDim }: ModelConfig, layer: number): Cache {
  const shape: Shape = [batch, kvHeads, past, headDim]
  const { pastKey, pastValue } = cacheNames(layer)
  return { key: input(pastKey, 'float32', shape), value: input(pastValue, 'float32', shape) }
}

/** Past and new along the axis of positions. */
function grown(cached: Value, fresh: Value): Value {
  const [, heads, , channels] = cached.shape as readonly [Dim, Dim, Dim, Dim]
  const type = { dtype: cached.dtype, shape: [batch, heads, total, channels] }
  return apply(concatOp, [cached, fresh], { axis: int(2) }, [type])[0] as Value
}

function weightsOf({ places }: OnnxGraphOptions): GenerationWeights {
  const made = new Map<string, Value>()
  const vector = (name: string): Value => {
    const place = places.get(name)
    if (place === undefined) throw new Error(`Expected the export to have ${name}.`)
    const value = made.get(name) ?? weight(name, place)
    made.set(name, value)
    return value
  }
  return {
    vector,
    product(x, name, lora) {
      const y = matmul(x, vector(name), { transB: true })
      return lora ? addLora(y, x, lora) : y
    },
  }
}

/** Builds the generation program that scores the requested positions, without the choice of ids. */
function scoringEveryPosition(options: OnnxGraphOptions): Program {
  const program = generationProgram(options.config, options.lora, weightsOf(options))
  const caches = Object.entries(program).filter(([name]) => name.startsWith('new '))
  const logits = program['logits'] as Value
  const chosen = choiceOfPositions(logits)
  const [everywhere] = substitute([logits], new Map([[outputOf(chosen), chosen.inputs[0] as Value]]))
  return { ...Object.fromEntries(caches), logits: everywhere as Value }
}

/** The node that takes the rows that the input `scored` names. */
function choiceOfPositions(logits: Value): OpNode {
  const node = topologicalOrder([logits], true).find(
    (candidate): candidate is OpNode =>
      candidate.kind === 'op' &&
      candidate.inputs.some((read) => read?.node.kind === 'input' && read.node.name === 'scored'),
  )
  if (node === undefined) throw new Error('Expected the generation graph to choose a position.')
  return node
}

/** The same program with inputs replaced by name; one that is not named stays. */
function replaceInputs(program: Program, values: Readonly<Record<string, Value>>): Program {
  const names = Object.keys(program)
  const roots = names.map((name) => program[name] as Value)
  const inputs = topologicalOrder(roots, true).filter((node): node is InputNode => node.kind === 'input')
  const replacements = inputs.flatMap((node): [Value, Value][] => {
    const value = values[node.name]
    return value === undefined ? [] : [[outputOf(node), value]]
  })
  const replaced = substitute(roots, new Map(replacements))
  return Object.fromEntries(names.map((name, index) => [name, replaced[index] as Value]))
}

/** Returns the input of the first layer for ids and, where they are learned, positions. */
function embedded(options: OnnxGraphOptions, ids: Value, positions: Value): Value {
  const weights = weightsOf(options)
  const value = embeddingValue(options.config, (name, rows) => gather(weights.vector(name), rows))
  const program = replaceInputs({ value }, { ids: reshape(ids, [-1]), positions: reshape(positions, [-1]) })
  return program['value'] as Value
}

function tables({ config, places }: OnnxGraphOptions): Record<string, Value> {
  return Object.fromEntries(
    config.ropes.flatMap((_, rope) => {
      const [inputs, names] = [rotaryNames(rope), rotaryWeightNames(rope)]
      return (['cos', 'sin'] as const).map((kind) => {
        const place = places.get(names[kind])
        if (place === undefined) throw new Error(`Expected the export to have ${names[kind]}.`)
        return [inputs[kind], weight(names[kind], place)]
      })
    }),
  )
}

/** The adapter's matrices under the names of its file. */
const adapterInputs = ({ config, lora }: OnnxGraphOptions): Record<string, Value> =>
  lora === null
    ? {}
    : Object.fromEntries(
        loraSlots(config, lora).map((slot) => [
          layerInputName(slot.layer, slot.input),
          input(slot.name, 'float32', slot.shape),
        ]),
      )

/**
 * Builds the mask of each window: a new position sees the slots that the attention mask shows, up to its own and,
 * through a window, not too far back. [B, 1, g·T, P+T]: the graph's queries are the g heads of a group one after the
 * other.
 */
function masks(config: ModelConfig, mask: Value, { key }: Cache): Record<string, Value> {
  const shown = cast(mask, 'float32')
  const slots = cumulativeSum(add(scale(shown, 0), constant([1], [1, 1]))) // 1, 2, 3 …
  const [, fresh] = splitAt(slots, 1, { at: lengthOf(key, 2), lengths: [past, length] })
  const keys = reshape(slots, [batch, 1, 1, total])
  const queries = reshape(fresh, [batch, 1, length, 1])
  const seen = mul(isAtMost(keys, queries), reshape(shown, [batch, 1, 1, total]))
  const copies = config.heads / config.kvHeads
  return Object.fromEntries(
    config.windows.map((window, index) => {
      const visible =
        window === null ? seen : mul(seen, isAtMost(add(queries, constant([1 - window], [1])), keys))
      const added = add(scale(visible, -hidden), constant([hidden], [1]))
      return [windowMaskName(index), concat(Array<Value>(copies).fill(added), 2)]
    }),
  )
}

/** 1 where a ≤ b, else 0, broadcast to [B, 1, T, P+T]. */
function isAtMost(a: Value, b: Value): Value {
  const shape: Shape = [batch, 1, length, total]
  const compared = apply(lessOrEqualOp, [a, b], {}, [{ dtype: 'bool', shape }])[0] as Value
  return cast(compared, 'float32')
}
