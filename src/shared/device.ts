import { tf32Override } from './runtimeEnvironment.ts'
import { isHalfPrecision, type BasePrecision } from './precision.ts'

/** Device that computes the tensors of a run. Part of the run config, so it contains only user choices. */
export const deviceKinds = ['cpu', 'cuda', 'dml', 'webgpu', 'coreml'] as const

export type DeviceKind = (typeof deviceKinds)[number]

/** Selectable devices; `auto`: the fastest one here that passed its check. */
export const deviceOptions = ['auto', ...deviceKinds] as const

export type DeviceOption = (typeof deviceOptions)[number]

export interface Device {
  readonly kind: DeviceKind
  /** CPU threads of one session, from 1 up. Also used by the parts a GPU leaves to the CPU. */
  readonly threads: number
  /** GPU of that kind, from 0 up; the CPU has only 0. */
  readonly deviceId: number
  /**
   * True if f32 products read their factors in TF32, with 11 significant bits of 24: on CUDA only, for all of a process
   * or none.
   */
  readonly tf32?: boolean
}

export const deviceTitles: Readonly<Record<DeviceKind, string>> = {
  cpu: 'CPU',
  cuda: 'CUDA',
  dml: 'DirectML',
  webgpu: 'WebGPU',
  coreml: 'Core ML',
}

const runOnce = 'experimental: run by us on one card, an NVIDIA H100'
const neverRun = 'experimental: never run on a card by us'

/** Trials of each kind by us, on Linux; null for the CPU. bench/history/devices.md has what was measured. */
export const trials: Readonly<Record<DeviceKind, string | null>> = {
  cpu: null,
  cuda: runOnce,
  dml: neverRun,
  webgpu: runOnce,
  coreml: neverRun,
}

/** Labels of the kinds in pickers. */
export const offeredDevices = Object.fromEntries(
  deviceKinds.map((kind) => [kind, [deviceTitles[kind], trials[kind] && ` (${trials[kind]})`].join('')]),
) as Readonly<Record<DeviceKind, string>>

/** Returns remarks on a kind of device that apply whatever its check found. */
export const deviceRemarks = (kind: DeviceKind): string[] => [
  ...(trials[kind] === null ? [] : [`E${trials[kind].slice(1)}.`]),
  ...(kind === 'cuda'
    ? [
        `Products in f32 are computed in f32 (${tf32Override}=0), in TF32 if a run sets base.precision to tf32.`,
      ]
    : []),
]

/** True if tensors can stay on the device between runs: the binding supports WebGPU buffers only (onnxruntime-node 1.30). */
export const holdsTensors = ({ kind }: Pick<Device, 'kind'>): boolean => kind === 'webgpu'

/** Base precisions of each kind of device beside f32 and blocks. WebGPU widens f16, and has no bf16. */
const shortProducts: Readonly<Partial<Record<DeviceKind, readonly BasePrecision[]>>> = {
  cuda: ['tf32', 'bf16', 'f16'],
  dml: ['f16'],
  webgpu: ['f16'],
}

/** True if a device computes with a base of this precision. */
export const computesIn = (kind: DeviceKind, precision: BasePrecision): boolean =>
  !(isHalfPrecision(precision) || precision === 'tf32') || (shortProducts[kind]?.includes(precision) ?? false)

/** Names the devices that compute with a base of this precision, for a sentence. */
export const devicesFor = (precision: BasePrecision): string =>
  new Intl.ListFormat('en-GB').format(
    deviceKinds.filter((kind) => computesIn(kind, precision)).map((kind) => deviceTitles[kind]),
  )

/** Says in a sentence that a device has no base of this precision; null where it has. */
export const baseProblem = (kind: DeviceKind, precision: BasePrecision): string | null =>
  computesIn(kind, precision)
    ? null
    : `${deviceTitles[kind]} does not multiply in ${precision}: a base in it needs ${devicesFor(precision)}.`

/** Results of a device check: the self-test, and its speed. */
export interface DeviceCheck {
  /** Time of the self-test in epoch milliseconds. */
  readonly at: number
  /** Runtime used, such as “ONNX Runtime 1.30.0”. */
  readonly with: string
  /** Number of checks in the self-test; 0: it did not finish. */
  readonly checks: number
  readonly failures: readonly {
    readonly name: string
    readonly measured: number | null
    readonly limit: number
  }[]
  /** Reason why the check ended early, in a sentence: the process died, or took too long; null if it did not. */
  readonly problem: string | null
  /** Smallest model first; empty if nothing was measured. */
  readonly speeds: readonly DeviceSpeed[]
  /** Memory of the GPU; null if the system does not tell. */
  readonly memoryBytes: number | null
}

/** Speed of a device relative to the CPU on one size of model. */
export interface DeviceSpeed {
  /** Size of the model measured. */
  readonly parameters: number
  /** Speedup over the CPU; null: the measurement was cancelled, since it took far longer. */
  readonly ratio: number | null
}

/** Availability of a kind of device; if unavailable, what is missing and what to do about it. */
export type DeviceReport =
  | { readonly kind: DeviceKind; readonly available: true }
  | {
      readonly kind: DeviceKind
      readonly available: false
      readonly reason: string
      readonly hint: string
      /** Command for users of the command line. */
      readonly command: string
    }

/**
 * Environment variable with the folder of an installed CUDA library, for processes that load ONNX Runtime: they load
 * the runtime itself from there too, since it looks for the library beside itself.
 */
export const cudaFolderVariable = 'TURNWISE_CUDA_FOLDER'

/** Oldest NVIDIA driver for Linux that supports CUDA 13. */
export const oldestCudaDriver = '580.65.06'

export const defaultPackageIndex = 'https://pypi.org/simple'
