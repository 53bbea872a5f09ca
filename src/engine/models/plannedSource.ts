/** Builds the source of a model that is not on disk: the tensors its base would have, and their sizes. */
import { heldIn, isHalfPrecision, type BasePrecision } from '#shared/precision.ts'
import {
  blockForm,
  blocksName,
  blocksPerRow,
  halfName,
  linearWeights,
  scalesName,
  zerosName,
} from './blocks.ts'
import type { ModelConfig } from './config.ts'
import {
  expectedTensors,
  headWeightName,
  type ModelSource,
  type TensorDtype,
  type TensorLocation,
} from './source.ts'

const widths: Readonly<Record<TensorDtype, number>> = { F32: 4, F16: 2, BF16: 2, U8: 1 }

type Planned = readonly [string, TensorLocation]

function planned(name: string, dtype: TensorDtype, shape: readonly number[]): Planned {
  const byteLength = shape.reduce((size, dim) => size * dim, widths[dtype])
  return [name, { file: 'planned', offset: 0, byteLength, dtype, shape }]
}

/** The source that a base in this precision is, with blocks where it has 8 or 4 bits. */
export function plannedSource(config: ModelConfig, precision: BasePrecision): ModelSource {
  const base = heldIn(precision)
  const linears = new Set(linearWeights(config).map(({ name }) => name))
  const head = headWeightName(config)
  const zeros: number[] = []
  const inBlocks = (name: string, shape: readonly number[], bits: 'int8' | 'int4'): Planned[] => {
    const [rows = 0, columns = 0] = shape
    const form = blockForm(bits, columns)
    const blocks = blocksPerRow(columns, form)
    zeros.push(Math.ceil((rows * blocks * form.bits) / 8))
    return [
      planned(blocksName(name, bits), 'U8', [rows, blocks, (form.blockSize * form.bits) / 8]),
      planned(scalesName(name, bits), 'F32', [rows, blocks]),
    ]
  }
  const tensors = expectedTensors(config).flatMap(({ name, shape }): Planned[] => {
    const exact = planned(name, 'F32', shape)
    if (base === 'f32') return [exact]
    if (!linears.has(name))
      return base === 'int8' && name === head ? [exact, ...inBlocks(name, shape, base)] : [exact]
    return isHalfPrecision(base)
      ? [planned(halfName(name, base), base === 'f16' ? 'F16' : 'BF16', shape)]
      : inBlocks(name, shape, base)
  })
  if (base === 'int8' || base === 'int4')
    tensors.push(planned(zerosName(base), 'U8', [Math.max(0, ...zeros)]))
  return { directory: 'planned', config, tensors: new Map(tensors) }
}
