import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { AppError } from '#shared/errors.ts'
import type { TensorLocation } from '#engine/models/source.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import {
  bytesOf,
  openSafetensors,
  readPieces,
  readTensor,
  type TensorToWrite,
  writeSafetensors,
} from '#host/files/safetensors.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const root = temporaryFolder()
const original = join(root, 'original')
let folderCount = 0

beforeAll(async () => {
  await writeRandomModel(original, modelShapes['tiny-qwen2'], 1, 'F32')
})

function copyOfModel(): string {
  const folder = join(root, `copy-${++folderCount}`)
  cpSync(original, folder, { recursive: true })
  return folder
}

const weightsIn = (folder: string): ReadonlyMap<string, TensorLocation> =>
  openSafetensors(join(folder, 'model.safetensors')).tensors

const copied = ([name, location]: readonly [string, TensorLocation]): TensorToWrite => ({
  name,
  dtype: 'F32',
  shape: location.shape,
  pieces: () => [bytesOf(readTensor(location))],
})

const embedding = (): TensorLocation =>
  weightsIn(original).get('model.embed_tokens.weight') ?? expect.fail('no embedding')

/** A head whose numbers are those of the embedding times a factor. */
const headOf = (factor: number): TensorToWrite => ({
  ...copied(['lm_head.weight', embedding()]),
  pieces: () => [bytesOf(readTensor(embedding()).map((number) => number * factor))],
})

function editConfig(folder: string, change: Record<string, unknown>): void {
  const path = join(folder, 'config.json')
  const config = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  writeFileSync(path, JSON.stringify({ ...config, ...change }))
}

function errorOf(folder: string): AppError {
  try {
    openModelFolder(folder)
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('Expected an error, got a model.')
}

/** Splits the model into two shards with an index; returns the index. */
async function shard(folder: string): Promise<Record<string, string>> {
  const tensors = [...weightsIn(folder)].map(copied)
  const halves = [
    tensors.filter((_, index) => index % 2 === 0),
    tensors.filter((_, index) => index % 2 === 1),
  ]
  const weightMap: Record<string, string> = {}
  for (const [index, half] of halves.entries()) {
    const name = `model-0000${index + 1}-of-00002.safetensors`
    await writeSafetensors(join(folder, name), half)
    for (const tensor of half) weightMap[tensor.name] = name
  }
  renameSync(join(folder, 'model.safetensors'), join(folder, 'original.weights'))
  writeIndex(folder, weightMap)
  return weightMap
}

const writeIndex = (folder: string, weightMap: unknown): void => {
  writeFileSync(
    join(folder, 'model.safetensors.index.json'),
    JSON.stringify({ metadata: {}, weight_map: weightMap }),
  )
}

describe('a model folder', () => {
  test('one file', () => {
    const model = openModelFolder(original)
    expect(model.directory).toBe(original)
    expect(model.tokenizerFile).toBe(join(original, 'tokenizer.json'))
    expect(model.chatTemplateFile).toBeNull()
    expect(model.tensors.get('model.layers.1.self_attn.v_proj.bias')).toMatchObject({
      shape: [16],
      dtype: 'F32',
    })
  })

  test('shards hold the same tensors', async () => {
    const folder = copyOfModel()
    await shard(folder)
    const sharded = openModelFolder(folder)
    expect(sharded.weightFiles).toHaveLength(2)
    for (const [name, location] of openModelFolder(original).tensors) {
      expect(readTensor(sharded.tensors.get(name) ?? expect.fail(name))).toEqual(readTensor(location))
    }
  })

  test('a download cache, where every file is a link to a blob', () => {
    const blobs = join(root, 'blobs')
    const snapshot = join(root, 'snapshots', 'abc')
    mkdirSync(blobs)
    mkdirSync(snapshot, { recursive: true })
    for (const name of ['config.json', 'model.safetensors']) {
      copyFileSync(join(original, name), join(blobs, `hash-of-${name}`))
      symlinkSync(join('..', '..', 'blobs', `hash-of-${name}`), join(snapshot, name))
    }
    const location = openModelFolder(snapshot).tensors.get('model.norm.weight')
    expect(location?.file).toBe(join(blobs, 'hash-of-model.safetensors'))
  })

  test('a tied model may carry a head; frequencies are silent, other extras are named', async () => {
    const folder = copyOfModel()
    const extra = (name: string): TensorToWrite => ({
      name,
      dtype: 'F32',
      shape: [1],
      pieces: () => [new Uint8Array(4)],
    })
    const tensors = [...weightsIn(original)].map(copied)
    const extras = ['model.layers.0.self_attn.rotary_emb.inv_freq', 'visual.patch'].map(extra)
    await writeSafetensors(join(folder, 'model.safetensors'), [...tensors, headOf(1), ...extras])
    const model = openModelFolder(folder)
    expect(model.ignoredTensors).toEqual(['lm_head.weight', 'visual.patch'])
    expect(model.tensors.has('lm_head.weight')).toBe(false)
    const note = 'The weights hold 1 tensor that this model does not use, such as “visual.patch”.'
    expect(model).toMatchObject({ config: { tiedHead: true }, notes: [note] })
  })

  test('layers that config.json does not have are refused', () => {
    const folder = copyOfModel()
    const file = join(folder, 'config.json')
    const config = JSON.parse(readFileSync(file, 'utf8')) as { num_hidden_layers: number }
    writeFileSync(file, JSON.stringify({ ...config, num_hidden_layers: config.num_hidden_layers - 1 }))
    expect(() => openModelFolder(folder)).toThrow(
      /hold more layers than config.json says, such as in “model\.layers\.\d/,
    )
  })

  test('keeps a head that config.json denies, as transformers does, and says so', async () => {
    const folder = copyOfModel()
    const file = join(folder, 'model.safetensors')
    const tensors = [...weightsIn(original)].map(copied)
    await writeSafetensors(file, [...tensors, headOf(2)])
    const model = openModelFolder(folder)
    expect(model.config.tiedHead).toBe(false)
    expect(readTensor(model.tensors.get('lm_head.weight') ?? expect.fail('no head'))[5]).toBe(
      2 * (readTensor(embedding())[5] ?? NaN),
    )
    expect(model.notes).toEqual([expect.stringContaining('lm_head.weight')])
    expect(openModelFolder(folder, { comparesHead: false }).config.tiedHead).toBe(true)
  })

  test('tells heads apart by all of their numbers, whatever type they are stored in', async () => {
    const folder = copyOfModel()
    const file = join(folder, 'model.safetensors')
    const tensors = [...weightsIn(original)].map(copied)
    const numbers = readTensor(embedding())
    const last = numbers.slice()
    last[last.length - 1] = 7
    for (const [data, isTied] of [
      [last, false],
      [numbers, true],
    ] as const) {
      const head = { ...copied(['lm_head.weight', embedding()]), pieces: () => [bytesOf(data)] }
      await writeSafetensors(file, [...tensors, head])
      expect(openModelFolder(folder).config.tiedHead).toBe(isTied)
    }
    // Zeros are zeros in every type.
    const { shape } = embedding()
    const zeros = (name: string, dtype: 'F32' | 'F16', bytes: number): TensorToWrite => ({
      name,
      dtype,
      shape,
      pieces: () => [new Uint8Array(numbers.length * bytes)],
    })
    const others = tensors.filter(({ name }) => name !== 'model.embed_tokens.weight')
    await writeSafetensors(file, [
      ...others,
      zeros('model.embed_tokens.weight', 'F32', 4),
      zeros('lm_head.weight', 'F16', 2),
    ])
    expect(openModelFolder(folder).config.tiedHead).toBe(true)
  })
})

describe('refused folders', () => {
  test.each([
    ['_orig_mod.', (name: string) => `_orig_mod.${name}`, 'torch.compile'],
    ['module.', (name: string) => `module.${name}`, 'several GPUs'],
    [
      'base_model.model.',
      (name: string) => `base_model.model.${name.replace('q_proj.weight', 'q_proj.base_layer.weight')}`,
      'merge_and_unload()',
    ],
    ['', (name: string) => name.replace('model.', ''), 'AutoModelForCausalLM'],
  ])('names that begin with “%s” are told beside the one that is missing', async (prefix, rename, remedy) => {
    const folder = copyOfModel()
    const tensors = [...weightsIn(original)].map(copied)
    await writeSafetensors(
      join(folder, 'model.safetensors'),
      tensors.map((tensor) => ({ ...tensor, name: rename(tensor.name) })),
    )
    const { message, hint } = errorOf(folder)
    const instead = prefix === '' ? 'embed_tokens.weight' : `${prefix}model.embed_tokens.weight`
    expect(message).toContain(
      `lacks the tensor “model.embed_tokens.weight” that config.json asks for; it has “${instead}” instead.`,
    )
    expect(hint).toContain(remedy)
  })

  test('a missing tensor, named with its file', async () => {
    const folder = copyOfModel()
    const kept = [...weightsIn(original)].filter(([name]) => name !== 'model.layers.1.mlp.up_proj.weight')
    await writeSafetensors(join(folder, 'model.safetensors'), kept.map(copied))
    expect(errorOf(folder).message).toBe(
      `${join(folder, 'model.safetensors')} lacks the tensor “model.layers.1.mlp.up_proj.weight” that config.json asks for.`,
    )
  })

  test('a shape that contradicts the config', () => {
    const folder = copyOfModel()
    editConfig(folder, { intermediate_size: 81 })
    expect(errorOf(folder).message).toContain(
      'model.layers.0.mlp.gate_proj.weight” in ' +
        join(folder, 'model.safetensors') +
        ' is [80, 48], but config.json asks for [81, 48]',
    )
  })

  test('more layers than there are', () => {
    const folder = copyOfModel()
    editConfig(folder, { num_hidden_layers: 3 })
    expect(errorOf(folder).message).toContain('lacks the tensor “model.layers.2.')
  })

  test('an untied model without a head', () => {
    const folder = copyOfModel()
    editConfig(folder, { tie_word_embeddings: false })
    expect(errorOf(folder).message).toContain('lacks the tensor “lm_head.weight”')
  })

  test('weights of a type that cannot be trained on', async () => {
    const folder = copyOfModel()
    const tensors = [...weightsIn(original)].map((entry) => {
      const tensor = copied(entry)
      const count = tensor.shape.reduce((product, size) => product * size, 1)
      return entry[0] === 'model.norm.weight'
        ? { ...tensor, dtype: 'U8' as const, pieces: () => [new Uint8Array(count)] }
        : tensor
    })
    await writeSafetensors(join(folder, 'model.safetensors'), tensors)
    expect(errorOf(folder)).toMatchObject({ code: 'model/unsupported' })
    expect(errorOf(folder).message).toContain('“model.norm.weight”')
  })

  test('a truncated file', () => {
    const folder = copyOfModel()
    const path = join(folder, 'model.safetensors')
    writeFileSync(path, readFileSync(path).subarray(0, -1))
    expect(errorOf(folder).message).toContain(`${path} is not a valid safetensors file: it is cut off`)
  })

  test.each([
    ['../outside.safetensors'],
    ['/etc/outside.safetensors'],
    ['a/../../outside.safetensors'],
    ['C:\\outside.safetensors'],
    ['weights.bin'],
    [7],
  ])('an index that points to %j', async (name) => {
    const folder = copyOfModel()
    writeIndex(folder, { ...(await shard(folder)), 'model.norm.weight': name })
    expect(errorOf(folder).message).toContain('which is not a file of this folder')
  })

  test('an index that forgets a tensor, or misplaces it, or names a shard that is not there', async () => {
    const folder = copyOfModel()
    const { 'model.norm.weight': place, ...others } = await shard(folder)
    writeIndex(folder, others)
    expect(errorOf(folder).message).toContain('does not list the tensor “model.norm.weight”')
    writeIndex(folder, {
      ...others,
      'model.norm.weight': place?.includes('00001')
        ? place.replace('00001-', '00002-')
        : place?.replace('00002-', '00001-'),
    })
    expect(errorOf(folder).message).toContain('lacks the tensor “model.norm.weight”')
    writeIndex(folder, { ...others, 'model.norm.weight': 'model-00003-of-00003.safetensors' })
    expect(errorOf(folder)).toMatchObject({ code: 'file/unreadable' })
  })

  test('only pytorch_model.bin: the hint explains', () => {
    const folder = copyOfModel()
    renameSync(join(folder, 'model.safetensors'), join(folder, 'pytorch_model.bin'))
    expect(errorOf(folder).message).toContain('neither model.safetensors nor')
    expect(errorOf(folder).hint).toContain('pickles')
  })

  test('no config, a file instead of a folder, nothing at all, an adapter', () => {
    const empty = join(root, 'empty')
    mkdirSync(empty)
    expect(errorOf(empty).message).toContain('has no config.json')
    writeFileSync(join(empty, 'adapter_config.json'), '{}')
    expect(errorOf(empty).hint).toContain('adapter')
    expect(errorOf(join(original, 'config.json')).message).toContain('is a file')
    expect(errorOf(join(root, 'none')).message).toContain('does not exist')
  })

  test('a config that is too large to be one', () => {
    const folder = copyOfModel()
    writeFileSync(join(folder, 'config.json'), ' '.repeat(5_000_000))
    expect(errorOf(folder).message).toContain('is larger than')
  })
})

describe('experts in MXFP4', () => {
  const reference = join(import.meta.dirname, '../../fixtures/reference/gpt-oss-mxfp4/model')
  const blocks = 'model.layers.1.mlp.experts.down_proj_blocks'
  const scales = 'model.layers.1.mlp.experts.down_proj_scales'
  type Stored = TensorToWrite & { readonly location: TensorLocation }
  const stored = (): Stored[] =>
    [...weightsIn(reference)].map(([name, location]) => ({
      name,
      dtype: location.dtype as TensorToWrite['dtype'],
      shape: location.shape,
      pieces: () => readPieces(location, 1 << 20),
      location,
    }))
  const without = (name: string) => stored().filter((tensor) => tensor.name !== name)

  /** A folder with these weights, in one file or several. */
  async function folderOf(...shards: readonly (readonly TensorToWrite[])[]): Promise<string> {
    const folder = join(root, `packed-${++folderCount}`)
    mkdirSync(folder)
    copyFileSync(join(reference, 'config.json'), join(folder, 'config.json'))
    if (shards.length === 1) await writeSafetensors(join(folder, 'model.safetensors'), shards[0]!)
    else {
      for (const [index, tensors] of shards.entries())
        await writeSafetensors(join(folder, `part-${index}.safetensors`), tensors)
      const places = shards.flatMap((tensors, index) =>
        tensors.map(({ name }) => [name, `part-${index}.safetensors`] as const),
      )
      writeIndex(folder, Object.fromEntries(places))
    }
    return folder
  }

  const expert = 'model.layers.1.mlp.experts.3.down_proj'
  const valuesOf = (folder: string) => readTensor(openModelFolder(folder).tensors.get(expert)!)

  test('are read one by one, by numbers and powers of two', () => {
    const { tensors, notes } = openModelFolder(reference)
    expect(notes).toEqual([])
    const { location: pairs } = stored().find(({ name }) => name === blocks)!
    const { location: powers } = stored().find(({ name }) => name === scales)!
    expect(tensors.get(expert)).toMatchObject({
      dtype: 'MXFP4',
      shape: [32, 64],
      byteLength: pairs.byteLength / 4,
    })
    const bytesIn = (location: TensorLocation) => [...readPieces(location, 1 << 20)][0]!
    const table = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    const numberOf = (half: number) => (half < 8 ? table[half]! : -table[half - 8]!)
    const [packed, exponents] = [bytesIn(pairs), bytesIn(powers)]
    // The last of four experts: 32 rows of two blocks.
    const [first, firstPower] = [3 * 32 * 2 * 16, 3 * 32 * 2]
    const wanted = Float32Array.from({ length: 32 * 64 }, (_, at) => {
      const pair = packed[first + (at >> 1)]!
      return numberOf(at % 2 === 0 ? pair & 15 : pair >> 4) * 2 ** (exponents[firstPower + (at >> 5)]! - 127)
    })
    expect(valuesOf(reference)).toEqual(wanted)
  })

  test('may have their numbers and their powers in two files, and the cache knows both', async () => {
    const isScales = ({ name }: TensorToWrite) => name.endsWith('_scales')
    const parts = [stored().filter((tensor) => !isScales(tensor)), stored().filter(isScales)] as const
    expect(valuesOf(await folderOf(...parts))).toEqual(valuesOf(reference))
    const larger = parts[1].map((tensor) => ({
      ...tensor,
      *pieces() {
        for (const piece of tensor.pieces()) yield piece.map((power) => power + 1)
      },
    }))
    const doubled = await folderOf(parts[0], larger)
    expect(valuesOf(doubled)).toEqual(valuesOf(reference).map((value) => 2 * value))
    const cache = join(root, 'cache')
    const read = async (folder: string) =>
      readTensor((await asFloat32Source(openModelFolder(folder), cache)).tensors.get(expert)!)
    expect(await read(reference)).toEqual(valuesOf(reference))
    expect(await read(doubled)).toEqual(valuesOf(doubled))
  })

  test('that lack a part, or have one of another shape or type, are refused', async () => {
    const error = async (tensors: readonly TensorToWrite[]) => errorOf(await folderOf(tensors)).message
    expect(await error(without(scales))).toContain(`lacks the tensor “${scales}”`)
    const bare = stored().find(({ name }) => name === scales)!
    const [rows, ...rest] = [bare.shape[1]!, bare.shape[0]!, bare.shape[2]!]
    const turned = { ...bare, shape: [rows, ...rest] }
    expect(await error([...without(scales), turned])).toContain('but config.json asks for [4, 32, 2]')
    const halves = { ...bare, dtype: 'F16' as const, pieces: () => [new Uint8Array(2 * 4 * 32 * 2)] }
    expect(await error([...without(scales), halves])).toContain('must be of bytes (U8)')
  })

  test('whose rows are no whole blocks are refused', async () => {
    const narrower = stored().map((tensor) => {
      if (!tensor.name.includes('gate_up_proj')) return tensor
      const shape = tensor.shape.map((size, axis) => (axis === 1 ? 96 : size))
      const size = { U8: 1, BF16: 2, F16: 2, F32: 4 }[tensor.dtype]
      const bytes = shape.reduce((product, each) => product * each, size)
      return { ...tensor, shape, pieces: () => [new Uint8Array(bytes)] }
    })
    const folder = await folderOf(narrower)
    editConfig(folder, { intermediate_size: 48 })
    expect(errorOf(folder).message).toContain('whole blocks of 32')
  })

  test('with a power that is no number are refused when they are read', async () => {
    const bare = stored().find(({ name }) => name === scales)!
    const infinite = { ...bare, pieces: () => [new Uint8Array(4 * 32 * 2).fill(255)] }
    const folder = await folderOf([...without(scales), infinite])
    await expect(asFloat32Source(openModelFolder(folder), join(root, 'cache'))).rejects.toThrow(
      'not a finite number',
    )
  })
})
