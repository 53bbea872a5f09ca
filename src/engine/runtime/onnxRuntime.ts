/**
 * Loads ONNX Runtime, which happens here alone: quietly, whatever started the process, and from the folder of the CUDA
 * library where one is installed.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type * as OnnxRuntime from 'onnxruntime-node'
import { cudaFolderVariable } from '#shared/device.ts'
import { settleEnvironment } from './nativeEnvironment.ts'

// An import would be carried out before this line, in a bundle even from another module.
settleEnvironment()
// Not called “require”: a bundle declares one of its own.
const load = createRequire(import.meta.url)

/** Folder of the CUDA library, a copy of the runtime with it; null where none is installed. */
export const cudaFolder = loadBinding(process.env[cudaFolderVariable] ?? '')

const runtime = load('onnxruntime-node') as typeof OnnxRuntime

export const { InferenceSession, Tensor, listSupportedBackends } = runtime
export type InferenceSession = OnnxRuntime.InferenceSession
export type Tensor = OnnxRuntime.Tensor

/** The package then takes the binding of that folder for its own. */
function loadBinding(folder: string): string | null {
  const binding = join(folder, 'onnxruntime_binding.node')
  if (folder === '' || !existsSync(binding)) return null
  const place = `../bin/napi-v6/${process.platform}/${process.arch}/onnxruntime_binding.node`
  const own = createRequire(load.resolve('onnxruntime-node')).resolve(place)
  load(binding)
  load.cache[own] = load.cache[binding]
  return folder
}
