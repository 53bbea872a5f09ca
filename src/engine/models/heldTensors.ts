/**
 * The frozen weights as a device that holds tensors has them (WebGPU): in what the base is held in, and in slices of rows, so
 * that no program binds more at once than the device allows. A slice of a rounded matrix counts as what it becomes in f32.
 */
import { type Value, weight } from '../graph/value.ts'
import { frozenMatmul, slicedRows, type FrozenMatrix, type MatrixSlice } from '../ops/frozenMatmul.ts'
import { splitSizes } from '../ops/layout.ts'
import type { Vocabulary } from '../ops/vocabularyHead.ts'
import { blockWeight, halfWeight, hasRoundedLinears, type BlockWeight } from './blocks.ts'
import {
  cachedBy,
  learningMatrix,
  mappedWeight,
  pieceName,
  requireTensor,
  rowPieces,
  type FrozenTensors,
} from './frozenWeights.ts'
import type { DeviceWeights } from './generationGraph.ts'
import { addLora } from './lora.ts'
import { expectedTensors, headWeightName, type ModelSource, type TensorLocation } from './source.ts'

/**
 * Largest tensor that a program binds: what every adapter of WebGPU allows. Most allow more, but the binding does not tell
 * how much (onnxruntime-node 1.30).
 */
const SAFE_BINDING_BYTES = 2 ** 27

export interface HoldingOptions {
  /** Largest tensor that a program binds; what every adapter allows if absent. */
  readonly bindingBytes?: number
  /** Gets what the CPU has to make before it is fed, in f32, by name; programs make it themselves if absent. */
  readonly made?: Map<string, Value>
}

export class HeldTensors implements FrozenTensors {
  readonly head: Vocabulary
  readonly #source: ModelSource
  readonly #bindingBytes: number
  readonly #made: Map<string, Value> | undefined
  /** Outputs and inputs of every matrix. */
  readonly #shapes: ReadonlyMap<string, readonly [number, number]>
  readonly #linear = cachedBy((name: string) => this.#linearSlices(name))
  readonly #table = cachedBy((name: string) => this.#tableSlices(name))

  constructor(source: ModelSource, { bindingBytes = SAFE_BINDING_BYTES, made }: HoldingOptions = {}) {
    this.#source = source
    this.#bindingBytes = bindingBytes
    this.#made = made
    const matrices = expectedTensors(source.config).filter(({ shape }) => shape.length === 2)
    this.#shapes = new Map(matrices.map(({ name, shape }) => [name, shape as readonly [number, number]]))
    const slices = this.#headSlices()
    this.head = { slices, rows: (ids) => slicedRows(slices, ids) }
  }

  vector(name: string): Value {
    return mappedWeight(this.#source, name)
  }

  matrix(name: string): FrozenMatrix {
    const slices = this.#linear(name)
    return slices.length === 1 ? (slices[0] as MatrixSlice) : { slices }
  }

  rows(name: string, ids: Value): Value {
    return slicedRows(this.#table(name), ids)
  }

  #linearSlices(name: string): MatrixSlice[] {
    const rows = this.#rowsWithin(name)
    const exact = this.#source.tensors.get(name)
    if (exact) return this.#exact(name, exact, rows)
    const half = halfWeight(this.#source, name)
    if (half?.location.dtype === 'F16') return widened(half.name, half.location, rows)
    const blocks = blockWeight(this.#source, name)
    return blocks ? this.#inBlocks(name, blocks, rows) : this.#converted(name, rows)
  }

  #tableSlices(name: string): MatrixSlice[] {
    const [height] = this.#shape(name)
    const rows = height <= this.#rowsWithin(name) ? height : this.#vocabularyRows(name)
    return this.#exact(name, requireTensor(this.#source, name), rows)
  }

  #headSlices(): MatrixSlice[] {
    const name = headWeightName(this.#source.config)
    const blocks = hasRoundedLinears(this.#source) ? blockWeight(this.#source, name) : null
    return blocks ? this.#inBlocks(name, blocks, this.#vocabularyRows(name)) : this.#table(name)
  }

  #shape(name: string): readonly [number, number] {
    const shape = this.#shapes.get(name)
    if (!shape) throw new Error(`The model has no matrix ${name}.`)
    return shape
  }

  #rowsWithin(name: string): number {
    return Math.max(1, Math.floor(this.#bindingBytes / (4 * this.#shape(name)[1])))
  }

  /**
   * Number of rows in a slice of the vocabulary, small enough that the logits of as many tokens can be bound as well.
   */
  #vocabularyRows(name: string): number {
    return Math.min(this.#rowsWithin(name), Math.max(1, Math.floor(Math.sqrt(this.#bindingBytes / 4))))
  }

  #exact(name: string, location: TensorLocation, rows: number): MatrixSlice[] {
    if (location.dtype !== 'F32' || location.arrangement !== undefined) return this.#converted(name, rows)
    return rowPieces([location], rows).map(({ first, parts: [part] }) =>
      weight(pieceName(name, first), part as TensorLocation),
    )
  }

  /** Converts a matrix that devices do not read as it lies on disk: made as a whole, then cut. */
  #converted(name: string, rows: number): MatrixSlice[] {
    const [height, width] = this.#shape(name)
    const count = Math.ceil(height / rows)
    const sizes = Array.from({ length: count }, (_, at) => Math.min(rows, height - at * rows))
    const whole = learningMatrix(this.#source, name, width)
    const parts = count === 1 ? [whole] : splitSizes(whole, 0, sizes)
    return parts.map((part, at) => {
      if (!this.#made) return part
      const ofPart = `${pieceName(name, at * rows)} in f32`
      const shape = [sizes[at] as number, width]
      this.#made.set(ofPart, part)
      return weight(ofPart, { file: '', offset: 0, byteLength: 4 * (sizes[at] as number) * width, shape })
    })
  }

  #inBlocks(
    name: string,
    { precision, form: { bits, blockSize }, ...stored }: BlockWeight,
    rows: number,
  ): MatrixSlice[] {
    const [, inputs] = this.#shape(name)
    return rowPieces([stored.blocks, stored.scales], rows).map(({ first, parts }) => {
      const [blocks, scales] = parts as readonly [TensorLocation, TensorLocation]
      const ofPiece = `${pieceName(name, first)} in ${precision}`
      return {
        blocks: weight(ofPiece, blocks, 'uint8'),
        scales: weight(`${ofPiece}, scales`, scales),
        outputs: scales.shape[0] as number,
        inputs,
        bits,
        blockSize,
      }
    })
  }
}

const widened = (name: string, location: TensorLocation, rows: number): MatrixSlice[] =>
  rowPieces([location], rows).map(({ first, parts: [part] }) => ({
    half: weight(pieceName(name, first), part as TensorLocation, 'float16'),
  }))

/** x Wᵀ as learning computes it, for any number of rows: a device has no use for the other forms. */
export function heldWeights({ config }: ModelSource, tensors: FrozenTensors): DeviceWeights {
  const headName = headWeightName(config)
  return {
    vector: (name) => tensors.vector(name),
    rows: (name, ids) => tensors.rows(name, ids),
    product(x, name, lora) {
      const y = frozenMatmul(x, name === headName ? tensors.head : tensors.matrix(name))
      return lora ? addLora(y, x, lora) : y
    },
  }
}
