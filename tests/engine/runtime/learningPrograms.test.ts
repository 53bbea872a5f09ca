import { beforeAll, describe, expect, test, vi } from 'vitest'
import type { ModelSource } from '#engine/models/source.ts'
import { input } from '#engine/graph/value.ts'
import { add, exp, mul, neg } from '#engine/ops/arithmetic.ts'
import { mappedWeight } from '#engine/models/frozenWeights.ts'
import { LearningPrograms } from '#engine/runtime/learningPrograms.ts'
import { ProgramSet } from '#engine/runtime/programs.ts'
import { floats } from '#engine/runtime/session.ts'
import { memoryUse } from '#engine/runtime/memory.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { oneThread, openTiny, randomCoefficients, randomSequence, tinyLora, tinySource } from './tinyModel.ts'

const folder = temporaryFolder()
let source: ModelSource
beforeAll(async () => {
  source = await tinySource(folder)
})

const options = { lora: tinyLora, device: oneThread, backward: ['backward'] } as const

describe('programs in sets', () => {
  const feeds = { hidden: floats(new Float32Array(0), [0, 1]) }

  test('a set has its own programs and refuses others by name', async () => {
    using programs = new LearningPrograms({ ...options, source })
    await expect(programs.run('score', 'head learn', feeds)).rejects.toThrow(
      'There is no program head learn.',
    )
    await expect(programs.run('learn', 'backwardFromSaved 0', feeds)).rejects.toThrow('backwardFromSaved 0')
  })

  test.each([true, false])('weights are packed for short sequences, if at all (%s)', async (packsWeights) => {
    using programs = new LearningPrograms({ ...options, source, packsWeights })
    using created = vi.spyOn(ProgramSet, 'create')
    for (const use of ['score', 'learn', 'score in blocks', 'learn in blocks'] as const)
      await programs.run(use, 'value forward', feeds).catch(() => undefined) // no such program, but the set is made
    const whole = packsWeights ? 'learn-packed' : 'learn'
    expect(created.mock.calls.map(([, , , purpose]) => purpose)).toEqual([whole, whole, 'learn', 'learn'])
  })

  test('learning frees what the runtime returned', async () => {
    using policy = await openTiny(source, { lora: tinyLora, activations: 'save' })
    const sequences = Array.from({ length: 45 }, (_, index) => randomSequence(258, 20, index, 1))
    const coefficients = randomCoefficients(sequences, 1, true)
    const learn = () =>
      policy.accumulate(sequences, { temperature: 1, entropyGradient: false }, () => coefficients)
    await learn()
    const before = process.memoryUsage().arrayBuffers
    await learn()
    // What it was fed takes 0.5 MB; with what it returned, 3.0.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1e6)
  })

  test('can be given up after one that could not be made', async () => {
    const tensors = new Map(
      [...source.tensors].map(([name, location]) => [name, { ...location, offset: 1e12 }]),
    )
    const programs = new LearningPrograms({ ...options, source: { ...source, tensors } })
    await expect(programs.run('score', 'forward 0', feeds)).rejects.toThrow('could not prepare scoring')
    programs[Symbol.dispose]() // a rejection nobody handles would fail this file
    await new Promise((resolve) => setImmediate(resolve))
  })

  test('programs of one set give what each gives alone', async () => {
    const x = input('x', 'float32', ['N'])
    const y = input('y', 'float32', ['N'])
    using set = await ProgramSet.create(
      'test',
      { sum: { z: add(x, y) }, both: { z: mul(x, y), x } },
      oneThread,
    )
    const [two, three] = [floats(Float32Array.of(2, 4), [2]), floats(Float32Array.of(3, 5), [2])]
    expect((await set.run('sum', { x: two, y: three }))['z']).toEqual(Float32Array.of(5, 9))
    const both = await set.run('both', { x: two, y: three })
    expect(both).toEqual({ z: Float32Array.of(6, 20), x: Float32Array.of(2, 4) })
    expect(Object.keys(await set.run('both', { x: two, y: three }, ['z']))).toEqual(['z'])
  })

  test('one name for two shapes is two inputs, but in one program an error', async () => {
    const row = input('x', 'float32', ['N'])
    const matrix = input('x', 'float32', ['N', 1])
    using set = await ProgramSet.create('test', { a: { z: exp(row) }, b: { z: exp(matrix) } }, oneThread)
    const zeros = new Float32Array(2)
    expect((await set.run('a', { x: floats(zeros, [2]) }))['z']).toEqual(Float32Array.of(1, 1))
    expect((await set.run('b', { x: floats(zeros, [2, 1]) }))['z']).toEqual(Float32Array.of(1, 1))
    const both = { a: { z: exp(row) }, c: { y: exp(row), z: exp(matrix) } }
    await expect(ProgramSet.create('test', both, oneThread)).rejects.toThrow(
      'One program reads two values called x: x, float32 [N] and x, float32 [N, 1].',
    )
  })

  test('what a program reads must be fed', async () => {
    const x = input('x', 'float32', ['N'])
    using set = await ProgramSet.create('test', { a: { z: exp(x) }, b: { z: neg(x) } }, oneThread)
    await expect(set.run('b', {})).rejects.toThrow('test: b needs the input x.')
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
