/** Files of the gguf package (tests/fixtures/gguf/make.py) as base models, against the folders they were made from. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { quantizedDtypes } from '#engine/models/source.ts'
import { createOrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { ggufTexts } from '#host/gguf/ggufModel.ts'
import { openGguf } from '#host/gguf/ggufReader.ts'
import { asRoundedBase } from '#host/models/baseCache.ts'
import { openModelFolder, type ModelFolder } from '#host/models/modelFolder.ts'
import { noAdapter } from '#host/models/openModel.ts'
import { asFloat32Source, exactPieces } from '#host/models/weightCache.ts'
import { readFloatPieces, readTensor } from '#host/files/safetensors.ts'
import { largestDifference } from '../../engine/runtime/differences.ts'
import { readReference, wholeSequence } from '../../engine/runtime/referenceFixture.ts'
import { oneThread } from '../../engine/runtime/tinyModel.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { smallShape, writeQuantizedModel } from './quantizedModel.ts'

const fixtures = path.resolve(import.meta.dirname, '../../fixtures/gguf')
const folder = temporaryFolder()
const cache = path.join(folder, 'cache')

/** Each piece is valid until the next is asked for. */
function joined(pieces: Iterable<Float32Array>): Float32Array {
  const values: number[] = []
  for (const piece of pieces) values.push(...piece)
  return Float32Array.from(values)
}

describe('blocks', () => {
  const { tensors } = openGguf(path.join(fixtures, 'blocks.gguf'))
  const names = [...tensors.keys()].filter((name) => !name.endsWith('.f32'))

  test('the fixture has every type that is read', () => {
    const types = new Set(names.map((name) => tensors.get(name)?.dtype))
    expect(types).toEqual(new Set([...quantizedDtypes, 'F16', 'BF16']))
  })

  test.each(names)('%s is widened to the bits of the gguf package', (name) => {
    const [blocks, exact] = [tensors.get(name)!, tensors.get(`${name}.f32`)!]
    const wanted = new Uint32Array(readTensor(exact).buffer)
    expect(new Uint32Array(readTensor(blocks).buffer)).toEqual(wanted)
    // A block at a time too.
    expect(new Uint32Array(joined(readFloatPieces(blocks, 256)).buffer)).toEqual(wanted)
  })
})

/**
 * What GGUF cannot say of these folders: the scale of Gemma's scores and the layers of SmolLM 3 that do not rotate, which
 * llama.cpp takes to be those of the released models.
 */
const edits: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  gemma2: { query_pre_attn_scalar: 12 },
  gemma3: { query_pre_attn_scalar: 12 },
  smollm3: { no_rope_layers: [1, 1, 1, 0] },
}

/** The folder that the file says the same as. */
function originalOf(name: string): string {
  const { directory } = readReference(name)
  const original = path.join(directory, 'model')
  if (edits[name] === undefined) return original
  const edited = path.join(folder, name)
  cpSync(original, edited, { recursive: true })
  const file = path.join(edited, 'config.json')
  const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
  writeFileSync(file, JSON.stringify({ ...config, ...edits[name] }))
  return edited
}

async function score(model: ModelFolder, sequences: readonly (readonly number[])[]) {
  using policy = await createOrtPolicy({
    source: await asFloat32Source(model, cache),
    device: oneThread,
    lora: noAdapter,
    loraSeed: 0,
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows: 4,
  })
  const heads = await policy.score(sequences.map(wholeSequence), { role: 'base', temperature: 1 })
  return heads.map(({ logprobs }) => logprobs)
}

const models = readdirSync(fixtures)
  .filter((name) => name.endsWith('.gguf') && name !== 'blocks.gguf')
  .map((name) => name.replace('.gguf', ''))

test('there is a model of every family that llama.cpp has', () => {
  const types = models.map((name) => openModelFolder(path.join(fixtures, `${name}.gguf`)).config.architecture)
  expect(new Set(types)).toEqual(
    new Set(
      ['llama', 'qwen2', 'qwen3', 'smollm3', 'gemma2', 'gemma3_text', 'gemma4_text', 'phi3', 'olmo2'].concat(
        'granite',
        'stablelm',
        'gpt2',
      ),
    ),
  )
})

describe.each(models)('%s', (name) => {
  const file = path.join(fixtures, `${name}.gguf`)
  const { contextLength, sequences, scores } = readReference(name)
  const open = (place: string) => openModelFolder(place, { contextLength })

  test('says what the config of its folder says', () => {
    const { architecture: _, eosIds: _eos, ...config } = open(file).config
    const { architecture: _own, eosIds: _ends, ...original } = open(originalOf(name)).config
    // A factor per pair instead of Llama 3's rule, rounded to f32, and factors of f32.
    expect(rounded(config)).toEqual(rounded(original))
  })

  test('holds the tensors of its folder in their order, norms within one rounding', () => {
    const [ours, original] = [open(file), open(originalOf(name))]
    expect([...ours.tensors.keys()]).toEqual([...original.tensors.keys()])
    for (const [tensor, location] of original.tensors) {
      const values = (from: typeof location) => joined(exactPieces(tensor, from, 1 << 20))
      const difference = largestDifference(values(ours.tensors.get(tensor)!), values(location))
      expect(difference).toBeLessThanOrEqual(tensor.endsWith('norm.weight') ? 2 ** -22 : 0)
    }
  })

  test('log-probabilities agree with the folder’s to 1e-4', async () => {
    const found = await score(open(file), sequences)
    const expected =
      edits[name] === undefined ? scores[0]!.logprobs : await score(open(originalOf(name)), sequences)
    for (const [row, logprobs] of found.entries()) {
      expect(largestDifference(logprobs, expected[row]!)).toBeLessThan(1e-4)
    }
  })
})

test('experts in MXFP4 from llama.cpp’s converter are read one by one, and give the folder’s log-probabilities', async () => {
  const model = openModelFolder(path.join(fixtures, 'converted/gpt-oss-mxfp4.gguf'))
  const { layers, experts } = model.config
  const packed = [...model.tensors].filter(([, { dtype }]) => dtype === 'MXFP4')
  expect(packed.length).toBe(layers * experts!.count * 3)
  const { sequences, scores } = readReference('gpt-oss-mxfp4')
  for (const [row, logprobs] of (await score(model, sequences)).entries()) {
    expect(largestDifference(logprobs, scores[0]!.logprobs[row]!)).toBeLessThan(1e-4)
  }
})

/** Numbers to six digits; false is as good as absent. */
const rounded = (config: object): unknown =>
  JSON.parse(
    JSON.stringify(config, (_, value: unknown) =>
      typeof value === 'number' ? Number(value.toPrecision(6)) : value === false ? undefined : value,
    ),
  )

describe('the file', () => {
  const file = path.join(fixtures, 'qwen2-bf16.gguf')

  test('is used in place, by itself or as the only one of a folder', () => {
    const home = path.join(folder, 'home')
    mkdirSync(home)
    cpSync(file, path.join(home, 'model.gguf'))
    const model = openModelFolder(home)
    expect(model).toMatchObject({ directory: home, configFile: path.join(home, 'model.gguf') })
    expect(model.config).toEqual(openModelFolder(file).config)
    cpSync(file, path.join(home, 'other.gguf'))
    expect(() => openModelFolder(home)).toThrow('2 GGUF files: model.gguf, other.gguf')
    expect(readFileSync(path.join(home, 'model.gguf'))).toEqual(readFileSync(file))
  })

  test('becomes blocks without its linears in f32', async () => {
    const rounded8 = await asRoundedBase(openModelFolder(file), 'int8', cache)
    expect([...rounded8.tensors.keys()].filter((name) => /proj[.]weight$/.test(name))).toEqual([])
    expect(rounded8.tensors.get('model.layers.0.mlp.up_proj.weight.int8')?.dtype).toBe('U8')
  })

  test('stands for a folder that opens as the same model', () => {
    const written = path.join(folder, 'written')
    mkdirSync(written)
    for (const [name, text] of ggufTexts(file)) writeFileSync(path.join(written, name), text)
    expect(readdirSync(written).sort()).toEqual(['config.json', 'tokenizer.json', 'tokenizer_config.json'])
    cpSync(
      path.join(readReference('qwen2-bf16').directory, 'model/model.safetensors'),
      path.join(written, 'model.safetensors'),
    )
    expect(openModelFolder(written).config).toEqual(openModelFolder(file).config)
  })
})

test.runIf(process.platform === 'linux')(
  'opening in 8-bit blocks never holds the matrices in f32',
  async () => {
    const small = path.join(folder, 'small.gguf')
    writeQuantizedModel(small, 'Q8_0', { ...smallShape('llama'), layers: 1 })
    const large = path.join(folder, 'large.gguf')
    const sizes = { layers: 4, hiddenSize: 1_024, heads: 16, kvHeads: 2, intermediateSize: 4_096 }
    writeQuantizedModel(large, 'Q4_K', { ...smallShape('llama'), ...sizes })
    const [least, opened] = [await openIn8Bits(small), await openIn8Bits(large)]
    expect(opened.blocks).toBeGreaterThan(59e6)
    // In f32 they would be four times as large as the blocks.
    expect(opened.peak - least.peak).toBeLessThan(1.3 * opened.blocks)
  },
)

/** In a process of its own, so that nothing else counts. */
async function openIn8Bits(file: string): Promise<{ readonly blocks: number; readonly peak: number }> {
  const script = path.join(import.meta.dirname, 'openingProcess.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [script, file, `${file}-cache`])
  return JSON.parse(stdout) as { readonly blocks: number; readonly peak: number }
}
