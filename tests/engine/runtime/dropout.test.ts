import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ModelSource } from '#engine/models/source.ts'
import type { AccumulateOptions, Heads, LossCoefficients } from '#engine/policy.ts'
import { linearNames, type LoraConfig } from '#engine/models/config.ts'
import { dropoutName } from '#engine/models/learningGraphs.ts'
import { directionalDerivative } from '#engine/runtime/gradientCheck.ts'
import { DropoutMasks, SequenceOccurrences } from '#engine/runtime/dropoutMasks.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { usedLength } from '#engine/prefixes.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { exampleConfig } from '../models/exampleConfig.ts'
import { largestDifference, relativeError } from './differences.ts'
import {
  flat,
  flatGradient,
  openTiny,
  randomCoefficients,
  randomSequence,
  tinyLora,
  tinySource,
} from './tinyModel.ts'

const folder = temporaryFolder()
const dropping: LoraConfig = { ...tinyLora, dropout: 0.3 }
const options: AccumulateOptions = { temperature: 0.9, entropyGradient: false }
const sequences = [5, 23, 2, 14, 9].map((length, index) => randomSequence(288, length, index))
const coefficients = randomCoefficients(sequences, 1, false)
const rates = { learningRates: { actor: 1e-2, critic: 0 }, maxGradNorm: Infinity }

let source: ModelSource
let policy: OrtPolicy
beforeAll(async () => {
  source = await tinySource(folder)
  policy = await openTiny(source, { lora: dropping })
})
afterAll(() => policy[Symbol.dispose]())

async function learn(of: OrtPolicy, rows = sequences, factors: readonly LossCoefficients[] = coefficients) {
  of.discardGradients()
  const heads = await of.accumulate(rows, options, () => factors)
  const gradient = await flatGradient(of)
  of.discardGradients()
  return { heads, gradient }
}

const lossOf = (heads: readonly Heads[]): number =>
  heads.reduce(
    (loss, { logprobs }, row) =>
      loss + logprobs.reduce((sum, logprob, at) => sum + logprob * coefficients[row]!.logprobs[at]!, 0),
    0,
  )

describe('masks', () => {
  const masks = (update = 0, rows = sequences, seed = 3, dropout = 0.3) =>
    new DropoutMasks(exampleConfig, { ...dropping, dropout }, seed).of(rows, {
      update,
      occurrences: new SequenceOccurrences().of(rows),
    })
  const data = (of: ReturnType<typeof masks>, layer = 0, group = 0) =>
    Float32Array.from(of(layer)[dropoutName(group)]!.data as Float32Array)

  test('keep what they do not drop at 1/(1 − p), so that the mean stays', () => {
    const long = [randomSequence(288, 2000, 7, 1)]
    for (const p of [0.1, 0.3, 0.75]) {
      const mask = data(masks(0, long, 3, p), 1, 3)
      expect([...new Set(mask)].toSorted()).toEqual([0, Math.fround(1 / (1 - p))])
      const dropped = mask.filter((value) => value === 0).length / mask.length
      expect(Math.abs(dropped - p)).toBeLessThan(4 * Math.sqrt((p * (1 - p)) / mask.length))
      expect(Math.abs(mask.reduce((sum, value) => sum + value, 0) / mask.length - 1)).toBeLessThan(0.02)
    }
  })

  test('neighbours are independent: channels, positions', () => {
    const mask = data(masks(0, [randomSequence(288, 2000, 7, 1)]), 0, 3)
    for (const distance of [1, 2, 40, 41]) {
      let both = 0
      for (let at = distance; at < mask.length; at++)
        both += Number(mask[at] === 0 && mask[at - distance] === 0)
      expect(Math.abs(both / mask.length - 0.09)).toBeLessThan(4 * Math.sqrt((0.09 * 0.91) / mask.length))
    }
  })

  test('are the same for the same update, others for another update, layer, group, seed or sequence', () => {
    const first = data(masks())
    expect(data(masks())).toEqual(first)
    const others = [data(masks(1)), data(masks(), 1), data(masks(), 0, 2), data(masks(0, sequences, 4))]
    for (const other of others) expect(largestDifference(other, first)).toBeGreaterThan(1)
    const twice = data(masks(0, [sequences[1]!, sequences[1]!]))
    expect(twice.subarray(0, twice.length / 2)).not.toEqual(twice.subarray(twice.length / 2))
  })

  test('belong to the sequence, however micro-batches are cut', () => {
    const whole = data(masks())
    const tokens = usedLength(sequences[0]!)
    const width = exampleConfig.hiddenSize
    expect(data(masks(0, [sequences[1]!]))).toEqual(
      whole.slice(tokens * width, (tokens + usedLength(sequences[1]!)) * width),
    )
  })
})

test('the gradient is that of the loss with these masks', async () => {
  const { gradient } = await learn(policy)
  const start = await policy.adapterTensors('actor')
  const norm = Math.hypot(...gradient)
  let at = 0
  const direction = start.map(({ data }) => data.map(() => gradient[at++]! / norm))
  const lossAt = async (step: number) => {
    const moved = start.map((tensor, index) => ({
      ...tensor,
      data: tensor.data.map((value, place) => value + step * direction[index]![place]!),
    }))
    policy.restoreAdapter('actor', moved)
    return [lossOf((await learn(policy)).heads)]
  }
  const [numeric = NaN] = await directionalDerivative(lossAt, 5e-3)
  policy.restoreAdapter('actor', start)
  expect(Math.abs(numeric - norm) / norm).toBeLessThan(1e-4)
})

test('layers computed again see the masks that the first pass saw', async () => {
  using saving = await openTiny(source, { lora: dropping, activations: 'save' })
  const saved = await learn(saving)
  expect(relativeError((await learn(policy)).gradient, saved.gradient)).toBeLessThan(1e-5)
})

test('micro-batches cut otherwise give the same gradient', async () => {
  const { gradient } = await learn(policy)
  for (const [index, sequence] of sequences.entries())
    await policy.accumulate([sequence], options, () => [coefficients[index]!])
  expect(relativeError(await flatGradient(policy), gradient)).toBeLessThan(1e-5)
  policy.discardGradients()
})

test('a run resumed after an update goes on with the same bytes', async () => {
  const trained = async (of: OrtPolicy) => {
    await of.accumulate(sequences, options, () => coefficients)
    await of.update(rates)
  }
  using whole = await openTiny(source, { lora: dropping })
  await trained(whole)
  using resumed = await openTiny(source, { lora: dropping })
  resumed.restoreAdapter('actor', await whole.adapterTensors('actor'))
  resumed.restoreOptimizer(await whole.optimizerState())
  const before = (await learn(whole)).gradient
  await trained(whole)
  await trained(resumed)
  expect(flat(await resumed.adapterTensors('actor'))).toEqual(flat(await whole.adapterTensors('actor')))
  // And the second update saw other masks than the first.
  whole.restoreAdapter('actor', await resumed.adapterTensors('actor'))
  expect(relativeError((await learn(whole)).gradient, before)).toBeGreaterThan(0.05)
})

test('scoring drops nothing, and without dropout learning does not either', async () => {
  using without = await openTiny(source, { lora: { ...tinyLora, dropout: 0 } })
  using plain = await openTiny(source)
  const score = (of: OrtPolicy) => of.score(sequences, { role: 'actor', temperature: 0.9 })
  expect(await score(policy)).toEqual(await score(plain))
  expect((await learn(without)).gradient).toEqual((await learn(plain)).gradient)
  expect(relativeError((await learn(policy)).gradient, (await learn(plain)).gradient)).toBeGreaterThan(0.05)
})

test('adapters of some linears only have masks for what those read', async () => {
  for (const targets of [
    ['v_proj'],
    ['down_proj'],
    linearNames.filter((name) => name !== 'q_proj'),
  ] as const) {
    using some = await openTiny(source, { lora: { ...dropping, targets } })
    expect(Math.hypot(...(await learn(some)).gradient)).toBeGreaterThan(0)
  }
})
