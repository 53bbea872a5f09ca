/** The one place that loads ONNX Runtime: quietly, whoever started the process. */
import { createRequire } from 'node:module'
import type * as OnnxRuntime from 'onnxruntime-node'
import { telemetryOff } from '#shared/telemetry.ts'

// An import would be carried out before this line, in a bundle even from another module.
Object.assign(process.env, telemetryOff)
const runtime = createRequire(import.meta.url)('onnxruntime-node') as typeof OnnxRuntime

export const { InferenceSession, Tensor, listSupportedBackends } = runtime
export type InferenceSession = OnnxRuntime.InferenceSession
export type Tensor = OnnxRuntime.Tensor
