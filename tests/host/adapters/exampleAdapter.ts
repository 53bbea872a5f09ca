/** Adapters of a small model on disk, whole and then changed. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '#shared/errors.ts'
import type { LinearName, LoraConfig, ModelConfig } from '#engine/models/config.ts'
import { loraSlots } from '#engine/models/lora.ts'
import { readModelConfig } from '#engine/models/registry.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { type Adapter, peftTensorName, readAdapter, writeAdapter } from '#host/adapters/peft.ts'
import { bytesOf, writeSafetensors } from '#host/files/safetensors.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const root = temporaryFolder()
let count = 0
export const newPath = (): string => join(root, `${++count}`)

export const smallShape = {
  hidden_size: 16,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  intermediate_size: 24,
  num_hidden_layers: 2,
  vocab_size: 50,
}
export const model: ModelConfig = readModelConfig({ ...smallShape, model_type: 'llama' }, 'config.json')
export const lora = (targets: readonly LinearName[] = ['q_proj', 'v_proj']): LoraConfig => ({
  rank: 4,
  alpha: 8,
  rsLora: false,
  targets,
})

export const tensorsFor = (config: LoraConfig): NamedTensor[] =>
  loraSlots(model, config).map(({ name, shape, size, offset }) => ({
    name,
    shape,
    data: Float32Array.from({ length: size }, (_, index) => Math.sin(offset + index)),
  }))

export async function write(
  config = lora(),
  change: (tensors: NamedTensor[]) => NamedTensor[] = (same) => same,
): Promise<string> {
  const path = newPath()
  const tensors = change(tensorsFor(config))
  await writeAdapter(path, { config, baseModel: 'Qwen/Qwen2.5-0.5B', tensors, metadata: { run: 'run_1' } })
  return path
}

export const configOf = (path: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(path, 'adapter_config.json'), 'utf8')) as Record<string, unknown>

export function editConfig(path: string, change: Record<string, unknown>): void {
  writeFileSync(join(path, 'adapter_config.json'), JSON.stringify({ ...configOf(path), ...change }))
}

export function errorOf(action: () => unknown): AppError {
  try {
    action()
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('Expected an error.')
}

export const without =
  (name: string) =>
  (tensors: NamedTensor[]): NamedTensor[] =>
    tensors.filter((tensor) => tensor.name !== name)
export const byName = (adapter: Adapter): Map<string, NamedTensor> =>
  new Map(adapter.tensors.map((tensor) => [tensor.name, tensor]))

/** Writes the tensors of an adapter anew. */
export async function renameTensors(path: string, rename: (name: string) => string): Promise<void> {
  const file = join(path, 'adapter_model.safetensors')
  const tensors = tensorsFor(readAdapter(path).config).map(({ name, shape, data }) => ({
    name: rename(peftTensorName(name)),
    dtype: 'F32' as const,
    shape,
    pieces: () => [bytesOf(data)],
  }))
  await writeSafetensors(file, tensors)
}
