/** Where the tensors of a run are computed. Part of the run config, so it says only what a person chooses. */
export const deviceKinds = ['cpu', 'cuda', 'dml', 'webgpu', 'coreml'] as const

export type DeviceKind = (typeof deviceKinds)[number]

export interface Device {
  readonly kind: DeviceKind
  /** CPU threads of one session, from 1 up. Also used by the parts a GPU leaves to the CPU. */
  readonly threads: number
  /** Which GPU of that kind, from 0 up; the CPU has only 0. */
  readonly deviceId: number
}

export const deviceTitles: Readonly<Record<DeviceKind, string>> = {
  cpu: 'CPU',
  cuda: 'CUDA',
  dml: 'DirectML',
  webgpu: 'WebGPU',
  coreml: 'Core ML',
}

/** Whether tensors can stay on the device between runs: the binding knows buffers of WebGPU only (onnxruntime-node 1.30). */
export const holdsTensors = ({ kind }: Pick<Device, 'kind'>): boolean => kind === 'webgpu'

/** Whether a kind of device can be used here; what is missing and what to do about it where it cannot. */
export type DeviceReport =
  | { readonly kind: DeviceKind; readonly available: true }
  | { readonly kind: DeviceKind; readonly available: false; readonly reason: string; readonly hint: string }

/**
 * Holds the folder of CUDA's library where one is installed, in the environment of processes that load ONNX Runtime: they
 * load the runtime itself from there too, since it looks for the library beside itself.
 */
export const cudaFolderVariable = 'TURNWISE_CUDA_FOLDER'

/** Of NVIDIA's drivers for Linux the oldest that CUDA 13 runs on. */
export const oldestCudaDriver = '580.65.06'
