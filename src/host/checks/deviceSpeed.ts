/**
 * Measures how fast a device trains compared with the CPU: both generate and learn from the same few completions, with
 * random models of two sizes. A device has a fixed cost per kernel launch, so on a small model it may be slower than
 * the CPU, and its advantage grows with the model.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Device, DeviceSpeed } from '#shared/device.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import {
  type GenerationRequest,
  type SamplingOptions,
  type TokenSequence,
  unfiltered,
} from '#engine/policy.ts'
import { defaultDevice, int8Form } from '#engine/runtime/device.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import type { ModelShape } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { asPolicySource } from '#host/models/baseCache.ts'
import type { FittingPrecision } from '#host/devices/memoryFit.ts'
import { generationWork, learningWork, measuredLora, measuredTokens } from '#host/models/tokenWork.ts'
import { parameterCount } from '#host/devices/deviceChoice.ts'
import type { Throughput } from '#host/devices/deviceRecords.ts'

export type SpeedNews =
  /** The measurement under way. */
  | { readonly on: 'cpu' | 'device'; readonly parameters: number }
  | { readonly speed: DeviceSpeed & { readonly ratio: number } }

/** News of the measurement under way, and at last of the complete result. */
export type ThroughputNews = { readonly on: FittingPrecision } | { readonly measured: Throughput }

const seed = 11
const common = {
  modelType: 'llama',
  maxPositions: 128,
  ropeTheta: 10_000,
  normEpsilon: 1e-6,
  tiedHead: true,
  deviation: 0.02,
} as const

/** Smallest first; the small one is about as large as the starter model. */
const shapes: readonly [ModelShape, ModelShape] = [
  {
    ...common,
    layers: 4,
    hiddenSize: 192,
    heads: 6,
    kvHeads: 2,
    headDim: 32,
    intermediateSize: 512,
    vocabSize: 512,
  },
  {
    ...common,
    layers: 8,
    hiddenSize: 512,
    heads: 8,
    kvHeads: 2,
    headDim: 64,
    intermediateSize: 1408,
    vocabSize: 4096,
  },
]
/** Size of one round: groups, completions of each, and their tokens. */
const [groups, samples, promptTokens] = [4, 4, 24]
const newTokens = measuredTokens - promptTokens

/** Yields the current step, and each speed as soon as it is known. Errors: those of the device; AppError 'file/…'. */
export async function* measureSpeed(device: Device): AsyncGenerator<SpeedNews> {
  for (const shape of shapes) {
    const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-speed-'))
    try {
      await writeRandomModel(directory, shape, seed, 'F32')
      const parameters = parameterCount(openModelFolder(directory).config)
      yield { on: 'cpu', parameters }
      const cpuSeconds = await roundSeconds(directory, { ...defaultDevice(), threads: device.threads })
      yield { on: 'device', parameters }
      const seconds = await roundSeconds(directory, device)
      yield { speed: { parameters, ratio: cpuSeconds / seconds } }
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

/**
 * Yields what it measures and then how much work of each kind the device does in a second, for each form of the base.
 * Errors: as `measureSpeed`.
 */
export async function* measureThroughput(
  device: Device,
  precisions: readonly FittingPrecision[],
  shape: ModelShape = shapes[1],
): AsyncGenerator<ThroughputNews> {
  const directory = mkdtempSync(path.join(tmpdir(), 'turnwise-speed-'))
  try {
    await writeRandomModel(directory, shape, seed, 'F32')
    const { config } = openModelFolder(directory)
    const rates: Throughput['rates'][number][] = []
    for (const precision of precisions) {
      yield { on: precision }
      // One round: that the machine does something else meanwhile matters less here than to wait.
      const taken = await timedRounds(directory, device, { base: precision, rounds: 1 })
      const tokensPerSecond = (tokens: number, part: keyof Round) =>
        (groups * samples * tokens) / Math.min(...taken.map((round) => round[part]))
      rates.push({
        precision,
        generating: tokensPerSecond(newTokens, 'generating') * generationWork(config),
        learning: tokensPerSecond(measuredTokens, 'learning') * learningWork(config),
      })
    }
    yield { measured: { at: Date.now(), parameters: parameterCount(config), rates } }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Seconds. */
interface Round {
  readonly generating: number
  readonly learning: number
}

async function roundSeconds(directory: string, device: Device): Promise<number> {
  const taken = await timedRounds(directory, device, { base: 'f32', rounds: 2 })
  return Math.min(...taken.map(({ generating, learning }) => generating + learning))
}

interface Timing {
  readonly base: FittingPrecision
  /** The fastest counts: whatever else the machine does only makes it slower. */
  readonly rounds: number
}

/** One round goes before that is not counted: programs are made, weights uploaded and kernels compiled in it. */
async function timedRounds(directory: string, device: Device, { base, rounds }: Timing): Promise<Round[]> {
  const precisions = { base, rollout: 'f32', int8Form: int8Form(device) } as const
  using policy = await createOrtPolicy({
    source: await asPolicySource(openModelFolder(directory), precisions, path.join(directory, 'cache')),
    device,
    lora: measuredLora,
    loraSeed: seed,
    rolloutPrecision: 'f32',
    activations: 'auto',
    maxRows: groups * samples,
  })
  const taken: Round[] = []
  for (let round = 0; round <= rounds; round++) {
    const startedAt = performance.now()
    const sequences = await write(policy)
    const writtenAt = performance.now()
    await learn(policy, sequences)
    const endedAt = performance.now()
    taken.push({ generating: (writtenAt - startedAt) / 1000, learning: (endedAt - writtenAt) / 1000 })
  }
  return taken.slice(1)
}

const sampling: SamplingOptions = { ...unfiltered, minNewTokens: newTokens, maxNewTokens: newTokens }

/** The completions with their prompts. */
async function write(policy: OrtPolicy): Promise<TokenSequence[]> {
  const random = new SequentialRandom(randomStream(seed, 1))
  const requests = Array.from({ length: groups }, (_, group): GenerationRequest => ({
    promptIds: Int32Array.from({ length: promptTokens }, () => random.integer(policy.vocabSize)),
    streams: Array.from({ length: samples }, (_none, sample) => randomStream(seed, 2, group, sample)),
  }))
  const sequences: TokenSequence[] = []
  for await (const { request, ids } of policy.generate(requests, { role: 'actor', sampling })) {
    const whole = Int32Array.from([...(requests[request]?.promptIds ?? []), ...ids])
    const actionMask = new Uint8Array(whole.length - 1).fill(1, promptTokens - 1)
    sequences.push({ ids: whole, actionMask })
  }
  return sequences
}

/** One micro-batch for each replica. */
async function learn(policy: OrtPolicy, sequences: readonly TokenSequence[]): Promise<void> {
  const share = Math.ceil(sequences.length / policy.replicas)
  const parts = Array.from({ length: policy.replicas }, (_, part) =>
    sequences.slice(part * share, (part + 1) * share),
  )
  const options = { temperature: 1, entropyGradient: false }
  await Promise.all(
    parts
      .filter(({ length }) => length > 0)
      .map((part) =>
        policy.accumulate(part, options, (heads) =>
          heads.map(({ logprobs }) => ({
            logprobs: new Float64Array(logprobs.length).fill(-1 / logprobs.length),
            entropies: null,
            values: null,
          })),
        ),
      ),
  )
  policy.discardGradients()
}
