/** Gemma 4 as its checkpoints have it: the text half of a model that also sees and hears, and what its config says of its layers. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { keysOfLayer } from '#engine/models/config.ts'
import { readModelConfig } from '#engine/models/registry.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'

const fixture = path.resolve(import.meta.dirname, '../../fixtures/reference/gemma4/model')
const text = JSON.parse(readFileSync(path.join(fixture, 'config.json'), 'utf8')) as Record<string, unknown>
const whole = {
  architectures: ['Gemma4ForConditionalGeneration'],
  model_type: 'gemma4',
  text_config: text,
  vision_config: { model_type: 'gemma4_vision' },
  audio_config: { model_type: 'gemma4_audio' },
}
const read = (changes: object) => readModelConfig({ ...text, ...changes }, 'config.json')

test('its checkpoint opens as its text half, and says that images and sound are left aside', () => {
  const folder = temporaryFolder()
  cpSync(fixture, folder, { recursive: true })
  writeFileSync(path.join(folder, 'config.json'), JSON.stringify(whole))
  const bytes = readFileSync(path.join(fixture, 'model.safetensors'))
  const length = Number(bytes.readBigUInt64LE())
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as Record<string, object>
  const body = bytes.subarray(8 + length)
  const image = { dtype: 'F32', shape: [2], data_offsets: [body.length, body.length + 8] }
  const renamed = Object.entries(header).map(
    ([name, entry]) => [name.replace(/^model\./, 'model.language_model.'), entry] as const,
  )
  const names = { ...Object.fromEntries(renamed), 'model.vision_tower.bias': image }
  const words = Buffer.from(JSON.stringify(names))
  const size = Buffer.alloc(8)
  size.writeBigUInt64LE(BigInt(words.length))
  writeFileSync(path.join(folder, 'model.safetensors'), Buffer.concat([size, words, body, Buffer.alloc(8)]))
  const { config, tensors, notes } = openModelFolder(folder)
  expect(config.names.layerInputs?.table).toBe('model.language_model.embed_tokens_per_layer.weight')
  expect(tensors.has('model.language_model.per_layer_model_projection.weight')).toBe(true)
  expect(notes).toEqual([
    'The model also reads images or sound. Its text half is used; what is for images and sound is left aside.',
    'The weights hold 2 tensors that this model does not use, such as “model.language_model.layers.3.self_attn.k_proj.weight”.',
  ])
})

test('the heads of full layers are read in the spelling of the released configs too', () => {
  const { per_layer_config: _, ...plain } = text
  const released = readModelConfig({ ...plain, global_head_dim: 12 }, 'config.json')
  expect(released).toEqual(read({}))
})

test('the last layers read the keys of the last of their kind before them, and have none of their own', () => {
  const config = read({})
  expect(config.mixers.map((_, layer) => keysOfLayer(config, layer))).toEqual([0, 1, 2, 2, 2, 1])
  expect(config.innerSizes).toEqual([40, 40, 40, 80, 80, 80])
})

test('a mixture of experts, attention in both directions and tables of two sizes are refused by name', () => {
  expect(() => read({ enable_moe_block: true })).toThrow('a mixture of experts')
  expect(() => read({ use_bidirectional_attention: 'all' })).toThrow('attention in both directions')
  expect(() => read({ vocab_size_per_layer_input: 90 })).toThrow('a table of 90 tokens')
  expect(() => read({ num_kv_shared_layers: 5 })).toThrow('num_kv_shared_layers')
})
