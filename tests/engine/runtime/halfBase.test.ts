/**
 * A base in 16 bits, in the programs of devices that give every tensor back. The CPU runs them in f16; of bf16 it has no
 * products, so that kernels.test.ts alone says something of it.
 */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { linearNames, type LoraConfig } from '#engine/models/config.ts'
import type { ModelSource } from '#engine/models/source.ts'
import type { GenerationRequest } from '#engine/policy.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { asRoundedBase } from '#host/models/baseCache.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { readTensor, writeSafetensors, openSafetensors, bytesOf } from '#host/files/safetensors.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { randomStream } from '#shared/random.ts'
import { eachOf, isLong } from '../../sweeps.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference, tensorErrors } from './differences.ts'
import { readReference } from './referenceFixture.ts'
import {
  completionsOf,
  openTiny,
  randomCoefficients,
  randomSequence,
  tinySource,
  unfiltered,
} from './tinyModel.ts'

const folder = temporaryFolder()
const lora: LoraConfig = { rank: 4, alpha: 8, rsLora: false, targets: linearNames }
const cacheOf = () => mkdtempSync(join(folder, 'cache-'))

/** Separate, fused and transposed linears, in 32 and 16 bits on disk. */
const models: readonly (readonly [string, () => Promise<ModelSource> | ModelSource])[] = [
  ...['llama-grouped', 'phi3', 'gpt2', 'qwen2-bf16', 'mistral-f16', 'gemma3', 'lfm2', 'lfm2-older'].map(
    (name) => [name, () => openModelFolder(join(readReference(name).directory, 'model'))] as const,
  ),
  ['odd widths', () => tinySource(folder, { hiddenSize: 42, headDim: 10, intermediateSize: 131 })],
]

const forms = ['resident', 'unrolled'] as const
// Turns that are written out take long to open, and how weights are stored is nothing to them.
const unrolled = isLong ? /^(llama|phi3|gpt2|gemma3)/ : /^llama/
const cases = models.flatMap(([name, open]) =>
  (unrolled.test(name) ? forms : ['resident' as const]).map((form) => ({
    name,
    form,
    open,
  })),
)

/** In every run fused matrices, and rows that no block divides. */
const isAlways = ({ name }: (typeof cases)[number]) => ['gpt2', 'odd widths'].includes(name)

eachOf(describe, { rows: cases, isAlways }, '$name in f16, $form', ({ form, open }) => {
  let exact: ModelSource
  let ours: OrtPolicy
  beforeAll(async () => {
    const model = await open()
    exact = await asFloat32Source(model, folder)
    const half = await asRoundedBase(model, 'f16', folder)
    ours = await openTiny(half, { lora, programs: { form } })
  })
  afterAll(() => ours[Symbol.dispose]())

  test('learns as the exact model does', async () => {
    const sequences = [7, 19, 12].map((length) => randomSequence(ours.vocabSize, length, length))
    const coefficients = randomCoefficients(sequences, 3, true)
    const options = { temperature: 0.9, entropyGradient: true }
    using theirs = await openTiny(exact, { lora })
    const found = await ours.accumulate(sequences, options, () => coefficients)
    const expected = await theirs.accumulate(sequences, options, () => coefficients)
    for (const [row, { logprobs }] of expected.entries()) {
      expect(largestDifference(found[row]!.logprobs, logprobs)).toBeLessThan(5e-3)
    }
    const errors = Object.entries(tensorErrors(await ours.gradientTensors(), await theirs.gradientTensors()))
    expect(errors.filter(([, error]) => !(error < 1e-2))).toEqual([])
    expect(errors.some(([, error]) => error > 1e-6)).toBe(true)
  })

  test('generates what it learns from', async () => {
    const requests: GenerationRequest[] = [3, 9].map((length, index) => ({
      promptIds: randomSequence(ours.vocabSize, length, index).ids,
      streams: [randomStream(1, index)],
    }))
    const completions = await completionsOf(ours, requests, {
      role: 'actor',
      sampling: { ...unfiltered, maxNewTokens: 12 },
    })
    const scored = await ours.score(
      completions.map(({ request, ids }) => {
        const prompt = requests[request]!.promptIds
        const whole = Int32Array.from([...prompt, ...ids])
        return { ids: whole, actionMask: new Uint8Array(whole.length - 1).fill(1) }
      }),
      { role: 'actor', temperature: 1 },
    )
    for (const [row, { logprobs }] of completions.entries()) {
      const learned = scored[row]!.logprobs.slice(-logprobs.length)
      expect(largestDifference(Float64Array.from(logprobs), learned)).toBeLessThan(2e-3)
    }
  })
})

test('a base in 16 bits is half as large as in 32', async () => {
  const model = await tinySource(folder)
  const half = await asRoundedBase(model, 'bf16', cacheOf())
  const linear = (source: ModelSource, ending: string) =>
    [...source.tensors]
      .filter(([name]) => name.endsWith(ending))
      .reduce((sum, [, at]) => sum + at.byteLength, 0)
  expect(linear(half, 'proj.weight')).toBe(0)
  expect(linear(half, 'proj.weight.bf16') * 2).toBe(linear(model, 'proj.weight'))
})

test('a weight beyond the range of f16 is refused by name', async () => {
  const model = await tinySource(folder)
  const name = [...model.tensors.keys()].find((each) => each.endsWith('down_proj.weight'))!
  const path = join(cacheOf(), 'large.safetensors')
  const tensors = [...model.tensors].map(([tensor, location]) => {
    const data = readTensor(location)
    if (tensor === name) data[3] = -70_000
    return { name: tensor, dtype: 'F32' as const, shape: location.shape, pieces: () => [bytesOf(data)] }
  })
  await writeSafetensors(path, tensors)
  const large = { ...model, tensors: openSafetensors(path).tensors }
  await expect(asRoundedBase(large, 'f16', cacheOf())).rejects.toThrow(
    `${name} has weights larger than 65,504, the largest number of f16.`,
  )
  await expect(asRoundedBase(large, 'bf16', cacheOf())).resolves.toBeDefined()
})

test('a device without such products refuses the base', async () => {
  const half = await asRoundedBase(await tinySource(folder), 'bf16', cacheOf())
  await expect(openTiny(half)).rejects.toThrow('CPU does not multiply in bf16: a base in it needs CUDA.')
})
