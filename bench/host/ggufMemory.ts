/**
 * Own memory at its peak while a GGUF file of the shape of Qwen2.5-0.5B is opened in 8-bit blocks, beside the size of the blocks:
 *   node bench/host/ggufMemory.ts
 * Q8_0 at the shape's hidden size, 896, and Q4_K at 1,024, since its super-blocks are 256 long.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type QuantizedShape, writeQuantizedModel } from '../../tests/host/gguf/quantizedModel.ts'

const script = fileURLToPath(new URL('../../tests/host/gguf/openingProcess.ts', import.meta.url))
const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-gguf-memory-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const shape: Omit<QuantizedShape, 'hiddenSize' | 'heads'> = {
  architecture: 'qwen2',
  layers: 24,
  kvHeads: 2,
  intermediateSize: 4_864,
  vocabSize: 151_936,
  tiedHead: true,
  deviation: 0.02,
}
const files = [
  ['Q8_0', { ...shape, hiddenSize: 896, heads: 14 }],
  ['Q4_K', { ...shape, hiddenSize: 1_024, heads: 16 }],
] as const

for (const [dtype, sizes] of files) {
  const file = path.join(folder, `${dtype}.gguf`)
  writeQuantizedModel(file, dtype, sizes)
  const said = execFileSync(process.execPath, [script, file, `${file}-cache`]).toString()
  const { blocks, peak } = JSON.parse(said) as { readonly blocks: number; readonly peak: number }
  const [mb, ratio] = [(bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`, (peak / blocks).toFixed(2)]
  console.log(`${dtype}: blocks ${mb(blocks)}, own memory at its peak ${mb(peak)}, ${ratio} of the blocks`)
}
