import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { separateLinears, loraScale, type LoraConfig } from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { createOrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { openModelFolder, type ModelFolder } from '#host/artifacts/modelFolder.ts'
import { modelShapes } from '#host/artifacts/modelShapes.ts'
import { writeAdapter } from '#host/artifacts/peft.ts'
import { writeRandomModel } from '#host/artifacts/randomModel.ts'
import { firstAdapter } from '#host/workers/adapterStart.ts'
import { oneThread } from '../../engine/runtime/tinyModel.ts'
import { temporaryFolder } from '../artifacts/temporaryFolder.ts'

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
  tensors = policy
    .adapterTensors('actor')
    .map((tensor, at) => ({ ...tensor, data: tensor.data.map((_, i) => Math.sin(i + at) / 10) }))
  await writeAdapter(initial, { config: small, baseModel: 'some/model', tensors, metadata: {} })
})

const configOf = (adapter: object) =>
  parseRunConfig({ model: 'm', adapter, data: { train: 'x' }, rewards: [{ function: 'f' }], seed: 5 })

describe('the adapter a run begins with', () => {
  test('fresh, as the config says', () => {
    const start = firstAdapter(configOf({ rank: 3, alpha: 7, targets: ['up', 'q'] }), model)
    expect(start).toEqual({
      lora: { rank: 3, alpha: 7, rsLora: false, targets: ['q_proj', 'up_proj'] },
      baseModel: null,
      tensors: null,
      warnings: [],
    })
  })

  test('a given one keeps its own form', () => {
    const start = firstAdapter(configOf({ rank: 3, initial }), model)
    expect(start).toEqual({ lora: small, baseModel: 'some/model', tensors, warnings: [] })
  })

  test('merged, with the same scale, it computes what it did', async () => {
    const config = configOf({ rank: 8, alpha: 24, initial, mergeConfigs: true })
    const start = firstAdapter(config, model)
    expect(start.lora).toEqual({ rank: 8, alpha: 24, rsLora: false, targets: separateLinears })
    expect(loraScale(start.lora)).toBe(loraScale(small))
    expect(start.warnings).toEqual([expect.stringContaining('goes on under a merged config: r 8')])
    using before = await openPolicy(small, tensors)
    using after = await openPolicy(start.lora, start.tensors ?? [])
    using fresh = await openPolicy(start.lora)
    const rows = [{ ids: Int32Array.of(3, 1, 4, 1, 5), actionMask: new Uint8Array(4).fill(1) }]
    const score = async (policy: typeof before) => {
      const [heads] = await policy.score(rows, { role: 'actor', temperature: 1 })
      return [...heads!.logprobs]
    }
    const [expected, merged, base] = [await score(before), await score(after), await score(fresh)]
    expected.forEach((value, at) => expect(Math.abs(value - merged[at]!)).toBeLessThan(1e-5))
    expect(expected.some((value, at) => Math.abs(value - base[at]!) > 1e-3)).toBe(true)
  })
})
