import type { LoraConfig, ModelConfig } from '#engine/models/config.ts'
import { ggufProblem } from '#host/adapters/ggufLora.ts'
import type { ExportDtype, ExportFormat, ExportOptions } from './exports.ts'

/** Types that a format's tensors can have besides its usual one. */
const dtypes: Readonly<Record<ExportFormat, readonly ExportDtype[]>> = {
  peft: ['f32'],
  merged: ['f32'],
  gguf: ['f32', 'f16', 'bf16'],
  onnx: ['f32'],
}

/** Why a model's adapter cannot be had in a format, as a sentence; null where it can. */
export const formatProblem = (format: ExportFormat, model: ModelConfig): string | null =>
  format === 'gguf' ? ggufProblem(model) : null

/** Why these options do not go with the format; null where they do. */
export function optionProblem({ format, dtype, adapterInputs }: ExportOptions): string | null {
  if (adapterInputs && format !== 'onnx') return 'Only an ONNX export can keep the adapter as inputs.'
  if (dtype === null || dtypes[format].includes(dtype)) return null
  return `The format ${format} is written as ${dtypes[format].join(', ')}${format === 'merged' ? " or in the base's own type" : ''}, not as ${dtype}.`
}

/** `rank 16, alpha 32, on q_proj, v_proj` */
export const describeLora = ({ rank, alpha, rsLora, targets }: LoraConfig): string =>
  `rank ${rank}, alpha ${alpha}${rsLora ? ', rsLoRA' : ''}, on ${targets.join(', ')}`
