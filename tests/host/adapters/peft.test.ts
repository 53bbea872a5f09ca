import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type LinearName, linearNames, separateLinears } from '#engine/models/config.ts'
import { readModelConfig } from '#engine/models/registry.ts'
import { adapterForModel, peftTensorName, readAdapter, writeAdapter } from '#host/adapters/peft.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { bytesOf, openSafetensors, writeSafetensors } from '#host/files/safetensors.ts'
import {
  byName,
  configOf,
  editConfig,
  errorOf,
  lora,
  model,
  newPath,
  renameTensors,
  smallShape,
  tensorsFor,
  without,
  write,
} from './exampleAdapter.ts'

describe('writing an adapter', () => {
  test('PEFT’s names, shapes, type and metadata', async () => {
    const path = await write()
    const { tensors, metadata } = openSafetensors(join(path, 'adapter_model.safetensors'))
    expect(tensors.get('base_model.model.model.layers.1.self_attn.v_proj.lora_A.weight')).toMatchObject({
      dtype: 'F32',
      shape: [4, 16],
    })
    expect(tensors.get('base_model.model.model.layers.0.self_attn.v_proj.lora_B.weight')).toMatchObject({
      shape: [8, 4],
    })
    expect(tensors.size).toBe(8)
    expect(metadata).toEqual(
      new Map([
        ['run', 'run_1'],
        ['format', 'pt'],
      ]),
    )
  })

  test('the config every reader takes', async () => {
    const path = await write()
    expect(readFileSync(join(path, 'adapter_config.json'), 'utf8')).toBe(`{
  "alpha_pattern": {},
  "base_model_name_or_path": "Qwen/Qwen2.5-0.5B",
  "bias": "none",
  "fan_in_fan_out": false,
  "inference_mode": true,
  "init_lora_weights": true,
  "lora_alpha": 8,
  "lora_dropout": 0.0,
  "modules_to_save": null,
  "peft_type": "LORA",
  "r": 4,
  "rank_pattern": {},
  "revision": null,
  "target_modules": [
    "q_proj",
    "v_proj"
  ],
  "task_type": "CAUSAL_LM",
  "use_dora": false,
  "use_rslora": false
}
`)
    expect(readFileSync(join(path, 'README.md'), 'utf8')).toMatch(
      /^---\nbase_model: Qwen\/Qwen2\.5-0\.5B\nlibrary_name: peft\n/,
    )
  })

  test.each(['/home/someone/models/qwen', './qwen', 'C:\\models', 'a/b/c', 'x\ny'])(
    'a path (%j) is not told',
    async (baseModel) => {
      const path = newPath()
      await writeAdapter(path, { config: lora(), baseModel, tensors: tensorsFor(lora()), metadata: {} })
      expect(configOf(path).base_model_name_or_path).toBeNull()
      expect(readFileSync(join(path, 'README.md'), 'utf8')).not.toContain(baseModel)
    },
  )

  test('an adapter is replaced, anything else is not', async () => {
    const path = await write()
    const config = { ...lora(), alpha: 16 }
    await writeAdapter(path, { config, baseModel: null, tensors: tensorsFor(config), metadata: {} })
    expect(readAdapter(path).config.alpha).toBe(16)
    writeFileSync(join(path, 'thesis.doc'), '')
    const again = writeAdapter(path, { config, baseModel: null, tensors: tensorsFor(config), metadata: {} })
    await expect(again).rejects.toMatchObject({ code: 'file/unwritable' })
    expect(readdirSync(path)).toContain('thesis.doc')
  })
})

describe('reading an adapter', () => {
  test.each([[['q_proj', 'v_proj']], [[...separateLinears]]] as [LinearName[]][])(
    '%j: what was written comes back',
    async (targets) => {
      const config = { ...lora(targets), rsLora: true, alpha: 5.5 }
      const adapter = readAdapter(await write(config))
      expect(adapter.config).toEqual({
        ...config,
        targets: linearNames.filter((name) => targets.includes(name)),
      })
      expect(adapter.baseModel).toBe('Qwen/Qwen2.5-0.5B')
      expect(adapterForModel(adapter, model, 'a').tensors).toEqual(tensorsFor(config))
    },
  )

  test('bf16 adapters are widened', async () => {
    const path = await write()
    const bits = Uint16Array.of(0x3f80, 0x4000)
    const tensors = tensorsFor(lora()).map(({ name, shape, data }) => ({
      name: peftTensorName(name),
      dtype: 'BF16' as const,
      shape,
      pieces: () => Array.from({ length: data.length / 2 }, () => bytesOf(bits)),
    }))
    await writeSafetensors(join(path, 'adapter_model.safetensors'), tensors)
    expect([
      ...(byName(readAdapter(path)).get('model.layers.0.self_attn.q_proj.lora_A')?.data.subarray(0, 4) ?? []),
    ]).toEqual([1, 2, 1, 2])
  })

  test.each([
    ['all-linear', separateLinears],
    ['.*\\.(q_proj|v_proj)', ['q_proj', 'v_proj']],
    [
      ['model.layers.0.self_attn.q_proj', 'model.layers.1.self_attn.v_proj', 'v_proj'],
      ['q_proj', 'v_proj'],
    ],
  ] as [string | string[], LinearName[]][])('target_modules %j', async (written, targets) => {
    const path = await write(lora(targets))
    editConfig(path, { target_modules: written })
    expect(readAdapter(path).config.targets).toEqual(targets)
  })

  test('r and lora_alpha have PEFT’s defaults', async () => {
    const config = { ...lora(), rank: 8 }
    const path = await write(config)
    const { r: _, lora_alpha: __, ...others } = configOf(path)
    writeFileSync(join(path, 'adapter_config.json'), JSON.stringify(others))
    expect(readAdapter(path).config).toMatchObject({ rank: 8, alpha: 8 })
  })

  test('f16 adapters are widened', async () => {
    const path = await write()
    const bits = Uint16Array.of(0x3c00, 0xc000)
    const tensors = tensorsFor(lora()).map(({ name, shape, data }) => ({
      name: peftTensorName(name),
      dtype: 'F16' as const,
      shape,
      pieces: () => Array.from({ length: data.length / 2 }, () => bytesOf(bits)),
    }))
    await writeSafetensors(join(path, 'adapter_model.safetensors'), tensors)
    expect([...(readAdapter(path).tensors[0]?.data.subarray(0, 2) ?? [])]).toEqual([1, -2])
  })

  test.each([
    ['base_model.model.model.language_model.layers.', '.weight'],
    ['base_model.model.language_model.model.layers.', '.weight'],
    ['base_model.model.model.layers.', '.default.weight'],
  ])('names such as %s…%s', async (prefix, suffix) => {
    const path = await write()
    await renameTensors(path, (name) =>
      name.replace('base_model.model.model.layers.', prefix).replace('.weight', suffix),
    )
    expect(adapterForModel(readAdapter(path), model, 'a').tensors).toEqual(tensorsFor(lora()))
  })

  test('an interrupted replacement is undone', async () => {
    const path = await write()
    renameSync(path, join(dirname(path), `.${basename(path)}.previous`))
    expect(readAdapter(path).config.rank).toBe(4)
  })
})

describe('keys of a newer PEFT', () => {
  test('are told where they are on', async () => {
    const path = await write()
    editConfig(path, { shiny: { on: true }, dull: null, velora_config: { rank: 2 } })
    expect(readAdapter(path).warnings).toEqual([expect.stringContaining('sets “shiny”')])
  })
})

describe('refused adapters', () => {
  test.each([
    [{ peft_type: 'IA3' }, 'of type “IA3”'],
    [{ use_dora: true }, 'DoRA'],
    [{ modules_to_save: ['lm_head'] }, 'modules_to_save'],
    [{ alpha_pattern: { '(q|v)_proj': 8 } }, 'by the pattern “(q|v)_proj”'],
    [{ alpha_pattern: { q_proj: '8' } }, 'alpha_pattern'],
    [{ bias: 'all' }, 'trained biases'],
    [{ exclude_modules: ['v_proj'] }, 'adapts v_proj, which exclude_modules leaves out'],
    [{ layers_to_transform: [0] }, 'adapts layer 1, which layers_to_transform does not name'],
    [{ init_lora_weights: 'pissa_niter_4' }, 'changed the base model'],
    [{ target_modules: ['q_proj', 'lm_head'] }, 'adapts “lm_head”'],
    [{ target_modules: null }, 'target_modules'],
    [{ target_modules: ['q_proj'] }, 'adapts v_proj'],
    [
      { target_modules: ['q_proj', 'v_proj', 'o_proj'] },
      'lacks the tensor “base_model.model.model.layers.0.self_attn.o_proj.lora_A.weight”',
    ],
    [{ r: 3 }, 'for rank 3'],
    [{ r: 0 }, '“r”'],
    [{ r: '4' }, '“r”'],
    [{ r: 1e9 }, '“r”'],
    [{ lora_alpha: -1 }, 'lora_alpha'],
    [{ use_rslora: 'no' }, 'use_rslora'],
  ])('%j', async (change, problem) => {
    const path = await write()
    editConfig(path, change)
    const error = errorOf(() => readAdapter(path))
    expect(error.code).toBe('adapter/invalid')
    expect(error.message).toContain(problem)
    expect(error.message).toContain(path)
  })

  test('a matrix without its pair', async () => {
    const path = await write(lora(), without('model.layers.1.self_attn.q_proj.lora_B'))
    expect(errorOf(() => readAdapter(path)).message).toContain(
      'lacks the tensor “base_model.model.model.layers.1.self_attn.q_proj.lora_B.weight”',
    )
  })

  test.each([
    'lm_head.lora_A',
    'model.layers.0.mlp.q_proj.lora_A',
    'model.layers.01.self_attn.q_proj.lora_A',
    'model.layers.0.self_attn.q_proj.lora_magnitude_vector',
  ])('the tensor %s', async (name) => {
    const path = await write(lora(), (tensors) => [
      ...tensors,
      { name, shape: [4, 16], data: new Float32Array(64) },
    ])
    expect(errorOf(() => readAdapter(path)).message).toContain(peftTensorName(name))
  })

  test('a value that is no number', async () => {
    const path = await write()
    const file = join(path, 'adapter_model.safetensors')
    const bytes = readFileSync(file)
    bytes.writeFloatLE(NaN, bytes.length - 4)
    writeFileSync(file, bytes)
    expect(errorOf(() => readAdapter(path)).message).toContain('not a finite number')
  })

  test('a layer that the config says is adapted, and a half of one that need not be', async () => {
    const isThere = ({ name }: NamedTensor) => !name.startsWith('model.layers.0.')
    const path = await write(lora(), (tensors) => tensors.filter(isThere))
    expect(errorOf(() => adapterForModel(readAdapter(path), model, 'a')).message).toContain(
      'lacks “model.layers.0.',
    )
    editConfig(path, { target_modules: '.*layers\\.1\\..*(q|v)_proj' })
    const { tensors, warnings, config } = adapterForModel(readAdapter(path), model, 'a')
    const trained = tensorsFor(lora())
    const expected = trained.map((each) => (isThere(each) ? each : { ...each, data: each.data.map(() => 0) }))
    expect([config, tensors]).toEqual([lora(), expected])
    expect(warnings).toEqual([expect.stringContaining('2 of the 4 modules of q_proj, v_proj')])
    const half = await write(lora(), (all) => all.filter(isThere).slice(1))
    editConfig(half, { target_modules: '.*layers\\.1\\..*(q|v)_proj' })
    expect(errorOf(() => readAdapter(half)).message).toContain('lacks the tensor')
  })

  test('the folder of a trainer, whose last checkpoint is named', async () => {
    const folder = newPath()
    for (const step of [5, 20]) {
      mkdirSync(join(folder, `checkpoint-${step}`), { recursive: true })
      writeFileSync(join(folder, `checkpoint-${step}`, 'adapter_config.json'), '{}')
    }
    expect(errorOf(() => readAdapter(folder)).hint).toContain(join(folder, 'checkpoint-20'))
  })

  test.each([
    [{ fine_tune_type: 'dora' }, 'of the kind “dora”'],
    [{ lora_parameters: { rank: 4 } }, 'the scale in “lora_parameters”'],
    [{ lora_parameters: { rank: 0, scale: 2 } }, 'the rank in “lora_parameters”'],
    [{ lora_parameters: { rank: 8, scale: 2 } }, 'for rank 8 it must be [8, input]'],
  ])('of MLX, with %j', (change, problem) => {
    const folder = newPath()
    cpSync(join(import.meta.dirname, '../../fixtures/adapters/mlx'), folder, { recursive: true })
    editConfig(folder, change)
    expect(errorOf(() => readAdapter(folder)).message).toContain(problem)
  })

  test('a pickle, an empty folder, a missing folder', () => {
    const path = newPath()
    mkdirSync(path)
    expect(errorOf(() => readAdapter(path)).message).toContain('no adapter_config.json')
    writeFileSync(join(path, 'adapter_config.json'), '{}')
    writeFileSync(join(path, 'adapter_model.bin'), '')
    expect(errorOf(() => readAdapter(path)).hint).toContain('pickle')
    expect(errorOf(() => readAdapter(join(path, 'none'))).code).toBe('adapter/invalid')
  })

  test('the same matrix under two names', async () => {
    const path = await write(lora(), (tensors) => [
      ...tensors,
      { ...tensors[0]!, name: tensors[0]!.name.replace('model.layers', 'model.language_model.layers') },
    ])
    expect(errorOf(() => readAdapter(path)).message).toContain('q_proj.lora_A.weight” twice')
  })

  test('an adapter of another family: both are named', async () => {
    const adapter = readAdapter(await write())
    const phi = readModelConfig(
      { ...smallShape, model_type: 'phi3', num_key_value_heads: 2, pad_token_id: 0 },
      'config.json',
    )
    expect(errorOf(() => adapterForModel(adapter, phi, 'my adapter')).message).toBe(
      'my adapter is made for Qwen/Qwen2.5-0.5B: it adapts q_proj, v_proj, but a phi3 model has qkv_proj, o_proj, gate_up_proj, down_proj.',
    )
  })

  test('an adapter of another model', async () => {
    const adapter = readAdapter(await write())
    const wider = { ...model, hiddenSize: 32 }
    expect(errorOf(() => adapterForModel(adapter, wider, 'a')).message).toContain(
      '[4, 16], but this model needs [4, 32]',
    )
    const deeper = { ...model, layers: 3, mixers: [...model.mixers, ...model.mixers] }
    expect(errorOf(() => adapterForModel(adapter, deeper, 'a')).message).toContain('lacks “model.layers.2.')
    const shallower = { ...model, layers: 1 }
    expect(errorOf(() => adapterForModel(adapter, shallower, 'a')).message).toContain(
      'more layers than the 1',
    )
  })
})
