/** LoRA adapters as mlx-lm writes them: x·A·B times a scale, A stored as [in, R] and B as [R, out]. */
import { AppError } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import type { TensorLocation } from '#engine/models/source.ts'
import { isJsonObject, type JsonObject } from '#host/files/strictJson.ts'
import { maxAlpha, maxRank, readBaseModel, type PeftConfig } from './peftConfig.ts'

/** Reads the adapter_config.json of mlx-lm as PEFT would say it. Errors: AppError 'adapter/invalid' naming the file. */
export function readMlxConfig(json: JsonObject, path: string): PeftConfig {
  const invalid = (problem: string) => new AppError('adapter/invalid', `${path} ${problem}.`)
  const { fine_tune_type: type = 'lora', lora_parameters: parameters, model } = json
  if (type !== 'lora') {
    const named = typeof type === 'string' ? `“${shorten(type)}”` : 'no name'
    throw invalid(`is of MLX, for weights of the kind ${named}; only “lora” is supported`)
  }
  const { rank, scale } = isJsonObject(parameters) ? parameters : {}
  if (!isIn(rank, 1, maxRank) || !Number.isInteger(rank)) {
    throw invalid(`must give the rank in “lora_parameters” as a whole number from 1 to ${maxRank}`)
  }
  if (!isIn(scale, Number.MIN_VALUE, maxAlpha / rank)) {
    throw invalid('must give the scale in “lora_parameters” as a positive number')
  }
  return {
    rank,
    alpha: scale * rank,
    rsLora: false,
    targets: null,
    isPartial: true,
    layers: null,
    excluded: [],
    patterns: { ranksDiffer: false, alphas: [] },
    baseModel: readBaseModel({ base_model_name_or_path: model }),
    warnings: [],
  }
}

const isIn = (value: unknown, least: number, most: number): value is number =>
  typeof value === 'number' && value >= least && value <= most

/** Returns PEFT's name of a tensor; a name unknown to all is returned as it is. */
export const peftNameOf = (name: string): string =>
  /\.lora_[ab]$/.test(name)
    ? `base_model.model.${name.slice(0, -1)}${name.slice(-1).toUpperCase()}.weight`
    : name

/** The place of a matrix as PEFT has it, its axes swapped. */
export const swapped = (location: TensorLocation): TensorLocation => ({
  ...location,
  shape: location.shape.toReversed(),
  arrangement: { kind: 'transposed' },
})
