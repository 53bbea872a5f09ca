/** The adapter a run begins with: fresh, a given one, or a given one under the run's own LoRA config. */
import { AppError } from '#shared/errors.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { type LinearName, type LoraConfig } from '#engine/models/config.ts'
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
  const own: LoraConfig = { rank, alpha, rsLora, targets: targetNames(targets, folder) }
  if (initial === null) return { lora: own, baseModel: null, tensors: null, warnings: [] }
  const { config, baseModel, tensors } = openAdapter(initial, folder)
  if (!mergeConfigs) return { lora: config, baseModel, tensors, warnings: [] }
  const { lora, warnings } = mergeLora(own, config)
  const fresh = new AdapterParameters(folder.config, lora).initialize(seed).tensors()
  return { lora, baseModel, tensors: padAdapter(fresh, tensors), warnings }
}

type TargetName = Exclude<RunConfig['adapter']['targets'], string>[number]

/** What the run config calls a linear, whatever its family calls it. */
const targetOf: Readonly<Record<LinearName, TargetName>> = {
  q_proj: 'q',
  k_proj: 'k',
  v_proj: 'v',
  qkv_proj: 'qkv',
  c_attn: 'qkv',
  o_proj: 'o',
  'attn.c_proj': 'o',
  gate_proj: 'gate',
  up_proj: 'up',
  gate_up_proj: 'gate_up',
  c_fc: 'up',
  down_proj: 'down',
  'mlp.c_proj': 'down',
}

/** The config's short names in the model's order. Errors: AppError 'config/invalid' for one that the model does not have. */
function targetNames(
  targets: RunConfig['adapter']['targets'],
  { config: { linears, architecture } }: ModelFolder,
): readonly LinearName[] {
  if (targets === 'all-linear') return linears
  const known = linears.map((name) => targetOf[name])
  const missing = targets.filter((target) => !known.includes(target))
  if (missing.length === 0) return linears.filter((name) => targets.includes(targetOf[name]))
  throw new AppError(
    'config/invalid',
    `adapter.targets asks for ${missing.join(', ')}, but a ${architecture} model has ${known.join(', ')}.`,
    'Choose from those, or "all-linear".',
  )
}
