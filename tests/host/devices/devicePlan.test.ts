/** What models need of a card, as it is planned from their configs alone. */
import { describe, expect, test } from 'vitest'
import { DeviceMemory, lengthsOf, longestOf, planDevice, plannedLora } from '#engine/models/deviceMemory.ts'
import { planFor } from '#engine/runtime/learningMemory.ts'
import { plannedSource } from '#engine/models/plannedSource.ts'
import { planCard, plannedConfig, plannedShapes } from '#host/devices/devicePlan.ts'
import { asRoundedBase } from '#host/models/baseCache.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { tinySource } from '../../engine/runtime/tinyModel.ts'

const folder = temporaryFolder()
const seven = plannedConfig('qwen2.5-7b')
const onCard = (base: 'f32' | 'bf16' | 'int4', gigabytes: number) =>
  planCard({ config: seven, base, kind: 'cuda', gigabytes, length: 1024 })

describe('a model of 7 billion parameters', () => {
  test.each(['bf16', 'int4'] as const)('in %s fits 24 GB, in segments', (base) => {
    const plan = onCard(base, 24)
    expect(plan.fits).toBe(true)
    expect(plan.tokens).toBeGreaterThanOrEqual(1024)
    expect(plan.totalBytes).toBeLessThanOrEqual(24 * 2 ** 30)
    expect(plan.segments.length).toBeGreaterThan(1)
    expect(plan.segments.at(-1)!.end).toBe(seven.layers)
    expect(plan.rows).toBeGreaterThan(8)
  })

  test('in f32 does not, and needs no segments where there is room', () => {
    expect(onCard('f32', 24)).toMatchObject({ fits: false, rows: 0 })
    const roomy = planCard({ config: seven, base: 'bf16', kind: 'cuda', gigabytes: 400, length: 1024 })
    expect(roomy.segments).toEqual([{ first: 0, end: 28 }])
  })
})

test('segments follow what is done with activations', () => {
  const config = plannedConfig('qwen2.5-0.5b')
  const cut = (activations: 'save' | 'recompute' | 'auto', gigabytes: number) => {
    const memoryBytes = gigabytes * 2 ** 30
    return planDevice({
      config,
      lora: plannedLora,
      base: 'f32',
      kind: 'cuda',
      memoryBytes,
      length: 1024,
      activations,
    })
  }
  expect(cut('save', 24)).toMatchObject({ segments: [{ first: 0, end: 24 }], tokens: 4096, fits: true })
  expect(cut('auto', 24)).toMatchObject({ segments: { length: 2 }, tokens: 8192, fits: true })
  expect(longestOf(cut('recompute', 24).segments)).toBeLessThanOrEqual(5)
  expect(cut('save', 6)).toMatchObject({ segments: { length: 1 }, fits: false })
  expect(cut('auto', 6)).toMatchObject({ fits: true })
})

test('a device that holds tensors counts what the base is held in, and the vocabulary in slices', () => {
  const plan = planCard({ config: seven, base: 'int4', kind: 'webgpu', gigabytes: 24, length: 1024 })
  expect(plan.fits).toBe(true)
  expect(plan.weightBytes).toBeLessThan(9e9)
  // Logits of all 152,064 tokens would take 600 MB for 1,024 positions.
  expect(plan.headBytes).toBeLessThan((0.1e9 * plan.tokens) / 1024)
})

test('every shape is known, and weights in 4 bits take less than in 16 than in 32', () => {
  for (const shape of plannedShapes) {
    const config = plannedConfig(shape)
    const [exact, half, blocks] = (['f32', 'bf16', 'int4'] as const).map(
      (base) => new DeviceMemory({ config, lora: plannedLora, base, kind: 'cuda' }).weightBytes,
    )
    expect(exact).toBeGreaterThan(half!)
    expect(half).toBeGreaterThan(blocks!)
  }
  expect(() => plannedConfig('qwen-99b')).toThrow(/no known shape/)
})

test('sequences of any length are planned for as long as they are, in one micro-batch at least', () => {
  const config = plannedConfig('qwen2.5-0.5b')
  const memory = new DeviceMemory({ config, lora: plannedLora, base: 'f32', kind: 'cuda' })
  for (const length of [5_000, 16_384, 32_768]) {
    const plan = planCard({ config, base: 'f32', kind: 'cuda', gigabytes: 24, length })
    expect(plan).toMatchObject({ length, fits: length === 5_000 })
    expect(plan.tokens).toBeGreaterThanOrEqual(length)
    expect(plan.learningBytes).toBeGreaterThanOrEqual(memory.learning(1, lengthsOf(length, length)))
  }
})

test('a run is planned for the context length it sets, and for 4,096 tokens without one', () => {
  const config = plannedConfig('qwen2.5-0.5b')
  const device = { kind: 'cuda', threads: 1, deviceId: 0 } as const
  const planned = (contextLength?: number) =>
    planFor({
      source: plannedSource(config, 'f32'),
      device,
      lora: plannedLora,
      activations: 'auto',
      ...(contextLength === undefined ? {} : { contextLength }),
    })
  expect(planned()?.length).toBe(4_096)
  expect(planned(512)?.length).toBe(512)
  expect(planned(16_384)).toMatchObject({ length: 16_384, tokens: 16_384 })
})

test('what a run refuses is not planned: more tokens than positions, and a base that the device lacks', () => {
  expect(plannedConfig('qwen2.5-0.5b', 32_768)).toEqual(plannedConfig('qwen2.5-0.5b'))
  expect(() => plannedConfig('qwen2.5-0.5b', 32_769)).toThrow(
    'A context of 32769 tokens exceeds the 32768 that qwen2.5-0.5b allows.',
  )
  const on = (kind: 'dml' | 'webgpu', base: 'bf16' | 'tf32') => () =>
    planCard({ config: seven, base, kind, gigabytes: 24, length: 1024 })
  expect(on('webgpu', 'bf16')).toThrow('WebGPU does not multiply in bf16: a base in it needs CUDA.')
  expect(on('dml', 'tf32')).toThrow('DirectML does not multiply in tf32: a base in it needs CUDA.')
})

test('shorter segments take less, by as much for each layer', () => {
  const config = plannedConfig('qwen2.5-0.5b')
  const memory = new DeviceMemory({ config, lora: plannedLora, base: 'f32', kind: 'cuda' })
  const [one, two, four, eight] = [1, 2, 4, 8].map((layers) => memory.learning(layers, lengthsOf(1024, 1024)))
  expect(one).toBeLessThan(two!)
  expect(eight! - four!).toBeGreaterThan(four! - two!)
})

test.each(['int8', 'int4', 'bf16'] as const)(
  'a planned base in %s has the tensors of a real one',
  async (base) => {
    const source = await tinySource(folder)
    const real = await asRoundedBase(source, base, folder)
    const sizesOf = ({ tensors }: Pick<typeof source, 'tensors'>) =>
      [...tensors]
        .map(([name, { shape, byteLength, dtype }]) => ({ name, shape, byteLength, dtype }))
        .sort((a, b) => (a.name < b.name ? -1 : 1))
    expect(sizesOf(plannedSource(source.config, base))).toEqual(sizesOf(real))
  },
)
