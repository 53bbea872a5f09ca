/**
 * Exported adapters and merged models in llama.cpp itself: the same greedy tokens as the policy that was trained. The library comes
 * prebuilt for Linux; where it cannot be loaded the tests say so by their name.
 */
import path from 'node:path'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import { createOrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { policyReader } from '#host/export/parityReaders.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { noAdapter } from '#host/models/openModel.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { modelShapes, type ModelShape } from '#host/models/modelShapes.ts'
import { largestDifference } from '../../engine/runtime/differences.ts'
import { oneThread, randomSequence } from '../../engine/runtime/tinyModel.ts'
import {
  createFixture,
  failures,
  fixtureLora,
  randomFixture,
  referenceFixture,
  type ExportFixture,
} from './exportFixture.ts'
import { continuationsOf, loadLlama, logprobsOf } from '../gguf/llama.ts'
import { writeGgufBase } from './ggufBase.ts'
import { eachOf } from '../../sweeps.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-llama-'))

const loading = await loadLlama()

afterAll(async () => {
  if (typeof loading !== 'string') await loading.dispose()
  rmSync(folder, { recursive: true, force: true })
})

const prompts = [
  [72, 101, 108, 108, 111],
  [49, 43, 49, 61],
  [1, 2, 3, 5, 8, 13, 21, 34],
  [200, 7, 150],
].map((ids) => Int32Array.from(ids))
const count = 16

const plain = {
  device: oneThread,
  lora: noAdapter,
  loraSeed: 0,
  rolloutPrecision: 'f32',
  activations: 'recompute',
  maxRows: 4,
} as const

async function askPolicy(
  { model, adapter, folder: cache }: ExportFixture,
  role: 'actor' | 'base',
  rows: readonly Int32Array[] = prompts,
): Promise<number[][]> {
  using policy = await createOrtPolicy({
    ...plain,
    source: await asFloat32Source(model, path.join(cache, 'cache')),
    lora: adapter.config,
    adapter: adapter.tensors,
  })
  const answers = await policyReader(policy, role).proceed(rows, count)
  return answers.map((ids) => [...ids])
}

/** A model of transformers, with a made-up tokenizer, which the library wants of every model. */
async function speakingFixture(place: string, name: string): Promise<ExportFixture> {
  const reference = await referenceFixture(path.join(place, 'from'), name)
  const directory = path.join(place, 'model')
  cpSync(reference.model.directory, directory, { recursive: true })
  const vocab = Object.fromEntries(
    Array.from({ length: reference.model.config.vocabSize }, (_, id) => [`t${id}`, id] as const),
  )
  const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }
  const tokenizer = {
    version: '1.0',
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: bytes,
    post_processor: null,
    decoder: bytes,
    model: { type: 'BPE', vocab, merges: [] },
  }
  writeFileSync(path.join(directory, 'tokenizer.json'), JSON.stringify(tokenizer))
  return createFixture(place, openModelFolder(directory), reference.adapter)
}

if (typeof loading === 'string') {
  test(`llama.cpp could not be loaded here, so adapters are not tried in it: ${loading}`, () => {
    // Nothing can be computed; on the platforms of CI the library must be there.
    expect(process.platform === 'linux' && process.arch === 'x64').toBe(false)
  })
} else {
  test.each(['tiny-llama', 'tiny-qwen2'] as const)(
    'a %s base and its exported adapter give the tokens of the policy in llama.cpp',
    async (shape) => {
      const place = path.join(folder, shape)
      mkdirSync(place)
      const fixture = await randomFixture(place, shape)
      const base = path.join(place, 'base.gguf')
      writeGgufBase(base, fixture.model)
      const { directory } = await fixture.export({ format: 'gguf' })
      const adapter = path.join(directory, 'adapter.gguf')

      const alone = await continuationsOf(loading, { base, adapter: null, prompts, count })
      const adapted = await continuationsOf(loading, { base, adapter, prompts, count })
      expect(alone).toEqual(await askPolicy(fixture, 'base'))
      expect(adapted).toEqual(await askPolicy(fixture, 'actor'))
      for (const [index, ids] of adapted.entries()) expect(ids).not.toEqual(alone[index])

      const { directory: merged } = await fixture.export({ format: 'gguf-model', dtype: 'f32' })
      const whole = path.join(merged, 'model.gguf')
      expect(await continuationsOf(loading, { base: whole, adapter: null, prompts, count })).toEqual(adapted)
    },
    120_000,
  )

  /** Of each way in which tensors or frequencies differ from Llama's. */
  const families = [
    'llama-biases-llama3',
    'llama-yarn',
    'qwen3-rslora',
    'granite',
    'olmo2',
    'stablelm',
    'gpt2',
  ]

  const tokens = 'the merged model of %s gives the tokens of the policy in llama.cpp'
  const isAlways = (name: string) => name === 'gpt2'
  eachOf(test, { rows: families, isAlways }, tokens, async (name) => {
    const place = path.join(folder, name)
    mkdirSync(place)
    const fixture = await speakingFixture(place, name)
    const { directory } = await fixture.export({ format: 'gguf-model', dtype: 'f32' })
    const base = path.join(directory, 'model.gguf')
    const ids = prompts.map((prompt) => prompt.map((id) => id % fixture.model.config.vocabSize))
    const theirs = await continuationsOf(loading, { base, adapter: null, prompts: ids, count })
    expect(theirs).toEqual(await askPolicy(fixture, 'actor', ids))
  })

  /** What llama.cpp computes of these families; of EXAONE 4 it knows windows in 64 layers alone. */
  const sizes: Readonly<Record<string, Partial<ModelShape>>> = {
    'tiny-exaone4': { config: { sliding_window: null, sliding_window_pattern: null } },
    // Linear attention there divides by no less than this number.
    'tiny-qwen3_5': { normEpsilon: 1e-6 },
    'tiny-qwen3_5_moe': { normEpsilon: 1e-6 },
    'tiny-olmoe': { kvHeads: modelShapes['tiny-olmoe'].heads },
    // All layers have experts there.
    'tiny-qwen3_moe': { config: { mlp_only_layers: [] } },
    // It rounds YaRN's blend to whole pairs: no difference where that begins before the first and ends behind the last.
    'tiny-gpt_oss': {
      ropeTheta: 4,
      config: {
        sliding_window: 32,
        rope_scaling: {
          rope_type: 'yarn',
          factor: 4,
          truncate: false,
          original_max_position_embeddings: 128,
        },
      },
    },
    // Weights so small that what its GELU rounds does not grow from layer to layer.
    'tiny-gemma4_unified': { deviation: 0.05 },
  }

  const shapes = [
    'tiny-glm4',
    'tiny-ernie4_5',
    'tiny-olmo3',
    'tiny-exaone4',
    'tiny-seed_oss',
    'tiny-ministral3',
    'tiny-arcee',
    'tiny-hunyuan_v1_dense',
    'tiny-lfm2',
    'tiny-qwen3_5',
    'tiny-qwen3_5_moe',
    'tiny-qwen3_moe',
    'tiny-olmoe',
    'tiny-gpt_oss',
    'tiny-granitemoe',
    'tiny-gemma4',
    'tiny-gemma4_unified',
  ] as const
  eachOf(
    test,
    { rows: shapes, isAlways: (shape) => ['tiny-qwen3_5', 'tiny-granitemoe', 'tiny-gemma4'].includes(shape) },
    'the merged model of a %s has the log-probabilities of the policy in llama.cpp, and is read back',
    async (shape) => {
      const place = path.join(folder, shape)
      mkdirSync(place)
      const fixture = await randomFixture(place, shape, { overrides: sizes[shape] ?? {} })
      const report = await fixture.export({ format: 'gguf-model', dtype: 'f32' })
      expect(failures(report)).toEqual([])
      const base = path.join(report.directory, 'model.gguf')
      // Past the windows of these models.
      const rows = [40, 60].map((length, row) => randomSequence(258, length, row).ids)
      using policy = await createOrtPolicy({
        ...plain,
        source: await asFloat32Source(openModelFolder(base), path.join(place, 'read')),
      })
      const theirs = await logprobsOf(loading, { base, rows })
      // It looks GELU up in a table of numbers with 16 bits.
      const limit = shape.startsWith('tiny-gemma') ? 3e-3 : 1e-4
      for (const [row, ours] of (await policyReader(policy, 'base').score(rows)).entries()) {
        expect(largestDifference(Float64Array.from(theirs[row]!), ours)).toBeLessThan(limit)
      }
    },
  )

  // Of what a file has in 16 bits llama.cpp would end where its kernel takes 32.
  test.each(['tiny-qwen3_5', 'tiny-lfm2'] as const)(
    'the merged model of a %s is computed by llama.cpp in 16 bits too',
    async (shape) => {
      const place = path.join(folder, `${shape}-f16`)
      mkdirSync(place)
      const fixture = await randomFixture(place, shape, { overrides: sizes[shape] ?? {} })
      const { directory } = await fixture.export({ format: 'gguf-model', dtype: 'f16' })
      const base = path.join(directory, 'model.gguf')
      const rows = [randomSequence(258, 40, 0).ids]
      using policy = await createOrtPolicy({
        ...plain,
        source: await asFloat32Source(openModelFolder(base), path.join(place, 'read')),
      })
      const [theirs] = await logprobsOf(loading, { base, rows })
      const [ours] = await policyReader(policy, 'base').score(rows)
      // It rounds what it multiplies, too.
      expect(largestDifference(Float64Array.from(theirs!), ours!)).toBeLessThan(0.1)
    },
  )

  const isSmallest = (dtype: 'q8_0' | 'q4_k_m') => dtype === 'q4_k_m'
  const dtypes = ['q8_0', 'q4_k_m'] as const
  eachOf(
    test,
    { rows: dtypes, isAlways: isSmallest },
    'a merged model as %s is read by llama.cpp',
    async (dtype) => {
      const place = path.join(folder, dtype)
      mkdirSync(place)
      const overrides = { hiddenSize: 256, heads: 4, kvHeads: 2, headDim: 64, intermediateSize: 512 }
      const lora = { ...fixtureLora, alpha: 2 }
      const fixture = await randomFixture(place, 'tiny-llama', { overrides, lora })
      const report = await fixture.export({ format: 'gguf-model', dtype })
      expect(failures(report)).toEqual([])
      const base = path.join(report.directory, 'model.gguf')
      const theirs = await continuationsOf(loading, { base, adapter: null, prompts, count })
      using policy = await createOrtPolicy({
        ...plain,
        source: await asFloat32Source(openModelFolder(base), place),
      })
      const ours = await policyReader(policy, 'base').proceed(prompts, count)
      // It multiplies with activations in 8 bits, so tokens of nearly the same probability may change places.
      const same = theirs.map((ids, row) => ids.findIndex((id, at) => id !== ours[row]?.[at]))
      expect(same.filter((at) => at !== 0).length).toBeGreaterThan(prompts.length / 2)
    },
  )
}
