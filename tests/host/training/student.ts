/** Students and teachers made of the starter model. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { f32ToWrite, openSafetensors, readTensor, writeSafetensors } from '#host/files/safetensors.ts'
import { starterConfig } from '../runs/runFixture.ts'

interface Tensor {
  readonly shape: readonly number[]
  readonly data: Float32Array
}

async function writeChanged(
  directory: string,
  change: (name: string, tensor: Tensor) => Tensor,
): Promise<void> {
  cpSync(starterConfig.model, directory, { recursive: true })
  const file = path.join(directory, 'model.safetensors')
  const tensors = [...openSafetensors(file).tensors].map(([name, location]) => {
    const { shape, data } = change(name, { shape: location.shape, data: readTensor(location) })
    return f32ToWrite({ name, shape: [...shape], data })
  })
  await writeSafetensors(file, tensors, { metadata: { format: 'pt' } })
}

/** The starter model, less sure of everything that it says. */
export const writeStudent = (directory: string): Promise<void> =>
  writeChanged(directory, (name, { shape, data }) => ({
    shape,
    data: name === 'model.norm.weight' ? data.map((weight) => 0.5 * weight) : data,
  }))

/** Rewrites some keys of the config of a model. */
function changeConfig(
  directory: string,
  changes: (config: Readonly<Record<string, unknown>>) => object,
): void {
  const file = path.join(directory, 'config.json')
  const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
  writeFileSync(file, JSON.stringify({ ...config, ...changes(config) }))
}

/** The starter model, which reads no more tokens than this. */
export function writeShort(directory: string, contextLength: number): void {
  cpSync(starterConfig.model, directory, { recursive: true })
  changeConfig(directory, () => ({ max_position_embeddings: contextLength }))
}

/** The starter model with rows behind its vocabulary that pad its table: copies of others, so as likely as these. */
export async function writePadded(directory: string, rows: number): Promise<void> {
  await writeChanged(directory, (name, { shape, data }) => {
    if (name !== 'model.embed_tokens.weight') return { shape, data }
    const [size, width] = shape as readonly [number, number]
    const longer = new Float32Array((size + rows) * width)
    longer.set(data)
    longer.set(data.subarray(0, rows * width), data.length)
    return { shape: [size + rows, width], data: longer }
  })
  changeConfig(directory, ({ vocab_size: size }) => ({ vocab_size: Number(size) + rows }))
}
