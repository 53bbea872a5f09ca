/**
 * The programs of devices that hold tensors, where the base is rounded or its tensors are larger than a program may bind. The CPU
 * runs the same programs; tests/device has them on a device.
 */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { gradients } from '#engine/ops/gradient.ts'
import { input } from '#engine/graph/value.ts'
import { linearWeights } from '#engine/models/blocks.ts'
import { DeviceMemory, lengthsOf, plannedLora } from '#engine/models/deviceMemory.ts'
import type { ModelSource } from '#engine/models/source.ts'
import { cast } from '#engine/ops/arithmetic.ts'
import { frozenMatmul } from '#engine/ops/frozenMatmul.ts'
import type { OrtPolicy, OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import { floats, Session } from '#engine/runtime/session.ts'
import { plannedConfig } from '#host/devices/devicePlan.ts'
import { asRoundedBase } from '#host/models/baseCache.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import type { BasePrecision } from '#shared/precision.ts'
import { randomStream } from '#shared/random.ts'
import { eventually } from '../../eventually.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { largestDifference, tensorErrors } from './differences.ts'
import {
  completionsOf,
  openTiny,
  oneThread,
  randomCoefficients,
  randomSequence,
  tinySource,
  unfiltered,
} from './tinyModel.ts'
import { eachOf } from '../../sweeps.ts'

const folder = temporaryFolder()
/** Less than the vocabulary and the widest matrices of a layer take. */
const bindingBytes = 2 ** 14

const sequences = [5, 23, 2, 14].map((length, index) => randomSequence(258, length, index))
const requests = [3, 17, 1].map((length, index) => ({
  promptIds: randomSequence(258, length + 1, index).ids.slice(0, length),
  streams: [0, 1].map((sample) => randomStream(7, index, sample)),
}))

async function learned(policy: OrtPolicy) {
  const coefficients = randomCoefficients(sequences, 3, true)
  const options = { temperature: 0.8, entropyGradient: true }
  const heads = await policy.accumulate(sequences, options, () => coefficients)
  return {
    heads: heads.flatMap(({ logprobs, entropies }) => [...logprobs, ...entropies]),
    gradients: await policy.gradientTensors(),
  }
}

const generated = async (policy: OrtPolicy) =>
  completionsOf(policy, requests, { role: 'actor', sampling: { ...unfiltered, maxNewTokens: 12 } })

/** What a policy with those options computes is what one without computes from what the base stands for. */
async function expectAlike(
  [held, plain]: readonly [ModelSource, ModelSource],
  options: Partial<OrtPolicyOptions>,
  limit = 1e-4,
): Promise<void> {
  using ours = await openTiny(held, options)
  using theirs = await openTiny(plain, { device: oneThread, products: 'f32' })
  const [found, expected] = [await learned(ours), await learned(theirs)]
  expect(largestDifference(found.heads, expected.heads)).toBeLessThan(limit)
  const errors = Object.entries(tensorErrors(found.gradients, expected.gradients))
  expect(errors.filter(([, error]) => !(error < limit))).toEqual([])
  const completions = await generated(ours)
  const scored = await ours.score(
    completions.map(({ request, ids }) => {
      const prompt = requests[request]!.promptIds
      const whole = Int32Array.from([...prompt, ...ids])
      return { ids: whole, actionMask: new Uint8Array(whole.length - 1).fill(1, prompt.length - 1) }
    }),
    { role: 'actor', temperature: 1 },
  )
  for (const [row, { logprobs }] of completions.entries()) {
    const again = scored[row]!.logprobs.slice(-logprobs.length)
    expect(largestDifference(Float64Array.from(logprobs), again)).toBeLessThan(1e-4)
  }
}

describe.each(['tiny-llama', 'tiny-gpt2', 'tiny-gemma2'] as const)('%s', (name) => {
  eachOf(
    test,
    { rows: [true, false], isAlways: (tiedHead) => tiedHead && name !== 'tiny-llama' },
    'in slices computes what it does whole, with a tied head: %s',
    async (tiedHead) => {
      const source = await tinySource(folder, { ...modelShapes[name], tiedHead })
      await expectAlike([source, source], { programs: { form: 'shared', bindingBytes } })
    },
  )
})

eachOf(
  test,
  { rows: ['int4', 'int8', 'f16'] as const, isAlways: (precision) => precision === 'int4' },
  'a base in %s is computed with as it is held',
  async (precision) => {
    const odd = { hiddenSize: 42, headDim: 10, intermediateSize: 131 }
    for (const shape of [{}, odd]) {
      const source = await tinySource(folder, shape)
      const held = await asRoundedBase(source, precision, folder)
      const exact = await tinySource(folder, shape)
      const rounded = precision === 'f16' ? exact : held
      for (const bytes of [undefined, bindingBytes]) {
        const programs = { form: 'shared', ...(bytes === undefined ? {} : { bindingBytes: bytes }) } as const
        await expectAlike([held, rounded], { programs }, precision === 'f16' ? 5e-3 : 1e-4)
      }
    }
  },
)

test('a matrix in 16 bits is widened by every product for itself, right before it', async () => {
  const profiles = mkdtempSync(path.join(folder, 'profiles-'))
  const x = input('x', 'float32', ['N', 8])
  const half = cast(input('w', 'float32', [6, 8]), 'float16')
  const y = frozenMatmul(x, { half })
  const [dx] = gradients([{ value: y, cotangent: input('dy', 'float32', ['N', 6]) }], [x])
  const ones = (rows: number, columns: number) =>
    floats(new Float32Array(rows * columns).fill(1), [rows, columns])
  vi.stubEnv('TURNWISE_PROFILE', profiles)
  const program = { y, dx: dx! }
  {
    using session = await Session.create({
      name: 'widened',
      program,
      device: oneThread,
      purpose: 'learn-widened',
    })
    vi.unstubAllEnvs()
    const found = await session.run({ x: ones(2, 8), w: ones(6, 8), dy: ones(2, 6) })
    expect([...found['y']!]).toEqual(new Array(12).fill(8))
    expect([...found['dx']!]).toEqual(new Array(16).fill(6))
  }
  const products = ['Cast', 'FusedMatMul', 'Transpose']
  await eventually(() => {
    expect(kernelsIn(profiles)).toEqual(['Cast', ...products, ...products])
  })
})

/** The operators that the only session of a folder ran, in order; null until its profile is written. */
function kernelsIn(profiles: string): string[] | null {
  const [file] = readdirSync(profiles)
  const text = file === undefined ? '' : readFileSync(path.join(profiles, file), 'utf8')
  if (!text.trim().endsWith(']')) return null
  const events = JSON.parse(text) as { cat: string; name: string; args: { op_name: string } }[]
  return events
    .filter(({ cat, name }) => cat === 'Node' && name.endsWith('_kernel_time'))
    .map(({ args }) => args.op_name)
}

test('what the logits of a vocabulary in slices take does not grow with their number', () => {
  const config = (vocabSize: number) => ({ ...plannedConfig('qwen2.5-0.5b'), vocabSize })
  const headOf = (vocabSize: number) =>
    new DeviceMemory({ config: config(vocabSize), lora: plannedLora, base: 'f32', kind: 'webgpu' }).head(
      lengthsOf(1024, 1024),
    )
  const [some, many] = [headOf(2 ** 17), headOf(2 ** 20)]
  expect(many).toBeLessThan(1.3 * some)
  expect(many).toBeLessThan(2 ** 27)
})

test('a device that holds tensors has the base in what it is held in', () => {
  const config = plannedConfig('qwen2.5-7b')
  const bytesOf = (base: BasePrecision) =>
    new DeviceMemory({ config, lora: plannedLora, base, kind: 'webgpu' }).weightBytes
  const linears = linearWeights(config).reduce((sum, { shape: [n = 0, k = 0] }) => sum + n * k, 0)
  const rest = bytesOf('f32') - 4 * linears
  expect(bytesOf('f16') - rest).toBe(2 * linears)
  expect((bytesOf('int4') - rest) / linears).toBeCloseTo(0.5 + 4 / 32, 2)
})
