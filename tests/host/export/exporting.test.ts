import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { adapterForModel, readAdapter } from '#host/adapters/peft.ts'
import { openSafetensors, readTensor } from '#host/files/safetensors.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import {
  failures,
  type ExportFixture,
  fixtureLora,
  randomFixture,
  reference,
  referenceFixture,
  tensorOf,
} from './exportFixture.ts'
import { eachOf } from '../../sweeps.ts'

const root = temporaryFolder()
let places = 0
function place(): string {
  const folder = path.join(root, String(++places))
  mkdirSync(folder)
  return folder
}

type Asked = Parameters<ExportFixture['export']>[0]

const peft: Asked = { format: 'peft' }
const gguf: Asked = { format: 'gguf' }
const bfloat: Asked = { format: 'gguf', dtype: 'bf16' }
const merged: Asked = { format: 'merged' }
const widened: Asked = { format: 'merged', dtype: 'f32' }
const onnx: Asked = { format: 'onnx' }
const inputs: Asked = { format: 'onnx', adapterInputs: true }

/**
 * Fused, transposed and windowed ones, each type of number, one file and several: each merged, as GGUF and as ONNX, and each option
 * where it does something else.
 */
const families: Readonly<Record<string, readonly Asked[]>> = {
  'llama-biases-llama3': [merged, gguf, bfloat, onnx],
  'mistral-f16': [merged, widened, gguf, onnx],
  'qwen2-window': [merged, bfloat, inputs],
  smollm3: [merged, gguf, onnx],
  gemma2: [merged, gguf, inputs],
  phi3: [peft, merged, gguf, onnx, inputs],
  gpt2: [peft, merged, gguf, inputs],
  'qwen35-moe': [peft, merged],
  'gpt-oss': [peft, merged, gguf],
  'gpt-oss-mxfp4': [widened, gguf],
}

eachOf(
  test,
  { rows: Object.entries(families), isAlways: ([family]) => family === 'phi3' },
  '%s: every export gives the log-probabilities and tokens of the policy',
  async (family, asked) => {
    const fixture = await referenceFixture(place(), family)
    for (const [index, each] of asked.entries()) {
      const report = await fixture.export({ ...each, out: path.join(fixture.folder, `out-${index}`) })
      expect(failures(report)).toEqual([])
      const written = readJsonObject(path.join(report.directory, 'parity.json'), 'data/invalid')
      expect(written).toMatchObject({ format: each.format, passed: true, parity: report.parity })
      expect(written['adapterEffect']).toBeGreaterThan(0.01)
      expect(readFileSync(path.join(report.directory, 'README.md'), 'utf8')).toContain('## Read back')
    }
  },
)

describe('a merged model', () => {
  test('has the base files, byte by byte, shards of the given size, and every tensor of the base', async () => {
    const fixture = await randomFixture(place(), 'tiny-qwen2', { dtype: 'BF16' })
    const base = fixture.model.directory
    const template = path.join('additional_chat_templates', 'tool_use.jinja')
    mkdirSync(path.dirname(path.join(base, template)))
    writeFileSync(path.join(base, template), '{{ tools }}')
    const { directory } = await fixture.export({ format: 'merged', shardBytes: 40_000 })
    const configs = ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json']
    for (const name of [...configs, template]) {
      expect(readFileSync(path.join(directory, name)).equals(readFileSync(path.join(base, name)))).toBe(true)
    }
    const index = readJsonObject(path.join(directory, 'model.safetensors.index.json'), 'model/invalid')
    const original = openSafetensors(path.join(base, 'model.safetensors')).tensors
    const totalSize = [...original.values()].reduce((sum, { byteLength }) => sum + byteLength, 0)
    expect(index['metadata']).toEqual({ total_size: totalSize })
    expect(Object.keys(index['weight_map'] as object).sort()).toEqual([...original.keys()].sort())
    const shards = readdirSync(directory).filter((name) => name.endsWith('.safetensors'))
    expect(shards.length).toBeGreaterThan(2)
    expect(shards[0]).toBe(`model-00001-of-${String(shards.length).padStart(5, '0')}.safetensors`)
    expect(new Set(Object.values(index['weight_map'] as object))).toEqual(new Set(shards))
    const merged = openModelFolder(directory)
    expect([...merged.tensors.values()].every(({ dtype }) => dtype === 'BF16')).toBe(true)
  })

  test('a weight is base + s·B·A, rounded once; others are the base', async () => {
    const fixture = await randomFixture(place(), 'tiny-llama')
    const { directory } = await fixture.export({ format: 'merged' })
    const merged = openModelFolder(directory)
    const read = (model: typeof merged, name: string) => readTensor(model.tensors.get(name)!)
    const name = 'model.layers.1.self_attn.q_proj'
    const [base, sum] = [read(fixture.model, `${name}.weight`), read(merged, `${name}.weight`)]
    const [a, b] = [tensorOf(fixture.adapter, `${name}.lora_A`), tensorOf(fixture.adapter, `${name}.lora_B`)]
    const [width, scale] = [a.shape[1]!, fixtureLora.alpha / Math.sqrt(fixtureLora.rank)]
    sum.forEach((value, at) => {
      const [row, column] = [Math.floor(at / width), at % width]
      let delta = 0
      for (let k = 0; k < 4; k++) delta += scale * b.data[row * 4 + k]! * a.data[k * width + column]!
      expect(Math.abs(value - (base[at]! + delta))).toBeLessThan(1e-6)
    })
    const untouched = 'model.layers.1.mlp.gate_proj.weight'
    expect(read(merged, untouched)).toEqual(read(fixture.model, untouched))
  })

  test('in f32 its config says so and is the same text otherwise', async () => {
    const fixture = await referenceFixture(place(), 'gemma2')
    const report = await fixture.export({ format: 'merged', dtype: 'f32' })
    expect(failures(report)).toEqual([])
    const { directory } = report
    const [ours, base] = [directory, fixture.model.directory].map((folder) =>
      readFileSync(path.join(folder, 'config.json'), 'utf8'),
    )
    expect(base).toMatch(/: \d+\.0\b/) // what JSON.stringify would write as a whole number
    expect(ours).toBe(base!.replace('"bfloat16"', '"float32"'))
    expect([...openModelFolder(directory).tensors.values()].every(({ dtype }) => dtype === 'F32')).toBe(true)
  })

  test('tensors that we do not know are copied too', async () => {
    const fixture = await referenceFixture(place(), 'gpt2-older')
    const { directory } = await fixture.export({ format: 'merged' })
    const [file, copy] = [path.join(reference, 'gpt2-older/model'), directory].map((folder) =>
      openSafetensors(path.join(folder, 'model.safetensors')),
    )
    const names = (from: typeof file) => [...from!.tensors.keys(), ...from!.unreadable.keys()].sort()
    expect(names(copy)).toEqual(names(file))
    expect(names(copy).some((name) => name.endsWith('attn.bias'))).toBe(true)
  })
})

test('an adapter says where it comes from, and opens as one', async () => {
  const fixture = await randomFixture(place(), 'tiny-qwen2')
  writeFileSync(path.join(fixture.model.directory, 'README.md'), '---\nlicense: mit\n---\n')
  const { directory } = await fixture.export({ format: 'peft' })
  const read = adapterForModel(readAdapter(directory), fixture.model.config, directory)
  expect(read.tensors).toEqual(fixture.adapter.tensors)
  const { metadata } = openSafetensors(path.join(directory, 'adapter_model.safetensors'))
  expect(Object.fromEntries(metadata)).toMatchObject({ format: 'pt', step: '7' })
  expect(metadata.get('base_sha256')).toMatch(/^[0-9a-f]{64}$/)
  expect(metadata.get('base_license')).toBe('mit')
  const report = readJsonObject(path.join(directory, 'parity.json'), 'data/invalid')
  expect(report['madeFrom']).toMatchObject({
    lora: { rank: 4, scale: 6 },
    architecture: 'qwen2',
    step: 7,
    learnedOn: 'f32',
    baseLicense: { name: 'mit', link: null, acceptedAt: null },
  })
  expect((report['prompts'] as string[])[0]).toBe('The capital of France is')
})

test('an adapter that learned on a rounded base says so; it is compared on the exact one', async () => {
  const fixture = await randomFixture(place(), 'tiny-qwen2', { base: 'int8' })
  const { directory, parity } = await fixture.export({ format: 'peft' })
  expect(parity.filter(({ passed }) => !passed)).toEqual([])
  expect(readAdapter(directory).base).toBe('int8')
  const report = readJsonObject(path.join(directory, 'parity.json'), 'data/invalid')
  expect(report['madeFrom']).toMatchObject({ learnedOn: 'int8' })
  const card = readFileSync(path.join(directory, 'README.md'), 'utf8')
  expect(card).toContain('It was trained on a base quantised to int8 blocks')
})

describe('an ONNX folder', () => {
  test.each([false, true])(
    'its example goes on as the policy does (adapter as inputs: %s)',
    async (adapterInputs) => {
      const folder = place()
      const fixture = await randomFixture(folder, 'tiny-llama')
      const { directory } = await fixture.export({ format: 'onnx', adapterInputs })
      symlinkSync(path.resolve('node_modules'), path.join(folder, 'node_modules'), 'dir')
      const run = (ids: string) =>
        execFileSync(process.execPath, [path.join(directory, 'example.mjs'), ids, '8'], {
          encoding: 'utf8',
        }).trim()
      const { policyReader } = await import('#host/export/parityReaders.ts')
      const { createOrtPolicy } = await import('#engine/runtime/ortPolicy.ts')
      using policy = await createOrtPolicy({
        source: fixture.model,
        device: { kind: 'cpu', threads: 1, deviceId: 0 },
        lora: fixture.adapter.config,
        loraSeed: 0,
        adapter: fixture.adapter.tensors,
        rolloutPrecision: 'f32',
        activations: 'recompute',
        maxRows: 1,
      })
      const [expected] = await policyReader(policy, 'actor').proceed([Int32Array.of(72, 105, 33)], 8)
      expect(run('72 105 33')).toBe(expected!.join(' '))
      expect(readdirSync(directory)).toEqual(
        expect.arrayContaining(['model.onnx', 'model.onnx.data', 'config.json']),
      )
      expect(existsSync(path.join(directory, 'adapter.safetensors'))).toBe(adapterInputs)
    },
  )
})

describe('the folder', () => {
  test('one with something in it is refused and left alone; what an earlier attempt left is not in the way', async () => {
    const folder = place()
    const fixture = await randomFixture(folder, 'tiny-llama')
    const out = path.join(folder, 'full')
    mkdirSync(out)
    writeFileSync(path.join(out, 'mine.txt'), 'mine')
    await expect(fixture.export({ format: 'gguf', out })).rejects.toThrow('is not empty')
    expect(readdirSync(out)).toEqual(['mine.txt'])

    mkdirSync(path.join(folder, 'new-unchecked'))
    writeFileSync(path.join(folder, 'new-unchecked', 'half'), '')
    const next = { format: 'gguf', out: path.join(folder, 'new') } as const
    await expect(fixture.export(next)).rejects.toThrow('is not empty')
    writeFileSync(path.join(folder, 'new-unchecked', '.turnwise-export'), '')
    const { directory, files } = await fixture.export(next)
    expect(files.map((file) => path.relative(directory, file.path))).toEqual([
      'README.md',
      'adapter.gguf',
      'parity.json',
    ])
    expect(readdirSync(folder).filter((name) => name.includes('unchecked'))).toEqual([])
  })

  test('options that do not go with a format are refused', async () => {
    const fixture = await randomFixture(place(), 'tiny-llama')
    await expect(fixture.export({ format: 'merged', dtype: 'f16' })).rejects.toThrow(/not as f16/)
    await expect(fixture.export({ format: 'peft', adapterInputs: true })).rejects.toThrow(/Only an ONNX/)
    expect(readdirSync(fixture.folder).filter((name) => name.startsWith('out'))).toEqual([])
  })
})
