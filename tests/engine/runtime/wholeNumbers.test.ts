/**
 * Learning in whole numbers, in long sequences that begin alike, against f32 and against PyTorch: what a base in rows of bytes stands
 * for, written out, with each sequence alone.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loraScale } from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import type { Heads } from '#engine/policy.ts'
import { prefixTree } from '#engine/prefixes.ts'
import { int8Form } from '#engine/runtime/device.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { asRoundedBase } from '#host/models/baseCache.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { eachOf, isLong, longTitle } from '../../sweeps.ts'
import { hasPython, interpreter } from '../../host/python/interpreter.ts'
import { dequantizedSource } from './dequantizedModel.ts'
import { largestDifference, relativeError, tensorErrors } from './differences.ts'
import { distinctTokens, loraOf, oddModels, oddSource, sequencesAlike, type OddModel } from './oddModels.ts'
import { flat, oneThread, openTiny, randomAdapter, randomCoefficients } from './tinyModel.ts'

const folder = temporaryFolder()
const options = { temperature: 0.8, entropyGradient: true }

/** Products of signed bytes are wrong on a processor without VNNI or AMX. */
const multipliesBytes = int8Form(oneThread) === 'rows'
// Asked in the long run only: PyTorch takes seconds to import.
const hasTorch = isLong && hasPython('torch', 'transformers')
const withoutTorch = isLong && !hasTorch ? ' (skipped without Python with torch and transformers)' : ''
const withoutUnit = multipliesBytes ? '' : ' (skipped without AVX-512-VNNI or AMX)'

interface Learned {
  readonly heads: readonly Pick<Heads, 'logprobs' | 'entropies'>[]
  readonly gradients: readonly NamedTensor[]
}

/** One of the models with its base in rows of bytes, and what those stand for in f32. */
async function opened(name: OddModel) {
  const source = await oddSource(folder, name)
  const rounded = await asRoundedBase(source, 'int8', folder, { int8Form: 'rows' })
  const exact = await dequantizedSource(rounded, 'int8', mkdtempSync(join(folder, 'exact-')))
  const sequences = sequencesAlike(source.config.vocabSize)
  return {
    source,
    rounded,
    exact,
    sequences,
    lora: loraOf(source),
    coefficients: randomCoefficients(sequences, 3, true),
  }
}

type Opened = Awaited<ReturnType<typeof opened>>

/** In micro-batches of the given rows. */
async function learn(policy: OrtPolicy, { sequences, coefficients }: Opened, batches: readonly number[][]) {
  const heads: Heads[] = []
  for (const rows of batches) {
    const batch = rows.map((row) => sequences[row]!)
    heads.push(...(await policy.accumulate(batch, options, () => rows.map((row) => coefficients[row]!))))
  }
  return { heads, gradients: await policy.gradientTensors() }
}

const together = [[0, 1, 2, 3]]
const alone = [[0], [1], [2], [3]]

async function inWholeNumbers(model: Opened): Promise<Learned> {
  using policy = await openTiny(model.rounded, { lora: model.lora, activations: 'auto' })
  return await learn(policy, model, together)
}

async function inF32(model: Opened): Promise<Learned> {
  using policy = await openTiny(model.exact, { lora: model.lora })
  return await learn(policy, model, alone)
}

function inTorch({ source, exact, lora, sequences, coefficients }: Opened): Learned {
  const lists = (rows: readonly ArrayLike<number>[]) => rows.map((row) => Array.from(row))
  const input = JSON.stringify({
    folder: source.directory,
    weights: [...exact.tensors.values()][0]!.file,
    temperature: options.temperature,
    scale: loraScale(lora),
    adapter: randomAdapter(source.config, lora).map((tensor) => ({ ...tensor, data: [...tensor.data] })),
    sequences: lists(sequences.map(({ ids }) => ids)),
    logprobs: lists(coefficients.map(({ logprobs }) => logprobs)),
    entropies: lists(coefficients.map(({ entropies }) => entropies!)),
  })
  const script = join(import.meta.dirname, 'autograd.py')
  const { stdout, stderr } = spawnSync(interpreter, [script], { input, encoding: 'utf8', maxBuffer: 2 ** 30 })
  if (stdout === '') throw new Error(stderr)
  const { rows, gradients } = JSON.parse(stdout) as {
    rows: { logprobs: number[]; entropies: number[] }[]
    gradients: Record<string, number[]>
  }
  // Where no token counts, heads are zero.
  const counted = (values: readonly number[], row: number) =>
    Float64Array.from(values, (value, at) => value * sequences[row]!.actionMask[at]!)
  return {
    heads: rows.map(({ logprobs, entropies }, row) => ({
      logprobs: counted(logprobs, row),
      entropies: counted(entropies, row),
    })),
    gradients: Object.entries(gradients).map(([name, data]) => ({
      name,
      shape: [data.length],
      data: Float32Array.from(data),
    })),
  }
}

/** What differs, and by how much: heads in nats, gradients relative to their norm. */
function differences(found: Learned, expected: Learned) {
  const joined = ({ heads }: Learned, of: 'logprobs' | 'entropies') =>
    Float64Array.from(heads.flatMap((head) => [...head[of]]))
  const expectedLogprobs = joined(expected, 'logprobs')
  const gaps = joined(found, 'logprobs').map((logprob, at) => Math.abs(logprob - expectedLogprobs[at]!))
  return {
    logprobs: largestDifference(joined(found, 'logprobs'), expectedLogprobs),
    mean: gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length,
    entropies: largestDifference(joined(found, 'entropies'), joined(expected, 'entropies')),
    gradient: relativeError(flat(found.gradients), flat(expected.gradients)),
    tensors: Object.values(tensorErrors(found.gradients, expected.gradients)),
  }
}

/**
 * A product rounds its rows to steps of a 32,258th of their largest number, which is three to four times the root mean square of a row,
 * so that it is off by 3·10⁻⁵ of its norm. Some thirty of them follow one another here, forward and backward, which makes
 * 1.7·10⁻⁴ if their errors are independent. Measured with AVX-512-VNNI: gradients 0.9 to 4.2·10⁻⁴, 5.5·10⁻⁴ in the worst
 * tensor; log-probabilities 4 to 8·10⁻⁵ on average, 1.1·10⁻³ at most; entropies 1.2·10⁻⁴.
 */
function expectRounding(found: Learned, expected: Learned): void {
  const { logprobs, mean, entropies, gradient, tensors } = differences(found, expected)
  expect(gradient).toBeLessThan(1e-3)
  expect(Math.max(...tensors)).toBeLessThan(1.5e-3)
  expect(mean).toBeLessThan(2e-4)
  expect(logprobs).toBeLessThan(2e-3)
  expect(entropies).toBeLessThan(3e-4)
  // In whole numbers indeed: f32 would be a hundred times closer.
  expect(gradient).toBeGreaterThan(2e-5)
}

test('the sequences have their common beginnings once', () => {
  const sequences = sequencesAlike(2_300)
  expect(prefixTree(sequences, true).tokens).toBe(distinctTokens)
})

const isFirst = (name: OddModel) => name === oddModels[0]
const titleOf = `%s in whole numbers${withoutUnit}`

eachOf(describe.skipIf(!multipliesBytes), { rows: oddModels, isAlways: isFirst }, titleOf, (name) => {
  test('learns from long sequences that begin alike as f32 does from each alone', async () => {
    const model = await opened(name)
    expectRounding(await inWholeNumbers(model), await inF32(model))
  })

  const title = longTitle('learns from them as PyTorch does')
  test.runIf(hasTorch)(`${title}${withoutTorch}`, async () => {
    const model = await opened(name)
    const expected = inTorch(model)
    expectRounding(await inWholeNumbers(model), expected)
    const { logprobs, gradient } = differences(await inF32(model), expected)
    expect(logprobs).toBeLessThan(1e-4)
    expect(gradient).toBeLessThan(2e-5)
  })
})
