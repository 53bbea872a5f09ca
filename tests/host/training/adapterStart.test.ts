import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { separateLinears, loraScale, type LoraConfig } from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import type { PolicyRole } from '#engine/policy.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { openModelFolder, type ModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeAdapter } from '#host/adapters/peft.ts'
import { resolveRunConfig } from '#host/runs/runConfigFile.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { firstAdapter, withReference } from '#host/training/adapterStart.ts'
import { openModel } from '#host/models/openModel.ts'
import { oneThread } from '../../engine/runtime/tinyModel.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const root = temporaryFolder()
const initial = path.join(root, 'adapter')
const small: LoraConfig = { rank: 2, alpha: 6, rsLora: false, targets: ['q_proj', 'down_proj'] }
let model: ModelFolder
let tensors: NamedTensor[]

const openPolicy = (lora: LoraConfig, adapter?: readonly NamedTensor[]) =>
  createOrtPolicy({
    source: model,
    device: oneThread,
    lora,
    loraSeed: 5,
    ...(adapter === undefined ? {} : { adapter }),
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows: 1,
  })

beforeAll(async () => {
  const directory = path.join(root, 'model')
  await writeRandomModel(directory, modelShapes['tiny-llama'], 1, 'F32')
  model = openModelFolder(directory)
  using policy = await openPolicy(small)
  tensors = (await policy.adapterTensors('actor')).map((tensor, at) => ({
    ...tensor,
    data: tensor.data.map((_, i) => Math.sin(i + at) / 10),
  }))
  await writeAdapter(initial, { config: small, baseModel: 'some/model', tensors, metadata: {} })
})

const configOf = (adapter: object, reference: object = {}) =>
  parseRunConfig({
    model: 'm',
    adapter,
    reference,
    data: { train: 'x' },
    rewards: [{ function: 'f' }],
    seed: 5,
  })

const rows = [{ ids: Int32Array.of(3, 1, 4, 1, 5), actionMask: new Uint8Array(4).fill(1) }]
const scoreOf = async (policy: OrtPolicy, role: PolicyRole) => {
  const [heads] = await policy.score(rows, { role, temperature: 1 })
  return [...heads!.logprobs]
}
const gap = (a: readonly number[], b: readonly number[]) =>
  Math.max(...a.map((value, at) => Math.abs(value - b[at]!)))

describe('the adapter a run begins with', () => {
  test('fresh, as the config says', () => {
    const start = firstAdapter(configOf({ rank: 3, alpha: 7, targets: ['up', 'q'] }), model, false)
    expect(start).toEqual({
      lora: { rank: 3, alpha: 7, rsLora: false, targets: ['q_proj', 'up_proj'] },
      baseModel: null,
      critic: null,
      tensors: null,
      warnings: [],
    })
  })

  test('a given one keeps its own form where the settings are left alone', () => {
    const start = firstAdapter(configOf({ initial }), model, false)
    expect(start).toEqual({ lora: small, baseModel: 'some/model', critic: null, tensors, warnings: [] })
    const same = { rank: 2, alpha: 6, targets: ['down', 'q'], initial }
    expect(firstAdapter(configOf(same), model, false)).toEqual(start)
  })

  test.each<[object, string]>([
    [{ rank: 8 }, 'adapter.rank: 8, but the adapter of `adapter.initial` has 2'],
    [{ rank: 1 }, 'adapter.rank: 1, but the adapter of `adapter.initial` has 2'],
    [{ alpha: 12 }, 'adapter.alpha: 12, but the adapter of `adapter.initial` has 6'],
    [{ rsLora: true }, 'adapter.rsLora: true, but the adapter of `adapter.initial` has false'],
    [
      { targets: ['q', 'v'] },
      'adapter.targets: q_proj, v_proj, but the adapter of `adapter.initial` has q_proj, down_proj',
    ],
    [{ rank: 8, alpha: 7 }, 'has 2. adapter.alpha: 7, but'],
  ])('settings that contradict it are told, with both sides: %j', (settings, problem) => {
    expect(() => firstAdapter(configOf({ ...settings, initial }), model, false)).toThrow(problem)
  })

  test('a default that was written out counts, one that was not follows the adapter', async () => {
    const given = (adapter: object) => ({
      model: model.directory,
      data: { train: 'x' },
      rewards: [{ function: 'exact-match' }],
      adapter: { initial, ...adapter },
    })
    const settled = (adapter: object) => resolveRunConfig(given(adapter), path.dirname(initial))
    const { adapter } = await settled({})
    expect(adapter).toMatchObject({ rank: 2, alpha: 6, rsLora: false, targets: 'all-linear' })
    // What a run writes into its folder can be trained again.
    expect((await settled(adapter)).adapter).toEqual(adapter)
    const usual = parseRunConfig(given({})).adapter
    await expect(settled({ rank: usual.rank })).rejects.toThrow(
      `adapter.rank: ${usual.rank}, but the adapter of \`adapter.initial\` has 2`,
    )
    const merged = await settled({ rank: usual.rank, mergeConfigs: true })
    expect(merged.adapter.rank).toBe(usual.rank)
  })

  test.each<[object, object, string]>([
    [{ rank: 1, alpha: 3 }, { rank: 2, alpha: 3 }, 'acts 0.5 times as strongly'],
    [{ rank: 2, alpha: 6, rsLora: true }, { rank: 2, rsLora: true }, 'acts 1.41 times as strongly'],
    [
      { rank: 4, alpha: 12, targets: ['v'] },
      { rank: 4, targets: ['q_proj', 'v_proj', 'down_proj'] },
      'r 4, lora_alpha 12, target_modules',
    ],
  ])('merged from %j: %j', (settings, expected, warning) => {
    const {
      lora,
      warnings,
      tensors: merged,
    } = firstAdapter(configOf({ ...settings, initial, mergeConfigs: true }), model, false)
    expect(lora).toMatchObject(expected)
    expect(warnings.join(' ')).toContain(warning)
    expect(merged?.length).toBe(lora.targets.length * model.config.layers * 2)
  })

  test('merged, with the same scale, it computes what it did', async () => {
    const config = configOf({ rank: 8, alpha: 24, initial, mergeConfigs: true })
    const start = firstAdapter(config, model, false)
    expect(start.lora).toEqual({ rank: 8, alpha: 24, rsLora: false, targets: separateLinears })
    expect(loraScale(start.lora)).toBe(loraScale(small))
    expect(start.warnings).toEqual([expect.stringContaining('continues under a merged config: r 8')])
    using before = await openPolicy(small, tensors)
    using after = await openPolicy(start.lora, start.tensors ?? [])
    using fresh = await openPolicy(start.lora)
    const expected = await scoreOf(before, 'actor')
    expect(gap(expected, await scoreOf(after, 'actor'))).toBeLessThan(1e-5)
    expect(gap(expected, await scoreOf(fresh, 'actor'))).toBeGreaterThan(1e-3)
  })
})

describe('the reference a run is measured from', () => {
  const toReference = { adapter: initial }
  const opened = (directory: string) =>
    openModel({
      directory: model.directory,
      adapter: directory,
      device: oneThread,
      precision: 'f32',
      base: null,
      maxRows: 1,
      cacheDirectory: path.join(root, 'cache'),
    })

  async function policyOf(settings: object, reference: object = toReference) {
    const config = configOf(settings, reference)
    const { start, reference: given } = withReference(firstAdapter(config, model, false), config, model)
    const options = {
      source: model,
      device: oneThread,
      lora: start.lora,
      loraSeed: 5,
      ...(start.tensors === null ? {} : { adapter: start.tensors }),
      ...(given === null ? {} : { reference: given }),
    }
    const policy = await createOrtPolicy({
      ...options,
      rolloutPrecision: 'f32',
      activations: 'recompute',
      maxRows: 1,
    })
    return { start, policy }
  }

  test.each<[string, object]>([
    ['a larger rank and more targets', { rank: 6, alpha: 5 }],
    ['rank-stabilised', { rank: 3, rsLora: true }],
    ['its own form', { rank: 2, alpha: 6, targets: ['q', 'down'] }],
  ])('beside a policy of %s: divergence is what scoring it says', async (_title, settings) => {
    const { policy } = await policyOf(settings)
    using _ = policy
    using alone = await opened(initial)
    const [actor, reference] = [await scoreOf(policy, 'actor'), await scoreOf(policy, 'reference')]
    expect(gap(reference, await scoreOf(alone.policy, 'actor'))).toBeLessThan(1e-5)
    expect(gap(actor, await scoreOf(alone.policy, 'base'))).toBeLessThan(1e-5)
    expect(gap(actor, reference)).toBeGreaterThan(1e-3)
  })

  test('that has no place beside the policy is refused, with both sides, unless the policy may grow', async () => {
    const settings = { rank: 1, alpha: 2, targets: ['q', 'v'] }
    await expect(policyOf(settings)).rejects.toThrow(
      "reference.adapter: it has rank 2 on q_proj, down_proj; the policy's adapter has only rank 1 on q_proj, v_proj.",
    )
    const { start, policy } = await policyOf({ ...settings, mergeConfigs: true })
    using _ = policy
    expect(start.lora).toEqual({
      rank: 2,
      alpha: 4,
      rsLora: false,
      targets: ['q_proj', 'v_proj', 'down_proj'],
    })
    expect(start.warnings).toEqual([
      expect.stringContaining('has rank 2 on q_proj, v_proj, down_proj, with alpha 4'),
    ])
    using alone = await opened(initial)
    expect(gap(await scoreOf(policy, 'reference'), await scoreOf(alone.policy, 'actor'))).toBeLessThan(1e-5)
  })

  test('a policy with an adapter of its own keeps it as it grows', async () => {
    const own = path.join(root, 'own')
    const lora: LoraConfig = { rank: 1, alpha: 3, rsLora: false, targets: ['v_proj'] }
    using fresh = await openPolicy(lora)
    const learned = (await fresh.adapterTensors('actor')).map((tensor) => ({
      ...tensor,
      data: tensor.data.map((_, i) => Math.cos(i) / 5),
    }))
    await writeAdapter(own, { config: lora, baseModel: null, tensors: learned, metadata: {} })
    const { start, policy } = await policyOf({
      initial: own,
      rank: 1,
      alpha: 3,
      targets: ['v'],
      mergeConfigs: true,
    })
    using _ = policy
    expect(loraScale(start.lora)).toBe(3)
    using alone = await opened(own)
    expect(gap(await scoreOf(policy, 'actor'), await scoreOf(alone.policy, 'actor'))).toBeLessThan(1e-5)
  })

  test('nothing said: what the policy begins as', async () => {
    const { policy } = await policyOf({ initial }, {})
    using _ = policy
    expect(await scoreOf(policy, 'reference')).toEqual(await scoreOf(policy, 'actor'))
  })
})
