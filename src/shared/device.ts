import { tf32Override } from './runtimeEnvironment.ts'
import { isHalfPrecision, type BasePrecision } from './precision.ts'

/** Where the tensors of a run are computed. Part of the run config, so it says only what a person chooses. */
export const deviceKinds = ['cpu', 'cuda', 'dml', 'webgpu', 'coreml'] as const

export type DeviceKind = (typeof deviceKinds)[number]

/** What can be asked for; `auto`: whichever is fastest here of those that passed their check. */
export const deviceOptions = ['auto', ...deviceKinds] as const

export type DeviceOption = (typeof deviceOptions)[number]

export interface Device {
  readonly kind: DeviceKind
  /** CPU threads of one session, from 1 up. Also used by the parts a GPU leaves to the CPU. */
  readonly threads: number
  /** Which GPU of that kind, from 0 up; the CPU has only 0. */
  readonly deviceId: number
  /** Products in f32 read their factors in TF32, with 11 significant bits of 24: on CUDA alone, and all of a process or none. */
  readonly tf32?: boolean
}

export const deviceTitles: Readonly<Record<DeviceKind, string>> = {
  cpu: 'CPU',
  cuda: 'CUDA',
  dml: 'DirectML',
  webgpu: 'WebGPU',
  coreml: 'Core ML',
}

/** Of every kind but the CPU: WebGPU was seen to work on a software GPU alone. */
export const neverRun = 'experimental: never run on a card by us'

/** The kinds as they are offered. */
export const offeredDevices = Object.fromEntries(
  deviceKinds.map((kind) => [kind, `${deviceTitles[kind]}${kind === 'cpu' ? '' : ` (${neverRun})`}`]),
) as Readonly<Record<DeviceKind, string>>

/** Sentences that everybody should know of a kind of device, whatever its check found. */
export const deviceRemarks = (kind: DeviceKind): string[] => [
  ...(kind === 'cpu' ? [] : [`E${neverRun.slice(1)}.`]),
  ...(kind === 'cuda'
    ? [
        `Products in f32 are computed in f32 (${tf32Override}=0), in TF32 if a run sets base.precision to tf32.`,
      ]
    : []),
]

/** Whether tensors can stay on the device between runs: the binding knows buffers of WebGPU only (onnxruntime-node 1.30). */
export const holdsTensors = ({ kind }: Pick<Device, 'kind'>): boolean => kind === 'webgpu'

/** Base precisions of each kind of device beside f32 and blocks. WebGPU widens f16, and has no bf16. */
const shortProducts: Readonly<Partial<Record<DeviceKind, readonly BasePrecision[]>>> = {
  cuda: ['tf32', 'bf16', 'f16'],
  dml: ['f16'],
  webgpu: ['f16'],
}

/** Tells whether a device computes with a base of this precision. */
export const computesIn = (kind: DeviceKind, precision: BasePrecision): boolean =>
  !(isHalfPrecision(precision) || precision === 'tf32') || (shortProducts[kind]?.includes(precision) ?? false)

/** The devices that compute with a base of this precision, for a sentence. */
export const devicesFor = (precision: BasePrecision): string =>
  new Intl.ListFormat('en-GB').format(
    deviceKinds.filter((kind) => computesIn(kind, precision)).map((kind) => deviceTitles[kind]),
  )

/** What a check of a device found: the self-test, and how fast it is. */
export interface DeviceCheck {
  /** Epoch milliseconds of the self-test. */
  readonly at: number
  /** What it was run with, such as “ONNX Runtime 1.30.0”. */
  readonly with: string
  /** Of the self-test; 0: it did not come to its end. */
  readonly checks: number
  readonly failures: readonly {
    readonly name: string
    readonly measured: number | null
    readonly limit: number
  }[]
  /** Why the check ended early, in a sentence: the process died, or took too long; null where it did not. */
  readonly problem: string | null
  /** Smallest model first; none where nothing was measured. */
  readonly speeds: readonly DeviceSpeed[]
  /** Of the card; null where the system does not tell. */
  readonly memoryBytes: number | null
}

/** How a device compares with the CPU on one size of model. */
export interface DeviceSpeed {
  /** Of the model that it was measured with. */
  readonly parameters: number
  /** How many times as fast as the CPU; null: it was given up, since it took far longer. */
  readonly ratio: number | null
}

/** Whether a kind of device can be used here; what is missing and what to do about it where it cannot. */
export type DeviceReport =
  | { readonly kind: DeviceKind; readonly available: true }
  | {
      readonly kind: DeviceKind
      readonly available: false
      readonly reason: string
      readonly hint: string
      /** For who works at the command line. */
      readonly command: string
    }

/**
 * Holds the folder of the CUDA library where one is installed, in the environment of processes that load ONNX Runtime: they
 * load the runtime itself from there too, since it looks for the library beside itself.
 */
export const cudaFolderVariable = 'TURNWISE_CUDA_FOLDER'

/** Of NVIDIA's drivers for Linux the oldest that CUDA 13 runs on. */
export const oldestCudaDriver = '580.65.06'

/** Where the CUDA library comes from unless a person says otherwise. */
export const defaultPackageIndex = 'https://pypi.org/simple'
