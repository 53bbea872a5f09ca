import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { SequentialRandom, randomStream } from '#shared/random.ts'
import type { ModelSource, TensorLocation } from '#engine/models/source.ts'
import { blockForm, blocksName, rowWeight, scalesName } from '#engine/models/blocks.ts'
import { asInt8Source, quantizableWeights } from '#host/models/int8Cache.ts'
import { type ModelFolder, openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { blockScales, quantizeRows } from '#host/models/quantize.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { openSafetensors, readPieces, readTensor, writeSafetensors } from '#host/files/safetensors.ts'
import { asFloat32Source, requireFreeSpace, weightsFolder } from '#host/models/weightCache.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const root = temporaryFolder()
const exactFolder = join(root, 'exact')
const brainFolder = join(root, 'brain')
let cacheCount = 0
const newCache = (): string => join(root, `cache-${++cacheCount}`)

beforeAll(async () => {
  await writeRandomModel(exactFolder, modelShapes['tiny-qwen2'], 1, 'F32')
  await writeRandomModel(brainFolder, modelShapes['tiny-llama'], 1, 'BF16')
})

const get = ({ tensors }: ModelSource, name: string): TensorLocation => tensors.get(name) ?? expect.fail(name)

/** Both shards of the exact model, each in a folder of its own, seen through links. */
async function scatteredModel(): Promise<ModelFolder> {
  const folder = join(root, 'scattered')
  const source = openModelFolder(exactFolder)
  const names = [...source.tensors.keys()]
  const weightMap: Record<string, string> = {}
  for (const half of [0, 1]) {
    const shard = `model-${half}.safetensors`
    mkdirSync(join(root, `disk-${half}`))
    const tensors = names
      .filter((_, index) => index % 2 === half)
      .map((name) => ({
        name,
        dtype: 'F32' as const,
        shape: get(source, name).shape,
        pieces: () => readPieces(get(source, name), 1 << 20),
      }))
    await writeSafetensors(join(root, `disk-${half}`, shard), tensors)
    for (const { name } of tensors) weightMap[name] = shard
  }
  mkdirSync(folder)
  cpSync(join(exactFolder, 'config.json'), join(folder, 'config.json'))
  for (const half of [0, 1])
    symlinkSync(
      join('..', `disk-${half}`, `model-${half}.safetensors`),
      join(folder, `model-${half}.safetensors`),
    )
  writeFileSync(join(folder, 'model.safetensors.index.json'), JSON.stringify({ weight_map: weightMap }))
  return openModelFolder(folder)
}

describe('weights as f32', () => {
  test('f32 weights are used where they lie', async () => {
    const source = openModelFolder(exactFolder)
    const cache = newCache()
    expect(await asFloat32Source(source, cache)).toBe(source)
    expect(existsSync(cache)).toBe(false)
  })

  test('bf16 weights are converted once, exactly', async () => {
    const source = openModelFolder(brainFolder)
    const cache = newCache()
    const phases = new Set<string>()
    const first = await asFloat32Source(source, cache, (phase) => phases.add(phase))
    expect([...phases]).toEqual(['hash', 'convert'])
    for (const [name, location] of source.tensors) {
      expect(get(first, name).dtype).toBe('F32')
      expect(readTensor(get(first, name))).toEqual(readTensor(location))
    }
    const file = get(first, 'model.norm.weight').file
    const written = statSync(file).mtimeMs
    phases.clear()
    const second = await asFloat32Source(source, cache, (phase) => phases.add(phase))
    expect(second.tensors).toEqual(first.tensors)
    expect(statSync(file).mtimeMs).toBe(written)
    expect([...phases]).toEqual([])
    expect(second.tokenizerFile).toBe(source.tokenizerFile)
  })

  test('the same content elsewhere finds the same copy; other content does not', async () => {
    const cache = newCache()
    const folder = join(root, 'moved')
    cpSync(brainFolder, folder, { recursive: true })
    const place = async (): Promise<string> =>
      get(await asFloat32Source(openModelFolder(folder), cache), 'model.norm.weight').file
    const original = get(await asFloat32Source(openModelFolder(brainFolder), cache), 'model.norm.weight').file
    expect(await place()).toBe(original)
    const path = join(folder, 'model.safetensors')
    const bytes = readFileSync(path)
    bytes[bytes.length - 2] = (bytes[bytes.length - 2] ?? 0) ^ 1
    writeFileSync(path, bytes)
    // A coarse clock must not hide the change in this test.
    utimesSync(path, 1, 1)
    expect(await place()).not.toBe(original)
  })

  test('a damaged copy or memory of hashes is made again', async () => {
    const cache = newCache()
    const source = openModelFolder(brainFolder)
    const { file } = get(await asFloat32Source(source, cache), 'model.norm.weight')
    writeFileSync(file, readFileSync(file).subarray(0, 1000))
    writeFileSync(join(cache, 'hashes.json'), '{"a":')
    const again = await asFloat32Source(source, cache)
    expect(readTensor(get(again, 'model.norm.weight'))).toEqual(readTensor(get(source, 'model.norm.weight')))
    expect(readdirSync(dirname(file))).toEqual(['model.safetensors'])
  })

  test('files of several folders come together without a copy', async () => {
    const source = await scatteredModel()
    expect(weightsFolder(source)).toBeNull()
    const cache = newCache()
    const gathered = await asFloat32Source(source, cache)
    expect(weightsFolder(gathered)?.startsWith(cache)).toBe(true)
    for (const [name, location] of source.tensors) {
      expect(statSync(get(gathered, name).file).ino).toBe(statSync(location.file).ino)
      expect(readTensor(get(gathered, name))).toEqual(readTensor(location))
    }
    const again = await asFloat32Source(source, cache)
    expect(again.tensors).toEqual(gathered.tensors)
    expect(readdirSync(weightsFolder(again) ?? '')).toHaveLength(2)
  })

  test('a weight that is no number is named', async () => {
    const folder = join(root, 'diverged')
    cpSync(brainFolder, folder, { recursive: true })
    const path = join(folder, 'model.safetensors')
    const { offset } = get(openModelFolder(folder), 'model.layers.1.mlp.up_proj.weight')
    const bytes = readFileSync(path)
    bytes.writeUInt16LE(0x7fc0, offset + 10)
    writeFileSync(path, bytes)
    const cache = newCache()
    await expect(asFloat32Source(openModelFolder(folder), cache)).rejects.toThrow(
      `The tensor “model.layers.1.mlp.up_proj.weight” in ${path} holds a value that is not a finite number.`,
    )
    const [key] = readdirSync(cache).filter((name) => name !== 'hashes.json')
    expect(readdirSync(join(cache, key ?? ''))).toEqual([])
  })

  test('a disk without room is noticed before anything is written', () => {
    const petabyte = { name: 'a', dtype: 'F32' as const, shape: [2 ** 48], pieces: () => [] }
    expect(() => requireFreeSpace(root, [petabyte])).toThrow(
      /need 1125899\.9 GB in .*, which has [0-9.]+ GB free/,
    )
  })

  test('a file that vanishes is one sentence', async () => {
    const folder = join(root, 'vanishing')
    cpSync(brainFolder, folder, { recursive: true })
    const source = openModelFolder(folder)
    renameSync(join(folder, 'model.safetensors'), join(folder, 'gone'))
    await expect(asFloat32Source(source, newCache())).rejects.toMatchObject({ code: 'file/unreadable' })
  })
})

describe('8-bit weights', () => {
  const int8 = blockForm('int8', 128)
  const random = new SequentialRandom(randomStream(3))
  const weights = (rows: number, columns: number): Float32Array =>
    Float32Array.from({ length: rows * columns }, () => random.normal() * 0.02)

  test.each([
    [3, 256],
    [5, 160],
    [2, 7],
    [1, 129],
  ])('[%i, %i]: no value is off by more than half a scale, padding is zero', (rows, columns) => {
    const exact = weights(rows, columns)
    const scales = blockScales(exact, columns, int8)
    const values = quantizeRows(exact, scales, columns, int8)
    const blocks = Math.ceil(columns / 128)
    expect(values).toHaveLength(rows * blocks * 128)
    expect(scales).toHaveLength(rows * blocks)
    for (let position = 0; position < values.length; position++) {
      const row = Math.floor(position / (blocks * 128))
      const column = position % (blocks * 128)
      const scale = scales[Math.floor(position / 128)] ?? NaN
      const value = ((values[position] ?? NaN) - 128) * scale
      const target = column < columns ? (exact[row * columns + column] ?? NaN) : 0
      expect(Math.abs(value - target)).toBeLessThanOrEqual(scale * (column < columns ? 0.50001 : 0))
    }
  })

  test('the largest value of a block uses the whole range; zeros and dust stay zero', () => {
    const row = new Float32Array(384)
    row[0] = -2
    row[1] = 1
    row[160] = 1e-44
    const scales = blockScales(row, 384, int8)
    expect([...scales]).toEqual([Math.fround(2 / 127), 0, 0])
    const values = quantizeRows(row, scales, 384, int8)
    expect([values[0], values[1], values[2], values[160], values[383]]).toEqual([1, 128 + 64, 128, 128, 128])
  })

  test.each(['exact', 'brain'])(
    '%s: every linear and the head, beside the f32 weights, in one folder',
    async (name) => {
      const source = openModelFolder(join(root, name))
      const cache = newCache()
      const quantized = await asInt8Source(source, cache, 'blocks')
      expect(weightsFolder(quantized)?.startsWith(cache)).toBe(true)
      expect(quantizableWeights(source)).toContain(
        source.config.tiedHead ? 'model.embed_tokens.weight' : 'lm_head.weight',
      )
      for (const weight of quantizableWeights(source)) {
        const [rows = 0, columns = 0] = get(source, weight).shape
        const form = blockForm('int8', columns)
        const blocks = Math.ceil(columns / form.blockSize)
        const scales = get(quantized, scalesName(weight, 'int8'))
        expect(scales).toMatchObject({ dtype: 'F32', shape: [rows, blocks] })
        expect(get(quantized, blocksName(weight, 'int8'))).toMatchObject({
          dtype: 'U8',
          shape: [rows, blocks, form.blockSize],
        })
        const exact = readTensor(get(source, weight))
        expect(readTensor(scales)).toEqual(blockScales(exact, columns, form))
        const bytes = Buffer.concat([...readPieces(get(quantized, blocksName(weight, 'int8')), 1 << 24)])
        expect(bytes.equals(quantizeRows(exact, blockScales(exact, columns, form), columns, form))).toBe(true)
      }
      const { file } = get(quantized, scalesName('model.layers.0.mlp.up_proj.weight', 'int8'))
      const { mtimeMs } = statSync(file)
      expect((await asInt8Source(source, cache, 'blocks')).tensors).toEqual(quantized.tensors)
      expect(statSync(file).mtimeMs).toBe(mtimeMs)
      expect(openSafetensors(file).tensors.size).toBe(quantizableWeights(source).length * 2)
    },
  )
})

test('whole rows have one scale, and lie as columns of bytes in two’s complement', async () => {
  const source = openModelFolder(join(root, 'exact'))
  const quantized = await asInt8Source(source, newCache(), 'rows')
  for (const weight of quantizableWeights(source)) {
    const [rows = 0, columns = 0] = get(source, weight).shape
    const { values, scales } = rowWeight(quantized, weight) ?? expect.fail(weight)
    expect(scales.shape).toEqual([rows])
    const exact = readTensor(get(source, weight))
    const factors = readTensor(scales)
    const bytes = new Int8Array(Buffer.concat([...readPieces(values, 1 << 24)]))
    expect(bytes).toHaveLength(rows * columns)
    expect(values.shape).toEqual([columns, rows])
    for (const [at, byte] of bytes.entries()) {
      const [column, row] = [Math.floor(at / rows), at % rows]
      const scale = factors[row]!
      expect(Math.abs(byte * scale - exact[row * columns + column]!)).toBeLessThanOrEqual(scale * 0.5001)
    }
    const largest = Math.max(...exact.subarray(0, columns).map(Math.abs))
    expect(factors[0]).toBeCloseTo(largest / 127, 9)
  }
})

describe('the blocks of a row', () => {
  test.each([
    ['int8', 896, 128],
    ['int8', 576, 64],
    ['int8', 160, 32],
    ['int8', 45, 32],
    ['int4', 896, 32],
    ['int4', 7, 32],
  ] as const)('%s: rows of %i have blocks of %i', (precision, columns, blockSize) => {
    expect(blockForm(precision, columns).blockSize).toBe(blockSize)
  })
})

describe('4-bit weights', () => {
  const random = new SequentialRandom(randomStream(4))
  const int4 = blockForm('int4', 32)

  test.each([
    [3, 256],
    [5, 160],
    [2, 7],
    [1, 33],
    [4, 45],
  ])('[%i, %i]: no value is off by more than half a scale, padding is zero', (rows, columns) => {
    const exact = Float32Array.from({ length: rows * columns }, () => random.normal() * 0.02)
    const scales = blockScales(exact, columns, int4)
    const bytes = quantizeRows(exact, scales, columns, int4)
    const blocks = Math.ceil(columns / 32)
    expect(bytes).toHaveLength(rows * blocks * 16)
    expect(scales).toHaveLength(rows * blocks)
    for (let position = 0; position < 2 * bytes.length; position++) {
      const row = Math.floor(position / (blocks * 32))
      const column = position % (blocks * 32)
      const scale = scales[Math.floor(position / 32)] ?? NaN
      const half = ((bytes[position >> 1] ?? NaN) >> (4 * (position & 1))) & 15
      const target = column < columns ? (exact[row * columns + column] ?? NaN) : 0
      // Only what lies opposite the largest value and is nearly as large does not fit.
      const limit = column >= columns ? 0 : target / scale > 7.5 ? 1.00001 : 0.50001
      expect(Math.abs((half - 8) * scale - target)).toBeLessThanOrEqual(limit * Math.abs(scale))
    }
  })

  test('the largest value of a block, whatever its sign, is exact; the lower half of a byte comes first', () => {
    const row = new Float32Array(64)
    row.set([4, -4, 2, 0.6, -1], 0)
    row.set([-8, 1], 32)
    const scales = blockScales(row, 64, int4)
    expect([...scales]).toEqual([-0.5, 1])
    const bytes = quantizeRows(row, scales, 64, int4)
    expect([...bytes.subarray(0, 3)]).toEqual([0 | (15 << 4), 4 | (7 << 4), 10 | (8 << 4)])
    expect([...bytes.subarray(16, 18)]).toEqual([0 | (9 << 4), 8 | (8 << 4)])
  })
})
