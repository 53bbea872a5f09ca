/** Plans the memory of a card for `device plan`, for known model sizes by name and for models on disk. */
import { statSync } from 'node:fs'
import path from 'node:path'
import { AppError, usageError } from '#shared/errors.ts'
import { readSmallText } from '#host/files/strictJson.ts'
import { baseProblem, type DeviceKind } from '#shared/device.ts'
import type { BasePrecision } from '#shared/precision.ts'
import { planDevice, plannedLora, type DevicePlan } from '#engine/models/deviceMemory.ts'
import { busTraffic, type BusTraffic } from '#engine/models/busTraffic.ts'
import type { ModelConfig } from '#engine/models/config.ts'
import { programProblem } from '#engine/models/programSupport.ts'
import { readModelConfig } from '#engine/models/registry.ts'

/** Layers, width, heads, key heads, width of the MLP, vocabulary, whether the head is the embedding. */
type Sizes = readonly [number, number, number, number, number, number, boolean]

const qwen2 = ([layers, width, heads, kvHeads, intermediate, vocabulary, tied]: Sizes): object => ({
  architectures: ['Qwen2ForCausalLM'],
  model_type: 'qwen2',
  hidden_act: 'silu',
  num_hidden_layers: layers,
  hidden_size: width,
  intermediate_size: intermediate,
  num_attention_heads: heads,
  num_key_value_heads: kvHeads,
  vocab_size: vocabulary,
  max_position_embeddings: 32_768,
  rope_theta: 1e6,
  rms_norm_eps: 1e-6,
  tie_word_embeddings: tied,
})

/** The configs of models that are often trained. */
const shapes: Readonly<Record<string, object>> = {
  'qwen2.5-0.5b': qwen2([24, 896, 14, 2, 4_864, 151_936, true]),
  'qwen2.5-1.5b': qwen2([28, 1_536, 12, 2, 8_960, 151_936, true]),
  'qwen2.5-3b': qwen2([36, 2_048, 16, 2, 11_008, 151_936, true]),
  'qwen2.5-7b': qwen2([28, 3_584, 28, 4, 18_944, 152_064, false]),
}

export const plannedShapes: readonly string[] = Object.keys(shapes)

/**
 * Reads the model config of a name in `plannedShapes`, a model folder or a config.json. Errors: AppError 'usage/invalid',
 * 'model/…', 'config/invalid' where its positions do not reach `length`.
 */
export function plannedConfig(subject: string, length: number | null = null): ModelConfig {
  const known = shapes[subject.toLowerCase()]
  const file = known === undefined ? fileOf(subject) : subject
  try {
    const fields: unknown = known ?? JSON.parse(readSmallText(file))
    readModelConfig(fields, file, length) // as of a run with this context length
    return readModelConfig(fields, file)
  } catch (error) {
    if (error instanceof AppError && error.code !== 'file/unreadable') throw error
    const hint = `Give ${plannedShapes.join(', ')}, a model folder or a config.json.`
    throw usageError(`${subject} is no known shape and no model config.`, hint, error)
  }
}

const fileOf = (subject: string): string =>
  statSync(subject, { throwIfNoEntry: false })?.isDirectory() === true
    ? path.join(subject, 'config.json')
    : subject

export interface CardRequest {
  readonly config: ModelConfig
  readonly base: BasePrecision
  readonly kind: DeviceKind
  /** Memory in units of 2³⁰ bytes. */
  readonly gigabytes: number
  /** Longest sequence, which is planned for as long as it is. */
  readonly length: number
}

export interface CardPlan extends DevicePlan {
  /** Traffic over the bus while a run learns. */
  readonly traffic: BusTraffic
}

/**
 * Plans for an adapter of rank 16 on all linears. Errors: AppError 'device/unavailable' where the device has no such
 * base, as of a run.
 */
export function planCard({ gigabytes, ...request }: CardRequest): CardPlan {
  const problem = baseProblem(request.kind, request.base)
  if (problem !== null)
    throw new AppError('device/unavailable', problem, 'Choose another base or another device.')
  const unknown = programProblem(request.config, request.kind)
  if (unknown !== null) throw new AppError('device/unavailable', unknown, 'They train on the CPU.')
  const wanted = { ...request, lora: plannedLora }
  const plan = planDevice({ ...wanted, memoryBytes: gigabytes * 2 ** 30 })
  return { ...plan, traffic: busTraffic(wanted, plan) }
}
