import type { Value } from '../graph/value.ts'
import { input } from '../graph/value.ts'
import { add } from '../ops/arithmetic.ts'
import { concat, split } from '../ops/layout.ts'
import { matmul, matmulAdd } from '../ops/matmul.ts'
import type { LinearName, LoraConfig, ModelConfig } from './config.ts'
import { adaptedLinears, linearPath, linearShape, loraScale } from './config.ts'
import { layerPrefix } from './source.ts'

/** An adapter's two factors of one linear layer, as graph inputs. */
export interface LoraFactors {
  /** [R, in] */
  readonly a: Value
  /** [out, R] */
  readonly b: Value
  readonly scale: number
}

/** One trained tensor of an adapter and its place in the flat parameter array. */
export interface LoraSlot {
  /** `model.layers.0.self_attn.q_proj.lora_A` */
  readonly name: string
  readonly layer: number
  /** Name of the graph input in every layer's program: `q_proj.lora_A`. */
  readonly input: string
  readonly factor: 'A' | 'B'
  readonly shape: readonly [number, number]
  /** Elements from the start of the flat array. */
  readonly offset: number
  readonly size: number
}

/** Lists all tensors of an adapter in storage order: layer by layer, A before B. */
export function loraSlots(config: ModelConfig, lora: LoraConfig): readonly LoraSlot[] {
  const slots: LoraSlot[] = []
  let offset = 0
  for (let layer = 0; layer < config.layers; layer++) {
    for (const target of adaptedLinears(config, lora, layer)) {
      const [out, width] = linearShape(config, target, layer)
      for (const factor of ['A', 'B'] as const) {
        const shape: readonly [number, number] = factor === 'A' ? [lora.rank, width] : [out, lora.rank]
        const size = shape[0] * shape[1]
        const name = `${layerPrefix(config, layer)}${linearPath(target)}.lora_${factor}`
        slots.push({ name, layer, input: `${target}.lora_${factor}`, factor, shape, offset, size })
        offset += size
      }
    }
  }
  return slots
}

/** The graph inputs of a layer's adapter; `inputName` may tell layers of one graph apart. */
export function loraInputs(
  config: ModelConfig,
  lora: LoraConfig,
  layer: number,
  inputName: (name: string) => string = (name) => name,
): ReadonlyMap<LinearName, LoraFactors> {
  const scale = loraScale(lora)
  return new Map(
    adaptedLinears(config, lora, layer).map((name) => {
      const [out, width] = linearShape(config, name, layer)
      const a = input(inputName(`${name}.lora_A`), 'float32', [lora.rank, width])
      const b = input(inputName(`${name}.lora_B`), 'float32', [out, lora.rank])
      return [name, { a, b, scale }]
    }),
  )
}

/** (y + s·B(A x))ᵀ from yᵀ [out, N] and x [N, in]. */
export function addLoraTransposed(yT: Value, x: Value, { a, b, scale }: LoraFactors): Value {
  return matmulAdd(b, matmul(x, a, { transB: true, alpha: scale }), yT)
}

/** y + s·B(A x). x […, in], y […, out]. Hu et al. 2021, arXiv:2106.09685, §4.1. */
export const addLora = (y: Value, x: Value, factors: LoraFactors): Value =>
  addReduced(y, reduceTogether(x, [factors])[0] as Value, factors)

/** y + B u, where u […, R] is s·A x already. Not one Gemm: the runtime copies what it adds to on a single thread. */
export const addReduced = (y: Value, reduced: Value, { b }: LoraFactors): Value =>
  add(y, matmul(reduced, b, { transB: true }))

/**
 * s·A x of all adapters that read the same x, each […, R]: one product with their factors below each other, since
 * products as thin as one adapter's take several times as long as their work.
 */
export function reduceTogether(x: Value, factors: readonly LoraFactors[]): readonly Value[] {
  const [first] = factors
  if (!first) return []
  const options = { transB: true, alpha: first.scale }
  if (factors.length === 1) return [matmul(x, first.a, options)]
  const stacked = concat(
    factors.map(({ a }) => a),
    0,
  )
  return split(matmul(x, stacked, options), -1, factors.length)
}
