import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes, type ModelShapeName } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { readTensor } from '#host/files/safetensors.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const folder = temporaryFolder()
const tinyNames = (Object.keys(modelShapes) as ModelShapeName[]).filter((name) => name.startsWith('tiny-'))
const read = (name: string, tensor: string): Float32Array => {
  const location = openModelFolder(join(folder, name)).tensors.get(tensor)
  if (!location) throw new Error(`Expected ${tensor}.`)
  return readTensor(location)
}
const deviationOf = (values: Float32Array): number =>
  Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length)

describe('models with random weights', () => {
  test.each(tinyNames)('%s opens, with the sizes of its shape', async (name) => {
    const shape = modelShapes[name]
    await writeRandomModel(join(folder, name), shape, 1, 'F32')
    const model = openModelFolder(join(folder, name))
    expect(model.config).toMatchObject({
      architecture: shape.modelType,
      layers: shape.layers,
      headDim: shape.headDim,
      kvHeads: shape.kvHeads,
      vocabSize: shape.vocabSize,
      tiedHead: shape.tiedHead,
      eosIds: [258, 256],
      padId: 256,
    })
    expect(model.ignoredTensors).toEqual([])
    const weights = read(name, model.config.names.embedding)
    expect(deviationOf(weights) / shape.deviation).toBeGreaterThan(0.95)
    expect(deviationOf(weights) / shape.deviation).toBeLessThan(1.05)
    const norm = read(name, `${model.config.names.finalNorm}.weight`)
    const mean = norm.reduce((sum, value) => sum + value, 0) / norm.length
    expect(mean).toBeCloseTo(model.config.norm === 'rms-offset' ? 0 : 1, 1)
  })

  test('the seed decides, byte for byte', async () => {
    const write = async (name: string, seed: number): Promise<Buffer> => {
      await writeRandomModel(join(folder, name), modelShapes['tiny-llama'], seed, 'BF16')
      return readFileSync(join(folder, name, 'model.safetensors'))
    }
    const first = await write('a', 5)
    expect(await write('b', 5)).toEqual(first)
    expect(await write('c', 6)).not.toEqual(first)
    expect(openModelFolder(join(folder, 'a')).tensors.get('lm_head.weight')?.dtype).toBe('BF16')
  })

  test('tensors beyond a million numbers do not repeat themselves', async () => {
    const shape = { ...modelShapes['tiny-llama'], vocabSize: 70_000, layers: 1 }
    await writeRandomModel(join(folder, 'large'), shape, 1, 'F32')
    const table = read('large', 'model.embed_tokens.weight') // [70000, 32]
    const rows = new Set(
      Array.from({ length: shape.vocabSize }, (_, row) => table.subarray(row * 32, row * 32 + 2).join()),
    )
    expect(rows.size).toBe(shape.vocabSize)
  })

  test('a folder with files in it is left alone', async () => {
    await expect(writeRandomModel(folder, modelShapes['tiny-llama'], 1, 'F32')).rejects.toMatchObject({
      code: 'usage/invalid',
    })
  })

  test('its tokenizer takes any text, one id per byte; its template makes a prompt', () => {
    const { tokenizer, chatTemplate } = loadTokenizer(join(folder, 'tiny-llama'))
    const text = 'aZ 9\n\t\u0000é€😀'
    const ids = tokenizer.encode(text, { addSpecialTokens: false })
    expect([...ids]).toEqual([...Buffer.from(text)])
    expect(tokenizer.decode(ids, { skipSpecialTokens: false })).toBe(text)
    expect([...tokenizer.encode('a<|im_start|>b<|im_end|>', { addSpecialTokens: true })]).toEqual([
      97, 257, 98, 258,
    ])
    expect(chatTemplate).not.toBeNull()
  })
})
