/** Computes what an adapter adds to one weight: s·B·A, in f64 row by row, as the weight's file lays its rows out. */
import {
  adaptedLinears,
  type LinearName,
  linearPath,
  type LoraConfig,
  loraScale,
  type ModelConfig,
} from '#engine/models/config.ts'
import { type NamedTensor, layerPrefix, linearWeightName } from '#engine/models/source.ts'

export interface WeightDelta {
  readonly rows: number
  readonly columns: number
  /** Row `row` into `output` [columns]. */
  row(row: number, output: Float64Array): void
  /** Σ |s·b·a| of a row's entries into `output` [columns]: what rounding errors are relative to. */
  sizes(row: number, output: Float64Array): void
}

interface Factors {
  /** [R, in] */
  readonly a: Float32Array
  /** [out, R] */
  readonly b: Float32Array
  readonly rank: number
  readonly scale: number
}

/** s·B·A [out, in]. */
export function weightDelta({ a, b, rank, scale }: Factors): WeightDelta {
  const columns = a.length / rank
  return {
    rows: b.length / rank,
    columns,
    row(row, output) {
      output.fill(0)
      for (let k = 0; k < rank; k++) {
        const factor = scale * (b[row * rank + k] ?? 0)
        const start = k * columns
        for (let column = 0; column < columns; column++) {
          output[column] = (output[column] ?? 0) + factor * (a[start + column] ?? 0)
        }
      }
    },
    sizes(row, output) {
      output.fill(0)
      for (let k = 0; k < rank; k++) {
        const factor = Math.abs(scale * (b[row * rank + k] ?? 0))
        const start = k * columns
        for (let column = 0; column < columns; column++) {
          output[column] = (output[column] ?? 0) + factor * Math.abs(a[start + column] ?? 0)
        }
      }
    },
  }
}

/** [rows, columns] → [columns, rows] */
function transposed(data: Float32Array, rows: number): Float32Array {
  const columns = data.length / rows
  const result = new Float32Array(data.length)
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      result[column * rows + row] = data[row * columns + column] ?? 0
    }
  }
  return result
}

/** (s·B·A)ᵀ [in, out], for weights that are stored transposed: Aᵀ takes the place of B, Bᵀ that of A. */
const transposedDelta = ({ a, b, rank, scale }: Factors): WeightDelta =>
  weightDelta({ a: transposed(b, b.length / rank), b: transposed(a, rank), rank, scale })

export interface AdaptedWeight {
  /** Name of the base's weight: `model.layers.0.self_attn.q_proj.weight`. */
  readonly name: string
  readonly layer: number
  readonly linear: LinearName
  readonly factors: Factors
}

/** Lists every weight that an adapter changes. The tensors are those of the model's adapter, all of them. */
export function adaptedWeights(
  model: ModelConfig,
  lora: LoraConfig,
  tensors: readonly NamedTensor[],
): AdaptedWeight[] {
  const byName = new Map(tensors.map(({ name, data }) => [name, data]))
  const take = (name: string): Float32Array => {
    const data = byName.get(name)
    if (data === undefined) throw new Error(`Expected the adapter to have ${name}.`)
    return data
  }
  const { rank } = lora
  const scale = loraScale(lora)
  return Array.from({ length: model.layers }, (_, layer) =>
    adaptedLinears(model, lora, layer).map((linear): AdaptedWeight => {
      const path = `${layerPrefix(model, layer)}${linearPath(linear)}`
      const factors = { a: take(`${path}.lora_A`), b: take(`${path}.lora_B`), rank, scale }
      return { name: linearWeightName(model, layer, linear), layer, linear, factors }
    }),
  ).flat()
}

/** Returns what an adapter adds to each weight as its file lays it out, by the weight's name. */
export const storedDeltas = (
  model: ModelConfig,
  lora: LoraConfig,
  tensors: readonly NamedTensor[],
): ReadonlyMap<string, WeightDelta> =>
  new Map(
    adaptedWeights(model, lora, tensors).map(({ name, factors }) => [
      name,
      model.transposedLinears ? transposedDelta(factors) : weightDelta(factors),
    ]),
  )

/** values += rows of a delta from `firstRow` on; values [n·columns], rounded to f32 once. */
export function addRows(values: Float32Array, delta: WeightDelta, firstRow: number): void {
  const sum = new Float64Array(delta.columns)
  for (let row = 0; row < values.length / delta.columns; row++) {
    delta.row(firstRow + row, sum)
    const start = row * delta.columns
    for (let column = 0; column < delta.columns; column++) {
      values[start + column] = (values[start + column] ?? 0) + (sum[column] ?? 0)
    }
  }
}
