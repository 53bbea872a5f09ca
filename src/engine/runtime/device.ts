/**
 * Devices of ONNX Runtime: which are there, and how a session is opened on each. Few other places distinguish their kinds:
 * `policyPrograms.ts` says how each keeps its programs, `../graph/onnx.ts` in which operators they are written.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { InferenceSession as Ort } from 'onnxruntime-node'
import {
  baseProblem,
  deviceKinds,
  deviceTitles,
  holdsTensors,
  type Device,
  type DeviceKind,
  type DeviceReport,
} from '#shared/device.ts'
import { AppError, type Hint } from '#shared/errors.ts'
import type { BasePrecision } from '#shared/precision.ts'
import { writeOnnx, type Dialect } from '../graph/onnx.ts'
import { input } from '../graph/value.ts'
import type { Int8Form } from '../models/blocks.ts'
import { cast } from '../ops/arithmetic.ts'
import { defaultThreads, processorFeatures } from '../processor.ts'
import { cudaAgain, driverProblem, openCudaLibraries, settleProducts } from './cudaLibrary.ts'
import { cudaFolder, InferenceSession, listSupportedBackends, Tensor } from './onnxRuntime.ts'

/**
 * Purpose of a session; decides the options that cost memory or time.
 * - `learn`: weights are fed or mapped and used as they lie: no packed copy of them. Exact generation does so too.
 * - `learn-stored`: the same with weights in other forms than f32, which must not be turned into it beforehand.
 * - `learn-packed`: the same with a packed copy of the weights as they are multiplied.
 * - `learn-widened`: products turn their weights into f32 each for itself, and not one for a later one as well.
 * - `generate`: weights are constants used by thin products, which are much faster on packed weights.
 * - `weights`: only turns stored weights into f32; nothing may be precomputed, or the mapped file is copied.
 */
export type SessionPurpose =
  'learn' | 'learn-stored' | 'learn-packed' | 'learn-widened' | 'generate' | 'weights'

/**
 * Several sessions take turns here, each with threads of its own: a thread that goes on spinning after its run takes a
 * core from the next session, so it stops with the run.
 *
 * Masked attention weights come out of the runtime's softmax as denormal numbers, not as zeros, and products with those
 * are many times slower on Intel processors, unless they are taken as zero.
 */
const common = { set_denormal_as_zero: '1', force_spinning_stop: '1' }
const unpacked = { ...common, disable_prepacking: '1' }
/** Folding constants would dequantise every weight once and for all, and the fusion would pack it for its own product. */
const unfolded = (session: Readonly<Record<string, string>>) => ({
  session: { ...session, enable_dq_matmulnbits_fusion: '0' },
  optimization: { disable_specified_optimizers: 'ConstantFolding' },
})

/**
 * The arena reuses activations while they are warm in the cache; with malloc, the heap grew by half and a layer took a
 * fifth longer. Each session has one, which grows to the needs of its largest batch and never shrinks. The memory pattern
 * is off: it keeps a second block for the largest shape ever seen.
 */
const purposeOptions: Readonly<Record<SessionPurpose, Ort.SessionOptions>> = {
  learn: { enableCpuMemArena: true, graphOptimizationLevel: 'all', extra: { session: unpacked } },
  'learn-stored': { enableCpuMemArena: true, graphOptimizationLevel: 'all', extra: unfolded(unpacked) },
  'learn-packed': { enableCpuMemArena: true, graphOptimizationLevel: 'all', extra: unfolded(common) },
  'learn-widened': {
    enableCpuMemArena: true,
    graphOptimizationLevel: 'all',
    extra: {
      session: unpacked,
      optimization: { disable_specified_optimizers: 'CommonSubexpressionElimination' },
    },
  },
  generate: { enableCpuMemArena: true, graphOptimizationLevel: 'all', extra: { session: common } },
  weights: { enableCpuMemArena: false, graphOptimizationLevel: 'disabled', extra: { session: unpacked } },
}

export function sessionOptions(device: Device, purpose: SessionPurpose): Ort.SessionOptions {
  expectCount('threads', device.threads, 1)
  expectCount('deviceId', device.deviceId, 0)
  return {
    ...purposeOptions[purpose],
    executionProviders: executionProviders(device),
    intraOpNumThreads: device.threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    enableMemPattern: false,
    logSeverityLevel: logSeverity(),
  }
}

/** Errors alone; for developers, TURNWISE_RUNTIME_LOG names a lower level: at 0 the runtime writes all it does to standard error. */
function logSeverity(): 0 | 1 | 2 | 3 | 4 {
  const given = Number(process.env['TURNWISE_RUNTIME_LOG'] || 3)
  return given === 0 || given === 1 || given === 2 || given === 4 ? given : 3
}

/**
 * Returns the dialect in which programs are written for this device. Without a kernel a node would run on the CPU, and
 * its tensors would travel there.
 */
export const dialectOf = ({ kind }: Device, feedsWeights = false): Dialect => ({
  extended: kind !== 'webgpu' && kind !== 'coreml',
  feedsWeights,
})

/** The CPU with as many threads as `defaultThreads` says. */
export function defaultDevice(): Device {
  return { kind: 'cpu', threads: defaultThreads(), deviceId: 0 }
}

/** Tests every kind of device, one after the other, by running on it; takes tens of milliseconds. */
export async function availableDevices(): Promise<DeviceReport[]> {
  const reports: DeviceReport[] = []
  for (const kind of deviceKinds) reports.push(await report(kind))
  return reports
}

/**
 * Runs a one-node model on the device.
 * @throws AppError `device/unavailable` that says what is missing and what to do. There is no silent fallback: a run
 * that asked for a GPU must not spend a night on the CPU.
 */
export async function requireDevice(device: Device): Promise<void> {
  if (device.tf32 === true) await requireProducts(device, 'tf32')
  const problem = await problemOf(device)
  if (problem === null) return
  const { reason, remedy, cause } = problem
  const message = `The device ${deviceTitles[device.kind]} is not available. ${reason}`
  throw new AppError('device/unavailable', message, remedy, cause)
}

/** Errors: AppError 'device/unavailable' where the device has no base in this precision. */
export async function requireProducts(device: Device, precision: BasePrecision): Promise<void> {
  const { kind } = device
  const problem = baseProblem(kind, precision)
  if (problem !== null) {
    const hint = 'Set base.precision to f32 or int8, or choose another device.'
    throw new AppError('device/unavailable', problem, hint)
  }
  if (precision !== 'f16' || !holdsTensors(device) || (await hasHalves(device))) return
  throw new AppError(
    'device/unavailable',
    `The adapter of ${deviceTitles[kind]} here has no numbers in 16 bits (shader-f16), which a base in f16 needs.`,
    'Set base.precision to int8, int4 or f32, or choose another device.',
  )
}

/** Tests whether WebGPU's adapter has f16 by running a program that needs it, since the binding does not list features. */
export async function hasHalves(device: Device): Promise<boolean> {
  const x = input('x', 'float32', [1])
  const model = writeOnnx('halves', { y: cast(cast(x, 'float16'), 'float32') }, dialectOf(device))
  await keepContext(device)
  const quiet = { ...sessionOptions(device, 'learn'), logSeverityLevel: 4 } as const
  const session = await InferenceSession.create(model.bytes, quiet)
  try {
    await session.run({ x: new Tensor('float32', [0.5], [1]) })
    return true
  } catch (error) {
    if (/requires f16|shader-f16/i.test(String(error))) return false
    throw error
  } finally {
    await session.release()
  }
}

async function problemOf(device: Device): Promise<Problem | null> {
  const { kind } = device
  settleProducts(device) // before NVIDIA's libraries are loaded
  const missing = missingPart(kind) ?? (kind === 'cuda' ? openCudaLibraries() : null)
  if (missing !== null) return missing
  try {
    const session = await InferenceSession.create(identityModel(), sessionOptions(device, 'learn'))
    await session.run({ x: new Tensor('float32', [1], [1]) })
    await session.release()
    return null
  } catch (error) {
    return { ...(driverProblem(String(error)) ?? notStarted(kind, error)), cause: error }
  }
}

let context: Promise<InferenceSession> | null = null

/**
 * The runtime gives a device that holds tensors back with its last session, and forgets what it compiled for it: seconds of
 * work, even on a fast card's driver. A session of one node stays open for as long as the process.
 */
export async function keepContext(device: Device): Promise<void> {
  if (!holdsTensors(device)) return
  context ??= InferenceSession.create(identityModel(), sessionOptions(device, 'learn'))
  await context.catch((error: unknown) => {
    context = null // another try may find the device
    throw error
  })
}

async function report(kind: DeviceKind): Promise<DeviceReport> {
  const problem = await problemOf({ kind, threads: 1, deviceId: 0 })
  if (problem === null) return { kind, available: true }
  const { reason, remedy } = problem
  const { text = '', command = '' } = typeof remedy === 'string' ? { text: remedy } : remedy
  return { kind, available: false, reason, hint: text, command }
}

function executionProviders(device: Device): Ort.ExecutionProviderConfig[] {
  const { kind, deviceId } = device
  if (kind === 'cpu') return ['cpu']
  settleProducts(device)
  // Nodes the device has no kernel for go to the CPU; a device that is missing throws all the same.
  return [kind === 'cuda' || kind === 'dml' ? { name: kind, deviceId } : kind, 'cpu']
}

interface Problem {
  /** One sentence. */
  readonly reason: string
  readonly remedy: string | Hint
  readonly cause?: unknown
}

/** Finds what is missing without asking a driver; asking for CUDA without its library would also litter stderr. */
function missingPart(kind: DeviceKind): Problem | null {
  if (!listSupportedBackends().some(({ name }) => name === kind))
    return { reason: homes[kind], remedy: elsewhere }
  if (kind !== 'cuda' || existsSync(join(cudaFolder ?? binaryFolder(), 'libonnxruntime_providers_cuda.so')))
    return null
  return {
    reason: 'Its library is not installed.',
    remedy: {
      text: 'Install it under Settings, Machine; it also needs NVIDIA’s driver.',
      command: '`turnwise device install cuda` also installs it.',
    },
  }
}

/** Systems on which the npm builds of ONNX Runtime support each kind, as a sentence for people. */
const homes: Readonly<Record<DeviceKind, string>> = {
  cpu: 'This build of ONNX Runtime does not run here.',
  cuda: 'ONNX Runtime supports it only on Linux x64.',
  dml: 'ONNX Runtime supports it only on Windows.',
  webgpu: 'ONNX Runtime supports it on Windows, macOS and Linux x64.',
  coreml: 'ONNX Runtime supports it only on macOS.',
}

const elsewhere = `Use the device ${{ linux: 'webgpu', win32: 'dml or webgpu', darwin: 'coreml or webgpu' }[process.platform as string] ?? 'cpu'}, or cpu.`

const remedies: Readonly<Record<DeviceKind, string | Hint>> = {
  cpu: 'Reinstall Turnwise.',
  cuda: cudaAgain,
  dml: 'Update the graphics driver, or use the device cpu.',
  webgpu:
    'Install a graphics driver with Vulkan (Linux), Direct3D 12 (Windows) or Metal (macOS), or use the device cpu.',
  coreml: 'Update the system, or use the device cpu.',
}

const notStarted = (kind: DeviceKind, error: unknown): Problem => ({
  reason: `It could not be started: ${firstSentence(error)}`,
  remedy: remedies[kind],
})

/** The reason at the end of a native message such as “/path/file.cc:136 Context::Initialize(...) No supported adapters”. */
function firstSentence(error: unknown): string {
  const text = (error instanceof Error ? error.message : String(error)).trim().split('\n')[0] ?? ''
  const reason = /(?:was false\.|: \d+ : [A-Z_]+ :)\s*(.+)$/.exec(text)?.[1] ?? text
  return reason.endsWith('.') ? reason : `${reason}.`
}

function binaryFolder(): string {
  const entry = createRequire(import.meta.url).resolve('onnxruntime-node/package.json')
  return join(dirname(entry), 'bin/napi-v6', process.platform, process.arch)
}

/** Instruction sets with which an x64 processor multiplies bytes: tiles of them, or four at a time. */
const byteUnits = ['amx_int8', 'avx512_vnni']

/**
 * The faster layout of 8-bit matrices: rows where the processor has a unit for bytes, which only products of whole rows use
 * well. Without one they are wrong, since sums of two products overflow 16 bits there.
 */
export const int8Form = ({ kind }: Device): Int8Form =>
  kind === 'cpu' && byteUnits.some((unit) => processorFeatures().has(unit)) ? 'rows' : 'blocks'

function expectCount(name: string, value: number, minimum: number): void {
  if (!Number.isInteger(value) || value < minimum) {
    throw new Error(`Expected \`${name}\` to be an integer from ${minimum} up, got ${value}.`)
  }
}

/** y = x, one f32, ONNX IR 10, opset 21: the smallest model every device can run (67 bytes). */
function identityModel(): Uint8Array {
  const number = (tag: number, value: number) => [tag << 3, value]
  const block = (tag: number, ...parts: readonly number[][]) => {
    const body = parts.flat()
    return [(tag << 3) | 2, body.length, ...body]
  }
  const text = (tag: number, value: string) => block(tag, [...Buffer.from(value)])
  const shape = block(2, block(1, number(1, 1)))
  const tensor = (tag: number, name: string) =>
    block(tag, text(1, name), block(2, block(1, number(1, 1), shape)))
  const node = block(1, text(1, 'x'), text(2, 'y'), text(4, 'Identity'))
  const graph = block(7, node, text(2, 'probe'), tensor(11, 'x'), tensor(12, 'y'))
  return Uint8Array.from([...number(1, 10), ...block(8, number(2, 21)), ...graph])
}
