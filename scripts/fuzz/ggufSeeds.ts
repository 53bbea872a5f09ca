/** GGUF files to fuzz with: an adapter as llama.cpp has it, and one with a value of every type. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type GgufValue, writeGguf, type GgufToWrite } from '#host/adapters/gguf.ts'
import { encode, type GgufDtype } from '#host/adapters/ggufLora.ts'
import { openGguf } from '#host/adapters/ggufReader.ts'
import { readTensor, type TensorToWrite } from '#host/files/safetensors.ts'
import type { FuzzReader, FuzzTarget } from './targets.ts'

function tensor(name: string, dtype: GgufDtype, shape: readonly number[]): TensorToWrite {
  const length = shape.reduce((product, size) => product * size, 1)
  const values = Float32Array.from({ length }, (_, index) => Math.sin(index))
  return { name, dtype, shape, pieces: () => [encode(values, dtype)] }
}

const text = (value: string): GgufValue => ({ type: 'string', value })

const adapter: GgufToWrite = {
  metadata: new Map<string, GgufValue>([
    ['general.architecture', text('llama')],
    ['general.type', text('adapter')],
    ['adapter.type', text('lora')],
    ['adapter.lora.alpha', { type: 'float32', value: 16 }],
  ]),
  tensors: (['F32', 'F16', 'BF16'] as const).flatMap((dtype, layer) => [
    tensor(`blk.${String(layer)}.attn_q.weight.lora_a`, dtype, [4, 16]),
    tensor(`blk.${String(layer)}.attn_q.weight.lora_b`, dtype, [16, 4]),
  ]),
}

const everyType: GgufToWrite = {
  metadata: new Map<string, GgufValue>([
    ['general.alignment', { type: 'uint32', value: 32 }],
    ...(['uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'float32', 'float64'] as const).flatMap(
      (type): [string, GgufValue][] => [
        [`one.${type}`, { type, value: 3 }],
        [`many.${type}`, { type: 'array', of: type, items: [1, 2, 3] }],
      ],
    ),
    ...(['uint64', 'int64'] as const).flatMap((type): [string, GgufValue][] => [
      [`one.${type}`, { type, value: 3n }],
      [`many.${type}`, { type: 'array', of: type, items: [1n, 2n] }],
    ]),
    ['one.bool', { type: 'bool', value: true }],
    ['many.bool', { type: 'array', of: 'bool', items: [1, 0] }],
    ['one.string', text('naïve 東京')],
    ['many.string', { type: 'array', of: 'string', items: ['', 'a', 'bc'] }],
  ]),
  tensors: [tensor('four.dimensions', 'F32', [2, 1, 3, 2]), tensor('one', 'F16', [7])],
}

const files: readonly (readonly [name: string, file: GgufToWrite])[] = [
  ['adapter.gguf', adapter],
  ['every-type.gguf', everyType],
  ['empty.gguf', { metadata: new Map(), tensors: [] }],
]

export const gguf: FuzzReader = {
  name: 'gguf',
  header: (content) => [0, Math.min(content.length, 1_024)],
  // Halves become floats.
  allocation: { perByte: 2, fixed: 4_096 },
  targets: (folder) =>
    files.map(([name, content]): FuzzTarget => {
      const file = path.join(folder, name)
      writeGguf(file, content)
      const read = (): void => {
        for (const location of openGguf(file).tensors.values()) readTensor(location)
      }
      return { name, original: readFileSync(file), file, read }
    }),
}
