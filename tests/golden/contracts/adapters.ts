/** LoRA configs and matrices of two adapters brought together. */
import { mergePeftFields, padMatrix, samePeftFields } from '#host/adapters/peftMerge.ts'
import {
  asFloatRows,
  asList,
  asObject,
  exact,
  single,
  underOnlyKey,
  type GoldenCase,
  type Json,
  type JsonObject,
} from '../contract.ts'

const casesOf = (inputs: JsonObject): JsonObject[] => asList(inputs.cases).map(asObject)

function mergedConfigs(inputs: JsonObject): unknown {
  const merged = casesOf(inputs).map(({ current = null, checkpoint }) => {
    const own = current === null ? null : asObject(current)
    return mergePeftFields(own, asObject(checkpoint)).merged
  })
  return { merged }
}

function equalConfigs(inputs: JsonObject, golden: GoldenCase): unknown {
  const answers = casesOf(inputs).map((pair) => {
    const [a, b] = Object.values(pair).map(asObject)
    return samePeftFields(a!, b!)
  })
  return underOnlyKey(golden, answers)
}

function paddedTensors(inputs: JsonObject): unknown {
  const live = asObject(inputs.live)
  const padded = Object.entries(asObject(inputs.checkpoint)).map(([name, rows]) => {
    const own = live[name]
    const tensor = matrixOf(name, rows)
    return [name, own === undefined ? rows : rowsOf(padMatrix(matrixOf(name, own), tensor))] as const
  })
  return { padded: Object.fromEntries(padded) }
}

function matrixOf(name: string, value: Json) {
  const rows = asFloatRows(value)
  const width = rows[0]?.length ?? 0
  return {
    name,
    shape: [rows.length, width],
    data: Float32Array.from(rows.flatMap((row) => [...row])),
  }
}

const rowsOf = ({ shape, data }: ReturnType<typeof padMatrix>): Float32Array[] =>
  Array.from({ length: shape[0]! }, (_, row) => data.subarray(row * shape[1]!, (row + 1) * shape[1]!))

export const adapterContracts = {
  lora_config_merge: exact(mergedConfigs),
  lora_config_equal: exact(equalConfigs),
  lora_rank_pad: single(paddedTensors),
}
