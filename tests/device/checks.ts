/** Checks on the software GPU, in a process of their own: each line in, such as `["decoding", "greedy"]`, is answered by one line of JSON. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Device, DeviceCheck } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import { randomStream } from '#shared/random.ts'
import { apply, input, type OpNode, type Value, type VjpRule } from '#engine/graph/value.ts'
import { mul, sub } from '#engine/ops/arithmetic.ts'
import { matmul } from '#engine/ops/matmul.ts'
import { rmsNormOp } from '#engine/ops/normalization.ts'
import { meanLastAxis } from '#engine/ops/reduce.ts'
import type { OrtPolicy, OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import { Session, floats } from '#engine/runtime/session.ts'
import { createRunFolder } from '#host/workFolder/runFolder.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { runBench } from '#host/checks/bench.ts'
import type { BenchReport } from '#host/checks/benchReport.ts'
import { measureDevice } from '#host/jobs/deviceCheck.ts'
import { autoDevice } from '#host/devices/deviceChoice.ts'
import { proveDevice, requireProof } from '#host/training/runDevice.ts'
import { readCheck, rememberProof, type SelftestFinding } from '#host/devices/deviceRecords.ts'
import { probeAlgorithm, type ProbeReport } from '#host/checks/probe.ts'
import { createAsk, jobStarter } from '#host/processes/job.ts'
import { gapFinding, openSelftestPolicy } from '#host/checks/selftest.ts'
import { modelShapes, type ModelShape, type ModelShapeName } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { answerQuestions } from '../askedProcess.ts'
import { largestDifference, tensorErrors } from '../engine/runtime/differences.ts'
import {
  completionsOf,
  flatGradient,
  oneThread,
  openCritic,
  openTiny,
  randomCoefficients,
  randomSequence,
  tinyLora,
  tinySource,
  unfiltered,
  withValues,
} from '../engine/runtime/tinyModel.ts'
import { starterConfig } from '../host/runs/runFixture.ts'
import { trainingCheck } from './trainingCheck.ts'
import { updatesCheck } from './updatesCheck.ts'
import { alone, halves, held, heldBase } from './heldChecks.ts'

/** One of each family. */
const tinyShapes = (Object.keys(modelShapes) as ModelShapeName[]).filter((name) => name.startsWith('tiny-'))

/** With as many layers as it has kinds of them, and the sizes of the others: what is compiled for one serves the next. */
function smallest(name: ModelShapeName): ModelShape {
  const { layers, ...shape } = modelShapes[name]
  const isOfOneKind = layers === modelShapes['tiny-llama'].layers && name !== 'tiny-gemma2'
  const { hiddenSize, intermediateSize, vocabSize } = modelShapes['tiny-llama']
  return { ...shape, hiddenSize, intermediateSize, vocabSize, layers: isOfOneKind ? 1 : layers }
}

const webgpu: Device = { kind: 'webgpu', threads: 1, deviceId: 0 }
const sequences = [5, 23, 2, 14].map((length, index) => randomSequence(258, length, index))
const requests = [3, 17, 1, 8].map((length, index) => ({
  promptIds: randomSequence(258, length + 1, index).ids.slice(0, length),
  streams: [0, 1].map((sample) => randomStream(7, index, sample)),
}))

export interface LearningAnswer {
  /** Largest differences from the CPU: of the gradients relative to the largest, of the heads absolute. */
  readonly actor: number
  readonly critic: number
  readonly heads: number
}

export interface DecodingAnswer {
  readonly greedy: Decoded
  readonly sampled: Decoded
}

interface Decoded {
  readonly same: boolean
  /** Largest difference of a log-probability. */
  readonly logprobs: number
  readonly tokens: number
}

export interface PlacementAnswer {
  /** By session: what ran elsewhere than on the device, such as `Reshape of int64`. */
  readonly elsewhere: Readonly<Record<string, readonly string[]>>
  /** Copies between the two in one run, beside those of the inputs and of the outputs that the host reads. */
  readonly copies: Readonly<Record<string, number>>
}

export interface ProofAnswer {
  readonly refusal: string
  /** What is kept of the same device with the rule as it is, its speed with it. */
  readonly after: DeviceCheck | null
  /** What auto then means for a small model and for one that is larger than any that was measured. */
  readonly auto: readonly string[]
}

/** Seconds of a processor. */
export interface ReopeningAnswer {
  readonly first: number
  readonly again: number
}

export interface MemoryAnswer {
  /** The number, or the code of the error. */
  readonly answers: readonly string[]
}

/** By shape. */
export type ArchitecturesAnswer = Readonly<Record<string, ArchitectureAnswer>>

export interface ArchitectureAnswer {
  /** By tensor of the adapter: how far its gradient is from the CPU's, relative. */
  readonly gradients: Readonly<Record<string, number>>
  readonly samplerGap: SelftestFinding
}

export interface NoiseAnswer {
  readonly refusal: string
  /** Files with tensors in the folder of the run. */
  readonly written: readonly string[]
}

/** The rule as it once was: 1/σ from the kernel's second output, which this provider fills with the mean. */
function trustTheKernel(): Disposable {
  const op = rmsNormOp as { vjp: VjpRule<OpNode> }
  const right = op.vjp
  op.vjp = ({ node, cotangents: [dy] }) => {
    const [x, weight] = node.inputs as readonly [Value, Value]
    const perRow = { dtype: x.dtype, shape: [...x.shape.slice(0, -1), 1] }
    const [y, inverse] = apply(rmsNormOp, node.inputs, node.attributes, [x, perRow]) as [Value, Value]
    const along = mul(mul(inverse, inverse), meanLastAxis(mul(dy!, y)))
    return [sub(mul(mul(dy!, weight), inverse), mul(x, along)), mul(dy!, mul(x, inverse))]
  }
  return { [Symbol.dispose]: () => (op.vjp = right) }
}

type Check = (folder: string, argument: string, other?: string) => Promise<object>

const checks: Readonly<Record<string, Check>> = {
  alone,
  halves,
  held,

  async learning(folder): Promise<LearningAnswer> {
    const source = await tinySource(folder, { layers: 3 })
    const lora = { ...tinyLora, dropout: 0.2 }
    const learned = async (overrides: Partial<OrtPolicyOptions>) => {
      using policy = await openCritic(source, { lora, ...overrides })
      const coefficients = withValues(randomCoefficients(sequences, 3, true), sequences, 4)
      const options = { temperature: 0.8, entropyGradient: true }
      const heads = await policy.accumulate(sequences, options, () => coefficients)
      const flatHeads = heads.flatMap((head) => [...head.logprobs, ...head.entropies, ...head.values!])
      return {
        heads: flatHeads,
        actor: await flatGradient(policy),
        critic: await flatGradient(policy, 'critic'),
      }
    }
    const expected = await learned({})
    const actual = await learned({ device: webgpu, programs: { segmentLayers: 2 } })
    return {
      actor: relative(actual.actor, expected.actor),
      critic: relative(actual.critic, expected.critic),
      heads: largestDifference(actual.heads, expected.heads),
    }
  },

  updates: (folder) => updatesCheck(folder, webgpu),

  training: (folder) => trainingCheck(folder, webgpu),

  async decoding(folder): Promise<DecodingAnswer> {
    const source = await tinySource(folder, { modelType: 'mistral', config: { sliding_window: 9 } })
    using host = await openTiny(source)
    using device = await openTiny(source, { device: webgpu })
    const compared = async (greedy: boolean): Promise<Decoded> => {
      const sampling = { ...unfiltered, greedy, maxNewTokens: 40 }
      const generated = async (of: OrtPolicy) => completionsOf(of, requests, { role: 'actor', sampling })
      const [expected, actual] = [await generated(host), await generated(device)]
      const idsOf = (completions: typeof expected) => completions.map(({ ids }) => [...ids].join(' '))
      return {
        same: idsOf(expected).join() === idsOf(actual).join(),
        logprobs: Math.max(
          ...actual.map(({ logprobs }, index) => largestDifference(logprobs, expected[index]!.logprobs)),
        ),
        tokens: actual.reduce((total, { ids }) => total + ids.length, 0),
      }
    }
    return { greedy: await compared(true), sampled: await compared(false) }
  },

  /** With a base as `held` has it. */
  async placement(folder, layers, how = ''): Promise<PlacementAnswer> {
    const profiles = path.join(folder, 'profiles')
    process.env['TURNWISE_PROFILE'] = profiles
    const { source, programs } = await heldBase(folder, how, { layers: Number(layers) })
    {
      using policy = await openTiny(source, { device: webgpu, programs })
      const sampling = { ...unfiltered, maxNewTokens: 4 }
      await completionsOf(policy, requests, { role: 'actor', sampling })
      const coefficients = randomCoefficients(sequences, 3, true)
      const options = { temperature: 1, entropyGradient: true }
      for (let micro = 0; micro < 2; micro++) await policy.accumulate(sequences, options, () => coefficients)
      await policy.update({ learningRates: { actor: 1e-3, critic: 0 }, maxGradNorm: 1 })
    }
    delete process.env['TURNWISE_PROFILE']
    await setTimeout(1000) // sessions are released, and write their profiles, behind promises
    return placementOf(profiles)
  },

  async proof(folder): Promise<ProofAnswer> {
    let refusal = ''
    {
      using _planted = trustTheKernel()
      await requireProof(webgpu, folder).catch((error: unknown) => (refusal = String(error)))
    }
    // The refusal is remembered: nothing is computed again until somebody asks for it.
    await requireProof(webgpu, folder).then(
      () => (refusal = 'forgotten'),
      () => undefined,
    )
    await proveDevice(webgpu, folder)
    await requireProof(webgpu, folder)
    const after = await measured(folder)
    const { config } = await tinySource(folder, {})
    const auto = [2, 2000].map(
      (layers) =>
        autoDevice({ model: { ...config, layers }, base: 'f32', deviceId: 0, cacheDirectory: folder }).kind,
    )
    return { refusal, after, auto }
  },

  /** A run where the self-test is said to have passed. */
  async noise(folder): Promise<NoiseAnswer> {
    using _planted = trustTheKernel()
    const cacheDirectory = path.join(folder, 'cache')
    rememberProof(webgpu, cacheDirectory, { findings: [], seconds: 0 })
    // On given answers: generating is not at stake, and would take longest.
    const { directory } = createRunFolder(folder, {
      ...starterConfig,
      data: { ...starterConfig.data, heldOut: null },
      algorithm: { id: 'sft' },
      rollout: { promptsPerStep: 4 },
      device: webgpu,
    })
    const request = { runDirectory: directory, cacheDirectory, resumeFrom: null }
    let refusal = ''
    try {
      for await (const _ of runTraining(request, createControl()));
    } catch (error) {
      refusal = String(error)
    }
    const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    return { refusal, written: files.filter((name) => name.endsWith('.safetensors')) }
  },

  /** Twice the same, with nothing open in between; to be asked first. */
  async reopening(folder): Promise<ReopeningAnswer> {
    const source = await tinySource(folder, { layers: 2 })
    const scored = async () => {
      const before = process.cpuUsage()
      using policy = await openTiny(source, { device: webgpu })
      await policy.score(sequences, { role: 'actor', temperature: 1 })
      return process.cpuUsage(before).user / 1e6
    }
    const first = await scored()
    await setTimeout(200) // sessions are released behind promises
    return { first, again: await scored() }
  },

  async bench(folder): Promise<BenchReport> {
    return runBench({
      subject: { shape: 'tiny-llama' },
      device: 'webgpu',
      threads: 1,
      parts: ['decode', 'train', 'parity'],
      batches: [2],
      precisions: ['f32', 'int8'],
      base: 'f32',
      steps: 1,
      lengths: { rows: 1, from: 16, to: 16 },
      activations: 'recompute',
      rank: 4,
      cacheDirectory: folder,
    })
  },

  /** Squares of numbers far larger than the device holds, and one that it does. */
  async memory(): Promise<MemoryAnswer> {
    const [column, row] = [input('column', 'float32', ['N', 1]), input('row', 'float32', [1, 'N'])]
    const program = { y: matmul(matmul(row, matmul(column, row)), column) }
    using session = await Session.create({ name: 'square', program, device: webgpu, purpose: 'learn' })
    const answers: string[] = []
    for (const side of [20_000, 33_000, 70_000, 64]) {
      const feeds = {
        column: floats(new Float32Array(side).fill(1), [side, 1]),
        row: floats(new Float32Array(side).fill(1 / side), [1, side]),
      }
      const answer = session.run(feeds).then(
        ({ y }) => y![0]!.toFixed(3),
        (error: unknown) => (error instanceof AppError ? error.code : String(error)),
      )
      answers.push(await answer)
    }
    return { answers }
  },

  async architectures(folder, names): Promise<ArchitecturesAnswer> {
    const answers: Record<string, ArchitectureAnswer> = {}
    for (const shape of tinyShapes.filter((name) => names === 'all' || names.split(' ').includes(name))) {
      const directory = path.join(folder, shape)
      await writeRandomModel(directory, smallest(shape), 7, 'F32')
      using host = await openSelftestPolicy(directory, oneThread)
      using device = await openSelftestPolicy(directory, webgpu)
      for (const policy of [host, device]) {
        const coefficients = randomCoefficients(sequences, 3, true)
        await policy.accumulate(sequences, { temperature: 1, entropyGradient: true }, () => coefficients)
      }
      answers[shape] = {
        gradients: tensorErrors(await device.gradientTensors(), await host.gradientTensors()),
        samplerGap: await gapFinding(device, shape),
      }
    }
    return answers
  },

  /** The first step of the probe, sixteen updates, is enough for this seed. */
  async probe(): Promise<ProbeReport> {
    return probeAlgorithm({ probe: 'constant', algorithm: 'grpo', seed: 7, device: webgpu, steps: 1 })
  },
}

/** In a process of its own, which sees the same GPU; it is given up soon. */
async function measured(folder: string): Promise<DeviceCheck | null> {
  const { signal } = new AbortController()
  const request = { ask: createAsk(jobStarter()), place: webgpu, cacheDirectory: folder, signal }
  for await (const _ of measureDevice({ ...request, silentMs: 10_000 }));
  return readCheck(webgpu, folder)
}

/** The largest difference as a share of the largest expected number. */
function relative(actual: Float32Array, expected: Float32Array): number {
  return largestDifference(actual, expected) / largestDifference(expected, new Float32Array(expected.length))
}

interface ProfiledEvent {
  readonly cat: string
  readonly name: string
  readonly args?: {
    readonly op_name?: string
    readonly provider?: string
    /** One entry for each output, such as `{ int64: [2] }`. */
    readonly output_type_shape?: readonly Readonly<Record<string, readonly number[]>>[]
  }
}

/** Each profile is of one session. */
function placementOf(profiles: string): PlacementAnswer {
  const elsewhere: Record<string, string[]> = {}
  const copies: Record<string, number> = {}
  for (const file of readdirSync(profiles)) {
    const events = JSON.parse(readFileSync(path.join(profiles, file), 'utf8')) as ProfiledEvent[]
    const session = file.slice(0, file.lastIndexOf(', '))
    const runs = events.filter(({ name }) => name === 'model_run').length
    const nodes = events.filter(({ cat, name }) => cat === 'Node' && name.endsWith('_kernel_time'))
    const isCopy = ({ args }: ProfiledEvent) => args?.op_name?.startsWith('Memcpy') === true
    copies[session] = nodes.filter(isCopy).length / runs
    elsewhere[session] = nodes
      .filter((node) => !isCopy(node) && node.args?.provider !== 'WebGpuExecutionProvider')
      .map(({ args }) => `${args?.op_name ?? ''} of ${outputTypes(args?.output_type_shape).join(', ')}`)
  }
  return { elsewhere, copies }
}

const outputTypes = (outputs: readonly Readonly<Record<string, unknown>>[] = []): string[] =>
  outputs.flatMap((output) => Object.keys(output))

await answerQuestions(async ([check = '', argument = '', other]) => {
  const run = checks[check]
  if (!run) throw new Error(`There is no check ${check}.`)
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-device-'))
  try {
    return await run(folder, argument, other)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
