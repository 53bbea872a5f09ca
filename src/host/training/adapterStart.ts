/**
 * Loads the adapters a run starts with: the policy's (fresh, a given one, or a given one under the run's own LoRA
 * config), the critic's, and the reference's, if different.
 */
import { isDeepStrictEqual } from 'node:util'
import { conflict } from '#shared/config/problems.ts'
import { ConfigError } from '#shared/errors.ts'
import { adapterSection } from '#shared/config/sections.ts'
import type { RunConfig } from '#shared/runConfig.ts'
import { adaptableLinears, type LinearName, type LoraConfig } from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import { AdapterParameters } from '#engine/runtime/adapterParameters.ts'
import { loraKeys, requireSame } from '#host/adapters/continuedAdapter.ts'
import { fitsIn, underConfig, unionOf } from '#host/adapters/peftPatterns.ts'
import { hubIdOf } from '#host/models/modelLibrary.ts'
import type { ModelFolder } from '#host/models/modelFolder.ts'
import { mergeLora, padAdapter } from '#host/adapters/peftMerge.ts'
import { openAdapter } from '#host/models/openModel.ts'
import { adapterForModel } from '#host/adapters/peft.ts'
import { type CriticState, readCritic } from '#host/models/checkpoints.ts'

export interface AdapterStart {
  readonly lora: LoraConfig
  /** Hub id of the base model, if known. */
  readonly baseModel: string | null
  /** Tensors; null: fresh. */
  readonly tensors: readonly NamedTensor[] | null
  /** Critic under the same LoRA config; null: fresh. */
  readonly critic: CriticState | null
  /** Notes for people, one sentence each. */
  readonly warnings: readonly string[]
}

/**
 * Loads the first adapter. `hasCritic`: true if the run learns with a critic. Errors: AppError 'adapter/invalid',
 * 'config/invalid' where it is not what the settings ask for, 'file/unreadable'.
 */
export function firstAdapter(
  { adapter, seed }: RunConfig,
  folder: ModelFolder,
  hasCritic: boolean,
): AdapterStart {
  const { rank, alpha, rsLora, targets, initial, mergeConfigs } = adapter
  const own: LoraConfig = { rank, alpha, rsLora, targets: targetNames(targets, folder) }
  if (initial === null)
    return { lora: own, baseModel: hubIdOf(folder.directory), tensors: null, critic: null, warnings: [] }
  const { config, baseModel, tensors, warnings: read = [] } = openAdapter(initial, folder)
  const critic = hasCritic && adapter.initialCritic ? firstCritic(initial, config, folder) : null
  const start = { lora: config, baseModel, tensors, critic, warnings: read }
  if (!mergeConfigs) {
    // Configs of earlier versions hold the defaults beside what the adapter has.
    requireSame(changed(adapter), own, config)
    return start
  }
  const { lora, warnings } = mergeLora(own, config)
  return { ...grown(start, lora, { folder, seed }), warnings: [...read, ...warnings] }
}

/** null where the folder has none. Errors: AppError 'config/invalid' for one of another shape. */
function firstCritic(initial: string, actor: LoraConfig, folder: ModelFolder): CriticState | null {
  const found = readCritic(initial)
  if (found === null) return null
  const { adapter, valueHead } = found
  const { config, tensors } = adapterForModel(adapter, folder.config, initial)
  const { hiddenSize } = folder.config
  if (!isDeepStrictEqual(config, actor))
    throw otherCritic(`it has ${shapeWords(config)}; the actor beside it has ${shapeWords(actor)}.`)
  if (valueHead !== null && valueHead.weight.length !== hiddenSize)
    throw otherCritic(
      `its value head reads ${valueHead.weight.length} numbers; the model's hidden size is ${hiddenSize}.`,
    )
  return { adapter: tensors, valueHead }
}

const otherCritic = (problem: string): ConfigError =>
  new ConfigError(
    [conflict('adapter.initialCritic', `the critic of \`adapter.initial\` does not fit: ${problem}`)],
    'Set adapter.initialCritic to false to start with a fresh critic.',
  )

/** Returns the start with matrices of a larger LoRA config, which compute the same. */
const grown = (start: AdapterStart, lora: LoraConfig, from: FreshFrom): AdapterStart => ({
  ...start,
  lora,
  tensors: start.tensors && padded(lora, from, start.tensors),
  critic: start.critic && { ...start.critic, adapter: padded(lora, from, start.critic.adapter) },
})

interface FreshFrom {
  readonly folder: ModelFolder
  readonly seed: number
}

/**
 * Puts tensors into the corner of fresh ones: a fresh B is zero, so the product stays what it was, and what was added
 * can learn.
 */
const padded = (
  lora: LoraConfig,
  { folder, seed }: FreshFrom,
  tensors: readonly NamedTensor[],
): NamedTensor[] => padAdapter(new AdapterParameters(folder.config, lora).initialize(seed).tensors(), tensors)

const defaults = adapterSection.parse({})

/** Settings that say something other than their default. */
const changed = (settings: RunConfig['adapter']) =>
  loraKeys.filter((key) => JSON.stringify(settings[key]) !== JSON.stringify(defaults[key]))

export interface StartWithReference {
  readonly start: AdapterStart
  /** Reference under the same LoRA config; null: the policy's own start. */
  readonly reference: readonly NamedTensor[] | null
}

/**
 * Adds the reference of `reference.adapter`, which may have a smaller rank, fewer targets and another scale than the
 * policy's adapter. Errors: as `firstAdapter`; 'config/invalid' where it does not fit and `adapter.mergeConfigs` is off.
 */
export function withReference(
  start: AdapterStart,
  config: RunConfig,
  folder: ModelFolder,
): StartWithReference {
  const { adapter: place } = config.reference
  if (place === null) return { start, reference: null }
  const given = openAdapter(place, folder)
  const isFitting = fitsIn(given.config, start.lora, folder.config)
  if (!isFitting && !config.adapter.mergeConfigs) throw doesNotFit(given.config, start.lora)
  const lora = isFitting ? start.lora : unionOf([start.lora, given.config])
  const warnings = [...start.warnings, grownWords(lora)]
  const from = { folder, seed: config.seed }
  return {
    start: isFitting ? start : { ...grown(start, lora, from), warnings },
    reference: underConfig(given, lora, folder.config),
  }
}

const sizeWords = ({ rank, targets }: LoraConfig): string => `rank ${rank} on ${targets.join(', ')}`

const shapeWords = (lora: LoraConfig): string =>
  `${sizeWords(lora)} with alpha ${lora.alpha}${lora.rsLora ? ', rank-stabilised' : ''}`

const doesNotFit = (reference: LoraConfig, policy: LoraConfig): ConfigError =>
  new ConfigError(
    [
      conflict(
        'reference.adapter',
        `it has ${sizeWords(reference)}; the policy's adapter has only ${sizeWords(policy)}.`,
      ),
    ],
    `Give the policy's adapter at least that rank and those targets, or set adapter.mergeConfigs to true to let it grow.`,
  )

const grownWords = (lora: LoraConfig): string =>
  `To make room for the reference, the policy's adapter has ${sizeWords(lora)}, with alpha ${Number(lora.alpha.toPrecision(6))}: its scale is unchanged.`

/** Name of a linear in the run config, whatever its family calls it. */
const targetOf: Readonly<Record<LinearName, Exclude<RunConfig['adapter']['targets'], string>[number]>> = {
  q_proj: 'q',
  k_proj: 'k',
  v_proj: 'v',
  qkv_proj: 'qkv',
  c_attn: 'qkv',
  o_proj: 'o',
  'attn.c_proj': 'o',
  'self_attn.out_proj': 'o',
  in_proj_qkv: 'qkv',
  in_proj_z: 'gate',
  in_proj_b: 'in',
  in_proj_a: 'in',
  'linear_attn.out_proj': 'out',
  in_proj: 'in',
  'conv.out_proj': 'out',
  gate_proj: 'gate',
  up_proj: 'up',
  gate_up_proj: 'gate_up',
  c_fc: 'up',
  down_proj: 'down',
  'mlp.c_proj': 'down',
  'mamba.in_proj': 'in',
  'mamba.out_proj': 'out',
  'shared_mlp.input_linear': 'gate_up',
  'shared_mlp.output_linear': 'down',
  'shared_expert.gate_proj': 'gate',
  'shared_expert.up_proj': 'up',
  'shared_expert.down_proj': 'down',
  w1: 'gate',
  w3: 'up',
  w2: 'down',
  per_layer_input_gate: 'in',
  per_layer_projection: 'out',
}

/** The config's short names in the model's order. Errors: AppError 'config/invalid' for one that the model does not have. */
function targetNames(
  targets: RunConfig['adapter']['targets'],
  { config }: ModelFolder,
): readonly LinearName[] {
  const linears = adaptableLinears(config)
  if (targets === 'all-linear') return linears
  const known = linears.map((name) => targetOf[name])
  const missing = targets.filter((target) => !known.includes(target))
  if (missing.length === 0) return linears.filter((name) => targets.includes(targetOf[name]))
  const words = `asks for ${missing.join(', ')}, but a ${config.architecture} model has ${known.join(', ')}.`
  throw new ConfigError([conflict('adapter.targets', words)], 'Choose from those, or “all-linear”.')
}
