/**
 * The self-test of this installation. It compares the gradient of every operator and, on small random models of every
 * architecture, of every adapted linear with central differences, and the sampler's log-probabilities with the
 * learner's. The full test also checks that every algorithm learns a one-digit task.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { holdsTensors, type Device } from '#shared/device.ts'
import { blockPrecisions, type HeldPrecision } from '#shared/precision.ts'
import { linearNames, linearPath, type LinearName, type LoraConfig } from '#engine/models/config.ts'
import { onlyOnCpu } from '#engine/models/programSupport.ts'
import { gradientCases } from '#engine/ops/gradientCases.ts'
import { type SamplingOptions, unfiltered } from '#engine/policy.ts'
import { checkedIn, gradientError, gradientLimits } from '#engine/runtime/gradientCheck.ts'
import { hasHalves } from '#engine/runtime/device.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes, type ModelShapeName } from '#host/models/modelShapes.ts'
import { configOfShape, writeRandomModel } from '#host/models/randomModel.ts'
import { asPolicySource } from '#host/models/baseCache.ts'
import { selftestParts, type SelftestFinding, type SelftestPart } from '#host/devices/deviceRecords.ts'
import { finding, measuredFinding, orFailure } from './findings.ts'
import { lossTask, mapValues, slopeError } from './lossSlope.ts'
import { productCases, productError } from './products.ts'
import { probeAlgorithms, probeMatrix } from './probe.ts'

export interface SelftestRequest {
  readonly device: Device
  /**
   * True to check every architecture, many more directions and a probe of every algorithm, instead of one architecture
   * and direction each.
   */
  readonly full: boolean
  /** Parts to check; if absent all, but probes only where everything is checked. */
  readonly parts?: readonly SelftestPart[]
  /** Random directions along which each adapted linear is moved; if absent 4 where all is checked, else 1. */
  readonly directions?: number
}

const seed = 7
const lora: LoraConfig = { rank: 4, alpha: 8, rsLora: false, targets: linearNames }
const quickShape: ModelShapeName = 'tiny-qwen3'
/** Shapes of tiny models, one of each family. */
const allShapes = (Object.keys(modelShapes) as ModelShapeName[]).filter((name) => name.startsWith('tiny-'))

interface Limits {
  /** Largest relative error; rounding of the forward passes gives about a tenth of it. */
  readonly gradient: number
  /** Distance that parameters are moved: rounding makes slopes over short distances wrong. */
  readonly distance: number
  /** Nats; both sides compute in the same precision, in different orders. */
  readonly gap: number
  /** Largest `productError`, relative. */
  readonly product: number
}

const limitsOf = ({ tf32 }: Pick<Device, 'tf32'>): Limits =>
  tf32 === true
    ? { gradient: 0.15, distance: 0.02, gap: 2e-2, product: 6e-4 }
    : { gradient: 1e-3, distance: 0.002, gap: 1e-4, product: 3e-5 }

/** Yields findings as they are made; all names of one part begin alike, up to a slash. */
export async function* runSelftest({
  device,
  full,
  parts = full ? selftestParts : ['operators', 'products', 'architectures', 'precisions'],
  directions = full ? 4 : 1,
}: SelftestRequest): AsyncGenerator<SelftestFinding> {
  const shapes = (full ? allShapes : [quickShape]).filter(
    (name) => device.kind === 'cpu' || onlyOnCpu(configOfShape(modelShapes[name])) === null,
  )
  const findings: Readonly<Record<SelftestPart, () => AsyncGenerator<SelftestFinding>>> = {
    operators: () => operatorFindings(device),
    products: () => productFindings(device),
    architectures: () => shapesFindings(shapes, device, directions),
    precisions: () => precisionFindings(device),
    probes: () => probeFindings(device),
  }
  for (const part of selftestParts) if (parts.includes(part)) yield* findings[part]()
}

async function* shapesFindings(
  shapes: readonly ModelShapeName[],
  device: Device,
  directions: number,
): AsyncGenerator<SelftestFinding> {
  for (const shape of shapes) yield* orFailure(`${shape}/error`, shapeFindings(shape, device, directions))
}

async function* shapeFindings(
  shape: ModelShapeName,
  device: Device,
  directions: number,
): AsyncGenerator<SelftestFinding> {
  const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-selftest-'))
  try {
    await writeRandomModel(directory, modelShapes[shape], seed, 'F32')
    using policy = await openSelftestPolicy(directory, device)
    const limits = limitsOf(device)
    yield* gradientFindings(policy, shape, directions, limits)
    yield await gapFinding(policy, shape, limits)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/**
 * Checks a rounded base. Learning multiplies with its values in f32, so slopes are as exact as with a base in f32. On a
 * device that holds tensors rollouts do the same; on the CPU they round what they multiply it with.
 */
async function* precisionFindings(device: Device): AsyncGenerator<SelftestFinding> {
  const isHeld = holdsTensors(device)
  if (device.kind !== 'cpu' && !isHeld) return
  const precisions = [...blockPrecisions, ...(isHeld && (await hasHalves(device)) ? (['f16'] as const) : [])]
  const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-selftest-'))
  try {
    await writeRandomModel(directory, modelShapes[quickShape], seed, 'F32')
    for (const precision of precisions) {
      const name = `precisions/${precision}`
      yield* orFailure(`${name}/error`, precisionChecks(directory, device, precision))
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

async function* precisionChecks(
  directory: string,
  device: Device,
  precision: HeldPrecision,
): AsyncGenerator<SelftestFinding> {
  using policy = await openSelftestPolicy(directory, device, precision)
  const name = `precisions/${precision}`
  yield await wholeSlopeFinding(policy, name)
  if (holdsTensors(device)) yield await gapFinding(policy, name)
}

/** Moves the whole adapter at once. */
async function wholeSlopeFinding(policy: OrtPolicy, name: string): Promise<SelftestFinding> {
  const random = new SequentialRandom(randomStream(seed, 2))
  const task = await lossTask(policy, random)
  const gradients = await task.gradients()
  const { distance: h, gradient } = limitsOf({})
  const error = await slopeError(policy, task, { gradients, isMoved: () => true, random, h, limit: gradient })
  return finding(`${name}/gradient`, error, gradient, slopeWords)
}

/** Checks that every algorithm that learns by trying can learn the simplest task. */
async function* probeFindings(device: Device): AsyncGenerator<SelftestFinding> {
  for await (const report of probeMatrix({
    probes: ['constant'],
    algorithms: probeAlgorithms,
    seeds: [seed],
    device,
  })) {
    const { algorithm, sampledAccuracy, threshold } = report
    yield finding(`probe/${algorithm}`, 1 - sampledAccuracy, 1 - threshold, {
      good: 'The algorithm learned a task of one digit.',
      bad: 'The algorithm did not learn a task of one digit: something between sampling and update is broken.',
    })
  }
}

async function* operatorFindings(device: Device): AsyncGenerator<SelftestFinding> {
  for (const gradientCase of gradientCases) {
    const name = `operators/${gradientCase.name}`
    const limit = gradientLimits(device)[checkedIn(gradientCase, device)]
    yield* orFailure(
      name,
      measuredFinding(name, () => gradientError(gradientCase, seed, device), limit, {
        good: 'The gradient rule agrees with finite differences of the operator.',
        bad: 'The gradient rule does not agree with finite differences of the operator: every model that uses it would train with wrong gradients.',
      }),
    )
  }
}

async function* productFindings(device: Device): AsyncGenerator<SelftestFinding> {
  const { product } = limitsOf(device)
  for (const productCase of productCases) {
    const name = `products/${productCase.name}`
    yield* orFailure(
      name,
      measuredFinding(name, () => productError(productCase, seed, device), product, {
        good: 'The product of large matrices is that of their numbers.',
        bad: 'The product of large matrices is less exact than it has to be: the device rounds the numbers that it multiplies.',
      }),
    )
  }
}

/**
 * Opens a policy with an adapter whose two factors are both non-zero: a fresh one has B = 0, and then half of the
 * gradient is 0.
 */
export async function openSelftestPolicy(
  directory: string,
  device: Device,
  base: HeldPrecision = 'f32',
): Promise<OrtPolicy> {
  const precisions = { base, rollout: 'f32', int8Form: 'blocks' } as const
  const source = await asPolicySource(openModelFolder(directory), precisions, path.join(directory, 'cache'))
  const policy = await createOrtPolicy({
    source,
    replaysRoutes: source.config.experts !== null,
    device,
    products: 'f32',
    lora,
    loraSeed: seed,
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows: 4,
  })
  const random = new SequentialRandom(randomStream(seed, 1))
  const tensors = await policy.adapterTensors('actor')
  policy.restoreAdapter(
    'actor',
    tensors.map((tensor) => mapValues(tensor, () => 0.1 * random.normal())),
  )
  return policy
}

/** One per adapted linear and factor: moves those tensors along a random direction and compares slopes. */
export async function* gradientFindings(
  policy: OrtPolicy,
  shape: string,
  directions: number,
  limits: Limits = limitsOf({}),
): AsyncGenerator<SelftestFinding> {
  const random = new SequentialRandom(randomStream(seed, 2))
  const task = await lossTask(policy, random)
  const gradients = await task.gradients()
  const has = (linear: LinearName) => gradients.some(({ name }) => isOf(name, linear))
  for (const linear of linearNames.filter(has)) {
    for (const factor of ['A', 'B'] as const) {
      let worst = 0
      for (let round = 0; round < directions; round++) {
        const slope = await slopeError(policy, task, {
          gradients,
          isMoved: ({ name }) => isOf(name, linear) && name.endsWith(factor),
          random,
          h: limits.distance,
          limit: limits.gradient,
        })
        worst = Math.max(worst, slope)
      }
      yield finding(`${shape}/gradient/${linear}.lora_${factor}`, worst, limits.gradient, slopeWords)
    }
  }
}

const slopeWords = {
  good: 'The gradient agrees with finite differences of the loss.',
  bad: 'The gradient does not agree with finite differences of the loss: training would move in the wrong direction.',
}

const isOf = (name: string, linear: LinearName): boolean => name.includes(`.${linearPath(linear)}.lora_`)

const sampling: SamplingOptions = { ...unfiltered, temperature: 0.8, maxNewTokens: 24 }

/** Largest difference between a log-probability recorded while sampling and the learner's for the same token. */
export async function gapFinding(
  policy: OrtPolicy,
  shape: string,
  limits: Limits = limitsOf({}),
): Promise<SelftestFinding> {
  const random = new SequentialRandom(randomStream(seed, 3))
  const requests = [3, 17, 8].map((length, index) => ({
    promptIds: Int32Array.from({ length }, () => random.integer(policy.vocabSize)),
    streams: [0, 1].map((sample) => randomStream(seed, 4, index, sample)),
  }))
  let gap = 0
  for await (const { request, ids, logprobs } of policy.generate(requests, { role: 'actor', sampling })) {
    const prompt = requests[request]?.promptIds ?? new Int32Array()
    const actionMask = new Uint8Array(prompt.length + ids.length - 1).fill(1, prompt.length - 1)
    const sequence = { ids: Int32Array.from([...prompt, ...ids]), actionMask }
    const [heads] = await policy.score([sequence], { role: 'actor', temperature: sampling.temperature })
    const scored = heads?.logprobs.subarray(prompt.length - 1) ?? []
    logprobs.forEach((logprob, at) => {
      gap = Math.max(gap, Math.abs(logprob - (scored[at] ?? Infinity)))
    })
  }
  return finding(`${shape}/samplerGap`, gap, limits.gap, {
    good: 'Sampler and learner agree on the log-probabilities.',
    bad: 'Sampler and learner disagree about the same tokens: every importance ratio would be wrong.',
  })
}
