/** Qwen 3.5 as its checkpoints have it: the text half of a model that also reads images. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { readModelConfig } from '#engine/models/registry.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'

const fixture = path.resolve(import.meta.dirname, '../../fixtures/reference/qwen35/model')
const text = JSON.parse(readFileSync(path.join(fixture, 'config.json'), 'utf8')) as object
const whole = {
  architectures: ['Qwen3_5ForConditionalGeneration'],
  model_type: 'qwen3_5',
  tie_word_embeddings: true,
  text_config: text,
  vision_config: { depth: 2, hidden_size: 8 },
}

test('the text half is read like the model without images, under the names that its tensors have there', () => {
  const [half, alone] = [readModelConfig(whole, 'config.json'), readModelConfig(text, 'config.json')]
  expect(half.names).toMatchObject({
    embedding: 'model.language_model.embed_tokens.weight',
    layers: 'model.language_model.layers.',
    finalNorm: 'model.language_model.norm',
  })
  expect({ ...half, names: alone.names }).toEqual(alone)
})

test('its checkpoint opens, and what is for images is left aside', () => {
  const folder = temporaryFolder()
  cpSync(fixture, folder, { recursive: true })
  writeFileSync(path.join(folder, 'config.json'), JSON.stringify(whole))
  const bytes = readFileSync(path.join(fixture, 'model.safetensors'))
  const length = Number(bytes.readBigUInt64LE())
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as Record<string, object>
  const body = bytes.subarray(8 + length)
  const image = { dtype: 'F32', shape: [2], data_offsets: [body.length, body.length + 8] }
  const renamed = Object.fromEntries(
    Object.entries(header).map(([name, entry]) => [name.replace(/^model\./, 'model.language_model.'), entry]),
  )
  const text = Buffer.from(
    JSON.stringify({
      ...renamed,
      'model.visual.bias': image,
      'mtp.norm.weight': { ...image, data_offsets: [body.length + 8, body.length + 16] },
    }),
  )
  const size = Buffer.alloc(8)
  size.writeBigUInt64LE(BigInt(text.length))
  writeFileSync(path.join(folder, 'model.safetensors'), Buffer.concat([size, text, body, Buffer.alloc(16)]))
  const { config, tensors } = openModelFolder(folder)
  expect(config.layers).toBe(3)
  expect(tensors.has('model.language_model.layers.0.linear_attn.A_log')).toBe(true)
})
