/** Blocks and types against those of llama.cpp's own quantiser (tests/fixtures/quantized/make.py). */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { readModelConfig } from '#engine/models/registry.ts'
import { dequantize, blockLayouts } from '#host/files/dequantize.ts'
import { type GgufMix, typeInMix } from '#host/gguf/ggufMix.ts'
import { openGguf } from '#host/gguf/ggufReader.ts'
import { quantize } from '#host/gguf/quantize.ts'
import { readPieces, readTensor } from '#host/files/safetensors.ts'

const fixtures = path.resolve(import.meta.dirname, '../../fixtures/quantized')

describe.each(['Q8_0', 'Q5_0', 'Q4_K', 'Q6_K'] as const)('%s', (dtype) => {
  const { tensors } = openGguf(path.join(fixtures, 'blocks.gguf'))
  const values = readTensor(tensors.get('values')!)
  const blocks = quantize(dtype, values)

  test('every block is ggml’s, bit for bit', () => {
    const [wanted] = readPieces(tensors.get(dtype)!, 1 << 20)
    const { bytes } = blockLayouts[dtype]
    const differing = Array.from({ length: blocks.length / bytes }, (_, block) => block).filter((block) => {
      const of = (all: Uint8Array) => Buffer.from(all.subarray(block * bytes, (block + 1) * bytes))
      return !of(blocks).equals(of(wanted!))
    })
    expect(blocks.length).toBe(wanted!.length)
    expect(differing).toEqual([])
  })

  test('read back they are near the numbers', () => {
    const back = new Float32Array(values.length)
    dequantize(dtype, blocks, back)
    const norm = (numbers: Float32Array) => Math.hypot(...numbers)
    const error = norm(values.map((value, at) => value - back[at]!)) / norm(values)
    expect(error).toBeLessThan({ Q8_0: 0.01, Q5_0: 0.06, Q4_K: 0.1, Q6_K: 0.03 }[dtype])
  })
})

interface Case {
  readonly architecture: string
  readonly layers: number
  readonly width: number
  readonly inner: number
  readonly hasHead: boolean
  readonly mix: GgufMix
  readonly types: Readonly<Record<string, string>>
}

const cases = JSON.parse(readFileSync(path.join(fixtures, 'mixes.json'), 'utf8')) as readonly Case[]

test.each(cases)('$architecture of $layers layers, $width wide, as $mix', (given) => {
  const { architecture, layers, width, inner, hasHead, mix, types } = given
  const sizes = architecture === 'gpt2' ? { n_embd: width, n_layer: layers, n_head: 4 } : {}
  const config = readModelConfig(
    {
      model_type: architecture,
      hidden_size: width,
      intermediate_size: inner,
      num_hidden_layers: layers,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      vocab_size: 32,
      tie_word_embeddings: !hasHead,
      ...sizes,
    },
    'config.json',
  )
  const columnsOf = (name: string): number => (name.includes('ffn_down') ? inner : width)
  const ours = Object.keys(types).map((name) => {
    const isVector = name.includes('norm') || name.endsWith('.bias')
    return [name, typeInMix(mix, { name, shape: isVector ? [width] : [32, columnsOf(name)] }, config)]
  })
  expect(Object.fromEntries(ours)).toEqual(types)
})
