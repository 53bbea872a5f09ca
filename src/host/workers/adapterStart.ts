/** The adapter a run begins with: fresh, a given one, or a given one under the run's own LoRA config. */
import type { RunConfig } from '#shared/runConfig.ts'
import { linearNames, type LinearName, type LoraConfig } from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { AdapterParameters } from '#engine/runtime/adapterParameters.ts'
import type { ModelFolder } from '../artifacts/modelFolder.ts'
import { mergeLora, padAdapter } from '../artifacts/peftMerge.ts'
import { openAdapter } from './model.ts'

export interface AdapterStart {
  readonly lora: LoraConfig
  /** Hub id of the base model, if known. */
  readonly baseModel: string | null
  /** null: fresh. */
  readonly tensors: readonly NamedTensor[] | null
  /** What a person should know about it, in sentences. */
  readonly warnings: readonly string[]
}

/** Errors: AppError 'adapter/invalid', 'file/unreadable'. */
export function firstAdapter({ adapter, seed }: RunConfig, folder: ModelFolder): AdapterStart {
  const { rank, alpha, rsLora, targets, initial, mergeConfigs } = adapter
  const own: LoraConfig = { rank, alpha, rsLora, targets: targetNames(targets) }
  if (initial === null) return { lora: own, baseModel: null, tensors: null, warnings: [] }
  const { config, baseModel, tensors } = openAdapter(initial, folder)
  if (!mergeConfigs) return { lora: config, baseModel, tensors, warnings: [] }
  const { lora, warnings } = mergeLora(own, config)
  const fresh = new AdapterParameters(folder.config, lora).initialize(seed).tensors()
  return { lora, baseModel, tensors: padAdapter(fresh, tensors), warnings }
}

/** The config's short names in the model's order. */
function targetNames(targets: RunConfig['adapter']['targets']): readonly LinearName[] {
  if (targets === 'all-linear') return linearNames
  return linearNames.filter((name) => targets.some((target) => name === `${target}_proj`))
}
