/**
 * Learning from a base in 8 bits: its products in f32, out of bytes that are turned into f32, and in whole numbers, then an
 * update with each, in turns so that other load hits all. Run with
 * `node bench/host/learningProducts.ts [SHAPE|MODEL FOLDER] [TOKENS] [THREADS] [recompute|save]`, with `bin/turnwise.mjs`' malloc settings.
 */
import { existsSync } from 'node:fs'
import { gradients } from '#engine/ops/gradient.ts'
import { input, integers, type Value } from '#engine/graph/value.ts'
import { linearWeights } from '#engine/models/blocks.ts'
import { linearNames } from '#engine/models/config.ts'
import type { ModelSource } from '#engine/models/source.ts'
import { frozenMatmul, type FrozenMatrix } from '#engine/ops/frozenMatmul.ts'
import { gather } from '#engine/ops/gather.ts'
import { learningMatrix, learnsInBytes, multipliedMatrix } from '#engine/models/frozenWeights.ts'
import { createOrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { floats, Session } from '#engine/runtime/session.ts'
import { median, randomIds, subjectFolder } from '#host/checks/benchModel.ts'
import { dataFolders, resolveDataDirectory } from '#host/dataDirectory.ts'
import { asPolicySource } from '#host/models/baseCache.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { chooseDevice } from '#host/models/openModel.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'

const [, , subject = 'smol-30m', tokenText = '256', threadText = '1', activations = 'recompute'] =
  process.argv
const [tokens, threads, rounds] = [Number(tokenText), Number(threadText), 7]
const cacheDirectory = dataFolders(resolveDataDirectory(undefined)).cache
const request = {
  subject: existsSync(subject) ? { model: subject } : { shape: subject },
  cacheDirectory,
} as Parameters<typeof subjectFolder>[0]
const folder = openModelFolder(await subjectFolder(request, (text) => console.log(text)))
const device = await chooseDevice({ kind: 'cpu', threads })
const random = new SequentialRandom(randomStream(1, 2))

const held = (base: 'f32' | 'int8') =>
  asPolicySource(folder, { base, rollout: 'f32', int8Form: 'rows' }, cacheDirectory)
const [exact, rounded] = [await held('f32'), await held('int8')]
if (!learnsInBytes(rounded)) throw new Error('Expected a base in rows of bytes.')

/** [out, in] of a linear in the three ways. */
const ways: Readonly<Record<string, (name: string, inputs: number) => FrozenMatrix>> = {
  f32: (name, inputs) => learningMatrix(exact, name, inputs),
  dequantised: (name, inputs) => learningMatrix(rounded, name, inputs),
  'whole numbers': (name, inputs) => multipliedMatrix(rounded, name, inputs),
}

/** Milliseconds of a product, of which one row leaves the runtime, so that copying it does not count. */
async function opened(value: Value, source: ModelSource, width: number) {
  const program = { row: gather(value, integers([0])) }
  const purpose = source === exact ? 'learn' : 'learn-stored'
  const session = await Session.create({ name: 'product', program, device, purpose })
  const x = floats(
    Float32Array.from({ length: tokens * width }, () => random.normal()),
    [tokens, width],
  )
  return async () => {
    const startedAt = performance.now()
    await session.run({ x, cotangent: x })
    return performance.now() - startedAt
  }
}

/** Every way to multiply with a linear, forward or back, in turns. */
async function timesOf(name: string, [outputs = 0, inputs = 0]: readonly number[], isBackward: boolean) {
  const runs: [string, () => Promise<number>][] = []
  for (const [way, matrixOf] of Object.entries(ways)) {
    const x = input('x', 'float32', ['N', inputs])
    const y = frozenMatmul(x, matrixOf(name, inputs))
    const cotangent = input('cotangent', 'float32', ['N', outputs])
    const value = isBackward ? (gradients([{ value: y, cotangent }], [x])[0] as Value) : y
    runs.push([way, await opened(value, way === 'f32' ? exact : rounded, isBackward ? outputs : inputs)])
  }
  const times = new Map<string, number[]>()
  for (let round = 0; round <= rounds; round++)
    for (const [way, run] of runs) times.set(way, [...(times.get(way) ?? []), await run()])
  return [...times].map(([way, all]) => `${way} ${median(all.slice(1)).toFixed(2)} ms`).join(', ')
}

const shapes = new Map(linearWeights(folder.config).map((linear) => [linear.shape.join(), linear]))
for (const { name, shape } of shapes.values()) {
  for (const isBackward of [false, true]) {
    const what = `${shape.toReversed().join(' → ')}${isBackward ? ', back' : ''}`
    console.log(`${what}: ${await timesOf(name, shape, isBackward)}`)
  }
}

const lora = { rank: 16, alpha: 32, rsLora: false, targets: linearNames }
const common = { device, lora, loraSeed: 1, rolloutPrecision: 'f32', maxRows: 1 } as const
const options = { ...common, activations: activations === 'save' ? 'save' : 'recompute' } as const
using plain = await createOrtPolicy({ ...options, source: exact })
using dequantised = await createOrtPolicy({ ...options, source: rounded, products: 'f32' })
using whole = await createOrtPolicy({ ...options, source: rounded })
const policies = { f32: plain, dequantised, 'whole numbers': whole }
const batch = [
  { ids: randomIds(random, tokens + 1, whole.vocabSize), actionMask: new Uint8Array(tokens).fill(1) },
]
const coefficients = [
  { logprobs: Float64Array.from({ length: tokens }, () => random.normal()), entropies: null, values: null },
]
const seconds = new Map<string, number[]>()
const found = new Map<string, number[]>()
for (let round = 0; round <= rounds; round++)
  for (const [way, policy] of Object.entries(policies)) {
    const startedAt = performance.now()
    await policy.accumulate(batch, { temperature: 1, entropyGradient: false }, () => coefficients)
    seconds.set(way, [...(seconds.get(way) ?? []), (performance.now() - startedAt) / 1000])
    if (round === 0)
      found.set(
        way,
        (await policy.gradientTensors()).flatMap(({ data }) => [...data]),
      )
  }
for (const [way, all] of seconds) {
  const rate = tokens / median(all.slice(1))
  console.log(`${tokens} tokens forward and back, ${way}: ${rate.toFixed(0)} tokens/s`)
}
const gradientOf = (way: string) => found.get(way) ?? []
const [gradient, expected] = [gradientOf('whole numbers'), gradientOf('dequantised')]
const norm = (values: readonly number[]) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))
const difference = norm(gradient.map((value, at) => value - (expected[at] ?? NaN))) / norm(expected)
console.log(
  `The gradients in whole numbers and in f32 differ by ${difference.toExponential(1)} of their norm.`,
)
