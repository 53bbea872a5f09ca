import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ModelSource } from '#engine/models/source.ts'
import { LayerStack, mappedWeight } from '#engine/runtime/layerStack.ts'
import { memoryUse } from '#engine/runtime/memory.ts'
import { temporaryFolder } from '../../host/artifacts/temporaryFolder.ts'
import { oneThread, openTiny, randomCoefficients, randomSequence, tinyLora, tinySource } from './tinyModel.ts'

const folder = temporaryFolder()
let source: ModelSource
let stack: LayerStack
beforeAll(async () => {
  source = await tinySource(folder)
  stack = new LayerStack(source, tinyLora, oneThread)
})
afterAll(() => stack[Symbol.dispose]())

describe('sessions of layers', () => {
  test('are made once, one per layer and pass', async () => {
    const first = stack.session(0, 'forward')
    expect(stack.session(0, 'forward')).toBe(first)
    expect((await stack.session(1, 'forward')).name).toBe('layer 1 forward')
    expect((await first).name).toBe('layer 0 forward')
  })

  test('name the activations that are saved', () => {
    expect(stack.savedNames).toEqual(['query', 'key', 'value', 'mixed', 'attended', 'gate', 'up'])
  })
})

describe('weights', () => {
  test('that are missing or not in f32 are errors that name them', () => {
    expect(() => mappedWeight(source, 'model.layers.9.x')).toThrow('has no tensor model.layers.9.x')
    const [name, location] = [...source.tensors][0]!
    const half = { ...source, tensors: new Map([[name, { ...location, dtype: 'BF16' as const }]]) }
    expect(() => mappedWeight(half, name)).toThrow(`Expected ${name} in f32, got BF16`)
  })

  test.skipIf(process.platform !== 'linux')('are not copied by a step of learning', async () => {
    const large = await tinySource(folder, {
      hiddenSize: 768,
      intermediateSize: 3072,
      heads: 12,
      headDim: 64,
      kvHeads: 4,
    })
    const sizeBytes = [...large.tensors.values()].reduce((sum, { byteLength }) => sum + byteLength, 0)
    expect(sizeBytes).toBeGreaterThan(60e6)
    const before = memoryUse().anonymousBytes
    using policy = await openTiny(large)
    const sequences = [randomSequence(258, 6, 1, 1)]
    const coefficients = randomCoefficients(sequences, 1, true)
    await policy.accumulate(sequences, { temperature: 1, entropyGradient: true }, () => coefficients)
    const { anonymousBytes, mappedBytes } = memoryUse()
    expect(mappedBytes).toBeGreaterThan(sizeBytes)
    // What was allocated is the adapter, its gradient, moments and copies, not the weights.
    expect(anonymousBytes - before).toBeLessThan(0.4 * sizeBytes)
  })
})
