import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  blockForm,
  blockWeight,
  linearWeights,
  plainRowsName,
  rowScalesName,
  rowsName,
  rowWeight,
  SLICE_ROWS,
  slicedRowsName,
} from '#engine/models/blocks.ts'
import { headWeightName, type ModelSource, type TensorLocation } from '#engine/models/source.ts'
import { asPolicySource, asRoundedBase, exactBeside, weightsInRows } from '#host/models/baseCache.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { blockScales, dequantizeRows, quantizeRows, rowScales } from '#host/models/quantize.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { readPieces, readTensor } from '#host/files/safetensors.ts'
import { weightsFolder } from '#host/models/weightCache.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const root = temporaryFolder()
const brainFolder = join(root, 'brain')
let cacheCount = 0
const newCache = (): string => join(root, `cache-${++cacheCount}`)

beforeAll(() => writeRandomModel(brainFolder, modelShapes['tiny-llama'], 1, 'BF16'))

const get = ({ tensors }: ModelSource, name: string): TensorLocation => tensors.get(name) ?? expect.fail(name)

describe('a rounded base', () => {
  test.each(['int8', 'int4'] as const)(
    '%s: linears as blocks, the rest exact, no f32 copy of linears',
    async (precision) => {
      const source = openModelFolder(brainFolder)
      const cache = newCache()
      const base = await asRoundedBase(source, precision, cache)
      const linears = linearWeights(source.config)
      expect(linears).toHaveLength(14)
      for (const { name } of linears) {
        expect(base.tensors.has(name)).toBe(false)
        const { blocks, scales } = blockWeight(base, name) ?? expect.fail(name)
        const exact = readTensor(get(source, name))
        const columns = get(source, name).shape[1] ?? 0
        const form = blockForm(precision, columns)
        const expected = (precision === 'int8' ? rowScales : blockScales)(exact, columns, form)
        expect(readTensor(scales)).toEqual(expected)
        const bytes = Buffer.concat([...readPieces(blocks, 1 << 24)])
        expect(bytes.equals(quantizeRows(exact, expected, columns, form))).toBe(true)
      }
      const matrices = new Set(linears.map(({ name }) => name))
      const others = [...source.tensors].filter(([name]) => !matrices.has(name))
      expect(others.map(([name]) => name)).toContain('lm_head.weight')
      for (const [name, location] of others) {
        expect(get(base, name).dtype).toBe('F32')
        expect(readTensor(get(base, name))).toEqual(readTensor(location))
      }
      const [folder, ...rest] = readdirSync(cache).filter((name) => name !== 'hashes.json')
      expect(rest).toEqual([])
      const file = precision === 'int8' ? 'base-int8-with-head-blocks' : 'base-int4'
      expect(readdirSync(join(cache, folder ?? ''))).toEqual([`${file}.safetensors`])
      const { mtimeMs } = statSync(get(base, 'lm_head.weight').file)
      expect((await asRoundedBase(source, precision, cache)).tensors).toEqual(base.tensors)
      expect(statSync(get(base, 'lm_head.weight').file).mtimeMs).toBe(mtimeMs)
    },
  )

  test('holds the same numbers in 8 bits as blocks and as rows, which have one scale each', async () => {
    const source = openModelFolder(brainFolder)
    const cache = newCache()
    const blocks = await asRoundedBase(source, 'int8', cache)
    const rows = await asRoundedBase(source, 'int8', cache, { int8Form: 'rows' })
    for (const { name } of linearWeights(source.config)) {
      expect(rows.tensors.has(name) || blockWeight(rows, name)).toBeFalsy()
      const [columns, others] = [rowWeight(rows, name)!, blockWeight(blocks, name)!]
      const [count = 0, width = 0] = get(source, name).shape
      expect(columns.values.shape).toEqual([width, count])
      const scales = readTensor(columns.scales)
      const perRow = others.scales.shape[1]!
      expect(readTensor(others.scales)).toEqual(
        Float32Array.from({ length: count * perRow }, (_, at) => scales[Math.floor(at / perRow)]!),
      )
      const signed = new Int8Array(Buffer.concat([...readPieces(columns.values, 1 << 24)]))
      const unsigned = Buffer.concat([...readPieces(others.blocks, 1 << 24)])
      const stride = perRow * others.form.blockSize
      const found = signed.map((_, at) => unsigned[(at % count) * stride + Math.floor(at / count)]! - 128)
      expect(signed).toEqual(found)
    }
  })

  test('rows lie both ways, and those of the head in slices as well', async () => {
    const folder = join(root, 'large-vocabulary')
    await writeRandomModel(folder, { ...modelShapes['tiny-llama'], vocabSize: SLICE_ROWS + 70 }, 1, 'BF16')
    const source = openModelFolder(folder)
    const { tensors } = await asRoundedBase(source, 'int8', newCache(), { int8Form: 'rows' })
    const bytesOf = (name: string) => Buffer.concat([...readPieces(tensors.get(name)!, 1 << 24)])
    const turned = (bytes: Uint8Array, columns: number) => {
      const rows = bytes.length / columns
      return Buffer.from(bytes.map((_, at) => bytes[(at % rows) * columns + Math.floor(at / rows)]!))
    }
    const head = headWeightName(source.config)
    for (const name of [...linearWeights(source.config).map((each) => each.name), head]) {
      const [, columns = 0] = get(source, name).shape
      expect(turned(bytesOf(plainRowsName(name)), columns).equals(bytesOf(rowsName(name)))).toBe(true)
    }
    const [, columns = 0] = get(source, head).shape
    const plain = bytesOf(plainRowsName(head))
    const slices = [plain.subarray(0, SLICE_ROWS * columns), plain.subarray(SLICE_ROWS * columns)]
    const expected = Buffer.concat(slices.map((slice) => turned(slice, columns)))
    expect(bytesOf(slicedRowsName(head)).equals(expected)).toBe(true)
  })

  test('has the exact linears of the model’s own file beside it', async () => {
    const source = openModelFolder(brainFolder)
    const cache = newCache()
    const exact = await exactBeside(source, 'int8', cache)
    expect(weightsFolder(exact)?.startsWith(cache)).toBe(true)
    const name = 'model.layers.0.mlp.up_proj.weight'
    expect(get(exact, name)).toMatchObject({ dtype: 'BF16' })
    expect(statSync(get(exact, name).file).ino).toBe(statSync(get(source, name).file).ino)
    expect(get(exact, 'lm_head.weight').dtype).toBe('F32')
    expect(readTensor(get(exact, name))).toEqual(readTensor(get(source, name)))
  })

  test('a weight that is no number is named', async () => {
    const folder = join(root, 'diverged-base')
    cpSync(brainFolder, folder, { recursive: true })
    const path = join(folder, 'model.safetensors')
    const { offset } = get(openModelFolder(folder), 'model.layers.1.mlp.up_proj.weight')
    const bytes = readFileSync(path)
    bytes.writeUInt16LE(0x7fc0, offset + 10)
    writeFileSync(path, bytes)
    await expect(asRoundedBase(openModelFolder(folder), 'int4', newCache())).rejects.toThrow(
      'The tensor “model.layers.1.mlp.up_proj.weight”',
    )
  })
})

describe('rows of a rounded base, for rollouts', () => {
  const rollout = { rollout: 'f32', int8Form: 'rows' } as const
  const added = (found: ModelSource, before: ModelSource): string[] =>
    [...found.tensors.keys()].filter((name) => !before.tensors.has(name)).sort()

  test('of 4 bits: what the blocks stand for in 8 bits, and the head; learning reads the same as without', async () => {
    const source = openModelFolder(brainFolder)
    const cache = newCache()
    const found = await asPolicySource(source, { ...rollout, base: 'int4' }, cache)
    const without = await asPolicySource(source, { ...rollout, base: 'int4', int8Form: 'blocks' }, cache)
    for (const [name, location] of without.tensors) expect(get(found, name)).toEqual(location)
    const names = [...linearWeights(source.config).map(({ name }) => name), headWeightName(source.config)]
    expect(added(found, without)).toEqual(
      names.flatMap((name) => [rowsName(name), rowScalesName(name)]).sort(),
    )
    for (const name of names) {
      const exact = readTensor(get(source, name))
      const [rows = 0, columns = 0] = get(source, name).shape
      const form = blockForm('int4', columns)
      const blockwise = blockScales(exact, columns, form)
      const stored = quantizeRows(exact, blockwise, columns, form)
      const known = name.includes('lm_head') ? exact : dequantizeRows(stored, blockwise, columns, form)
      const { values, scales } = rowWeight(found, name) ?? expect.fail(name)
      const bytes = new Int8Array(Buffer.concat([...readPieces(values, 1 << 24)]))
      const factors = readTensor(scales)
      for (let at = 0; at < known.length; at++) {
        const [row, column] = [Math.floor(at / columns), at % columns]
        const error = Math.abs(bytes[column * rows + row]! * factors[row]! - known[at]!)
        expect(error).toBeLessThanOrEqual(factors[row]! * 0.501)
      }
    }
  })

  test('of 8 bits: none, since learning reads rows too', async () => {
    const source = openModelFolder(brainFolder)
    const cache = newCache()
    const found = await asPolicySource(source, { ...rollout, base: 'int8' }, cache)
    const without = await asRoundedBase(source, 'int8', cache, { int8Form: 'rows' })
    expect(added(found, without)).toEqual([])
  })

  test('experts: none, and 8 bits in blocks, since their products in bytes would make programs too large', async () => {
    const folder = join(root, 'experts')
    await writeRandomModel(folder, modelShapes['tiny-granitemoe'], 1, 'F32')
    const source = openModelFolder(folder)
    for (const base of ['int8', 'int4'] as const) {
      const found = await asPolicySource(source, { ...rollout, base }, newCache())
      for (const { name } of linearWeights(source.config)) {
        expect(blockWeight(found, name)).not.toBeNull()
        expect(rowWeight(found, name)).toBeNull()
      }
    }
  })

  test('a single row reads 4 bits as blocks; where memory is short there are no rows', () => {
    const source = openModelFolder(brainFolder)
    const head = headWeightName(source.config)
    const sizes = [...linearWeights(source.config).map(({ name }) => name), head].map((name) =>
      get(source, name).shape.reduce((size, dim) => size * dim, 1),
    )
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    expect(weightsInRows(source, { maxRows: 1 }, 1e12)).toEqual([head])
    expect(weightsInRows(source, { maxRows: 2 }, 4 * bytes)).toHaveLength(15)
    expect(weightsInRows(source, {}, 4 * bytes - 1)).toEqual([])
  })
})
