import type { ModelConfig } from './config.ts'

export type TensorDtype = 'F32' | 'F16' | 'BF16' | 'U8'

/** Where a tensor's bytes lie on disk: row-major, little-endian. */
export interface TensorLocation {
  /** Absolute path of the file, links resolved. */
  readonly file: string
  /** Bytes from the start of the file. */
  readonly offset: number
  readonly byteLength: number
  readonly dtype: TensorDtype
  /** As it is computed with. */
  readonly shape: readonly number[]
  /** The bytes are those of the transposed matrix; never so in a source that is computed with. */
  readonly isTransposed?: boolean
}

/** A model on disk whose config and every tensor were checked against each other. */
export interface ModelSource {
  readonly directory: string
  readonly config: ModelConfig
  /** Hugging Face names (`model.layers.0.self_attn.q_proj.weight`) → location. */
  readonly tensors: ReadonlyMap<string, TensorLocation>
}

/** A tensor in memory, row-major. */
export interface NamedTensor {
  readonly name: string
  readonly shape: readonly number[]
  readonly data: Float32Array
}
