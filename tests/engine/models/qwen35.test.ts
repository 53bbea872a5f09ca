/** Qwen 3.5 as its checkpoints have it: the text half of a model that also reads images. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { readModelConfig } from '#engine/models/registry.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'

const prefix = 'model.language_model.'

describe.each([
  ['qwen35', 'qwen3_5', true],
  ['qwen35-moe', 'qwen3_5_moe', false],
] as const)('%s', (name, modelType, isTied) => {
  const fixture = path.resolve(import.meta.dirname, '../../fixtures/reference', name, 'model')
  const text = JSON.parse(readFileSync(path.join(fixture, 'config.json'), 'utf8')) as object
  const whole = {
    model_type: modelType,
    tie_word_embeddings: isTied,
    text_config: text,
    vision_config: { depth: 2, hidden_size: 8 },
  }

  test('the text half is read like the model without images, under the names that its tensors have there', () => {
    const [half, alone] = [readModelConfig(whole, 'config.json'), readModelConfig(text, 'config.json')]
    expect(half.names).toMatchObject({
      embedding: `${prefix}embed_tokens.weight`,
      layers: `${prefix}layers.`,
      finalNorm: `${prefix}norm`,
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
      Object.entries(header).map(([tensor, entry]) => [tensor.replace(/^model\./, prefix), entry]),
    )
    const further = {
      'model.visual.bias': image,
      'mtp.norm.weight': { ...image, data_offsets: [body.length + 8, body.length + 16] },
    }
    const written = Buffer.from(JSON.stringify({ ...renamed, ...further }))
    const size = Buffer.alloc(8)
    size.writeBigUInt64LE(BigInt(written.length))
    writeFileSync(
      path.join(folder, 'model.safetensors'),
      Buffer.concat([size, written, body, Buffer.alloc(16)]),
    )
    const { config, tensors } = openModelFolder(folder)
    expect(config.layers).toBe(3)
    expect(tensors.has(`${prefix}layers.0.linear_attn.A_log`)).toBe(true)
  })
})

test('the experts of a layer may be one tensor, gate and up together, as the hub has them', () => {
  const fixture = path.resolve(import.meta.dirname, '../../fixtures/reference/qwen35-moe/model')
  const { config, tensors } = openModelFolder(fixture)
  const { count, width, form } = config.experts!
  expect(form).toBe('fused')
  const [first, second] = [0, 1].map((expert) =>
    tensors.get(`model.layers.1.mlp.experts.${expert}.gate_up_proj`)!,
  )
  expect(first!.shape).toEqual([2 * width, config.hiddenSize])
  expect(second!.offset - first!.offset).toBe(first!.byteLength)
  expect(tensors.has(`model.layers.1.mlp.experts.${count - 1}.down_proj`)).toBe(true)
})
