/** GGUF files to fuzz with: an adapter as llama.cpp has it, and one with a value of every type. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type GgufValue, writeGguf, type GgufToWrite } from '#host/gguf/gguf.ts'
import { encode, type GgufDtype } from '#host/adapters/ggufLora.ts'
import { openGguf } from '#host/gguf/ggufReader.ts'
import { readTensor, type TensorToWrite } from '#host/files/safetensors.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { exactPieces } from '#host/models/weightCache.ts'
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

const byteTokens = Array.from({ length: 256 }, (_, value) => byteToken(value))
const letters = ['<unk>', '<s>', '</s>', ...byteTokens, '▁', 'a', 'b', 'ab', '▁a', '▁ab']

const typeOf = (id: number): number => (id === 0 ? 2 : id < 3 ? 3 : id < 259 ? 6 : 1)

/** A vocabulary of SentencePiece's kind, without tensors. */
const sentences: GgufToWrite = {
  metadata: new Map<string, GgufValue>([
    ['general.architecture', text('phi3')],
    ['tokenizer.ggml.model', text('llama')],
    ['tokenizer.ggml.tokens', { type: 'array', of: 'string', items: letters }],
    ['tokenizer.ggml.scores', { type: 'array', of: 'float32', items: letters.map((_, id) => -id) }],
    ['tokenizer.ggml.token_type', { type: 'array', of: 'int32', items: letters.map((_, id) => typeOf(id)) }],
    ['tokenizer.ggml.unknown_token_id', { type: 'uint32', value: 0 }],
    ['tokenizer.ggml.bos_token_id', { type: 'uint32', value: 1 }],
    ['tokenizer.chat_template', text('{% for m in messages %}<s>{{ m.content }}</s>{% endfor %}')],
  ]),
  tensors: [],
}

function byteToken(value: number): string {
  return `<0x${value.toString(16).toUpperCase().padStart(2, '0')}>`
}

const models = path.resolve(import.meta.dirname, '../../tests/fixtures/gguf')

/** Everything that is done with a base model before it is computed with. */
function useModel(file: string): void {
  for (const [name, location] of openModelFolder(file).tensors) {
    for (const piece of exactPieces(name, location, 1_024)) if (piece.length === 0) return
  }
  useTokenizer(file)
}

/** Base models: configs, tensors and tokenizers. */
export const ggufModel: FuzzReader = {
  name: 'gguf-model',
  header: (content) => [0, Math.min(content.length, 4_096)],
  // A text of the vocabulary becomes objects; blocks become floats.
  allocation: { perByte: 16, fixed: 1 << 18 },
  targets: (folder) => [
    ...['llama-yarn', 'gemma3', 'phi3-longrope', 'granite', 'gpt2', 'stablelm'].map((name): FuzzTarget => {
      const file = path.join(folder, `${name}.gguf`)
      return {
        name,
        original: readFileSync(path.join(models, `${name}.gguf`)),
        file,
        read: () => useModel(file),
      }
    }),
    ...[sentences].map((content): FuzzTarget => {
      const file = path.join(folder, 'sentences.gguf')
      writeGguf(file, content)
      return { name: 'sentences', original: readFileSync(file), file, read: () => useTokenizer(file) }
    }),
  ],
}

function useTokenizer(file: string): void {
  const { tokenizer, chatTemplate } = loadTokenizer(file)
  tokenizer.decode(tokenizer.encode(' aab b 12 東京', { addSpecialTokens: true }), {
    skipSpecialTokens: false,
  })
  chatTemplate?.render([{ role: 'user', content: 'ab' }], { addGenerationPrompt: true })
}

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
