/**
 * Odd configs of the newer families against transformers: one layer, heads that do not divide the width, tied and untied heads,
 * one expert of a token. `ODD_CASES` names another file of tests/fixtures/odd/make.py, such as one of 200 cases a family.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { LoraConfig } from '#engine/models/config.ts'
import { loraSlots } from '#engine/models/lora.ts'
import { readModelConfig } from '#engine/models/registry.ts'
import { storedTensors } from '#engine/models/source.ts'
import type { SamplingOptions } from '#engine/policy.ts'
import { dot } from '#engine/runtime/gradientCheck.ts'
import { createOrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { bytesOf, elementCount, writeSafetensors } from '#host/files/safetensors.ts'
import { openModelFolder, type ModelFolder } from '#host/models/modelFolder.ts'
import { noAdapter } from '#host/models/openModel.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference } from './differences.ts'
import { wholeSequence } from './referenceFixture.ts'
import { oneThread } from './tinyModel.ts'

const greedy: SamplingOptions = {
  greedy: true,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  minNewTokens: 0,
  maxNewTokens: 9,
  stopIds: [],
  stopStrings: [],
}

interface OddCase {
  readonly name: string
  readonly config: Readonly<Record<string, unknown>>
  readonly sequences: readonly (readonly number[])[]
  readonly logprobs: readonly (readonly number[])[]
  /** Of each factor of an adapter: length of the gradient, and its product with `probe NAME`. */
  readonly gradients: Readonly<Record<string, readonly [number, number]>>
}

/** The largest differences by family, told where other cases than those recorded are compared. */
const worst = new Map<string, Record<'cases' | 'scores' | 'gradients', number>>()
function noted({ name }: OddCase, kind: 'scores' | 'gradients', difference: number): number {
  const family = name.split(' ')[0]!
  const count = cases.filter((each) => each.name.startsWith(`${family} `)).length
  const before = worst.get(family) ?? { cases: count, scores: 0, gradients: 0 }
  worst.set(family, { ...before, [kind]: Math.max(before[kind], difference) })
  return difference
}
afterAll(() => {
  if (process.env['ODD_CASES']) console.table(Object.fromEntries(worst))
})

const recorded = join(import.meta.dirname, '../../fixtures/odd/cases.json')
const cases = JSON.parse(readFileSync(process.env['ODD_CASES'] ?? recorded, 'utf8')) as readonly OddCase[]
const folder = temporaryFolder()

/** 32-bit FNV-1a. */
const hashed = (name: string): number =>
  Buffer.from(name).reduce((found, byte) => Math.imul(found ^ byte, 0x01000193) >>> 0, 0x811c9dc5)

/** The numbers that make.py gives a tensor of this name. */
function weight(name: string, shape: readonly number[]): Float32Array {
  const first = hashed(name)
  const width = shape.slice(1).reduce((product, size) => product * size, 1)
  return Float32Array.from({ length: elementCount(shape) }, (_, index) => {
    let bits = (first + Math.imul(index, 0x9e3779b9)) >>> 0
    for (const [shift, factor] of [
      [16, 0x85ebca6b],
      [13, 0xc2b2ae35],
      [16, 1],
    ] as const)
      bits = Math.imul(bits ^ (bits >>> shift), factor) >>> 0
    const spread = bits / 2 ** 31 - 1
    if (name.includes('norm') || name.endsWith('layer_scalar')) return 1 + 0.3 * spread
    return shape.length === 1 ? 0.3 * spread : spread * (2.5 / Math.sqrt(width))
  })
}

async function write({ config }: OddCase): Promise<ModelFolder> {
  const directory = mkdtempSync(join(folder, 'model-'))
  const tensors = storedTensors(readModelConfig(config, 'config.json')).map((tensor) => ({
    name: tensor.name,
    shape: tensor.shape,
    dtype: 'F32' as const,
    pieces: () => [bytesOf(weight(tensor.name, tensor.shape))],
  }))
  await writeSafetensors(join(directory, 'model.safetensors'), tensors, { metadata: { format: 'pt' } })
  writeFileSync(join(directory, 'config.json'), JSON.stringify(config))
  return openModelFolder(directory)
}

test.each(cases)('$name has the log-probabilities of transformers, scored and generated', async (given) => {
  const source = await asFloat32Source(await write(given), join(folder, 'cache'))
  using policy = await createOrtPolicy({
    source,
    device: oneThread,
    lora: noAdapter,
    loraSeed: 0,
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows: 3,
  })
  const scored = await policy.score(given.sequences.map(wholeSequence), { role: 'base', temperature: 1 })
  scored.forEach(({ logprobs }, row) => {
    expect(noted(given, 'scores', largestDifference(logprobs, given.logprobs[row]!))).toBeLessThan(1e-4)
  })
  const requests = given.sequences.map((ids) => ({
    promptIds: Int32Array.from(ids),
    streams: [{ uniformAt: () => 0 }],
  }))
  for await (const { request, ids, logprobs } of policy.generate(requests, {
    role: 'base',
    sampling: greedy,
  })) {
    const all = wholeSequence([...given.sequences[request]!, ...ids])
    const [heads] = await policy.score([all], { role: 'base', temperature: 1 })
    expect(largestDifference(logprobs, heads!.logprobs.slice(-ids.length))).toBeLessThan(1e-4)
  }
})

/** Numbers whose squares are 1 on average. */
function unit(name: string, shape: readonly number[]): Float32Array {
  const values = weight(name, shape)
  const length = Math.sqrt(dot(values, values) / values.length)
  return values.map((value) => value / length)
}

test.each(cases)('$name has the adapter gradients of autograd', async (given) => {
  const model = await write(given)
  const lora: LoraConfig = { rank: 2, alpha: 1, rsLora: false, targets: model.config.linears }
  const adapter = loraSlots(model.config, lora).map(({ name, shape }) => ({
    name,
    shape,
    data: weight(name, shape),
  }))
  using policy = await createOrtPolicy({
    source: await asFloat32Source(model, join(folder, 'cache')),
    device: oneThread,
    lora,
    loraSeed: 0,
    adapter,
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows: 1,
  })
  const coefficients = given.sequences.map(({ length }, row) => ({
    logprobs: Float64Array.from(weight(`coefficients ${String(row)}`, [1, length - 1])),
    entropies: null,
    values: null,
  }))
  const options = { temperature: 1, entropyGradient: false }
  await policy.accumulate(given.sequences.map(wholeSequence), options, () => coefficients)
  const found = await policy.gradientTensors()
  expect(found.map(({ name }) => name).toSorted()).toEqual(Object.keys(given.gradients).toSorted())
  const whole = Math.hypot(...Object.values(given.gradients).map(([length]) => length))
  for (const { name, shape, data } of found) {
    const [length, product] = given.gradients[name]!
    // A number on average as large as the error's length; gradients that are 0 leave rounding.
    const error = Math.abs(dot(data, unit(`probe ${name}`, shape)) - product) / (length + 1e-4 * whole)
    expect(noted(given, 'gradients', error), name).toBeLessThan(1e-3)
  }
})
