/** Reads `adapter_config.json` as PEFT writes it and vLLM and llama.cpp read it, limited to what Turnwise supports. */
import { AppError } from '#shared/errors.ts'
import { shorten } from '#shared/plural.ts'
import { type LinearName, linearNames, linearPath, type LoraConfig } from '#engine/models/config.ts'
import type { JsonObject } from '#host/files/strictJson.ts'
import { readPatterns, type Invalid, type ModulePatterns } from './peftPatterns.ts'

export interface PeftConfig {
  readonly rank: number
  readonly alpha: number
  readonly rsLora: boolean
  /** null: a pattern or a list of paths, so only the tensors tell. */
  readonly targets: readonly LinearName[] | null
  /** True if layers, or modules of some layers, may be left out: only the tensors tell which. */
  readonly isPartial: boolean
  /** Modules that are not adapted, by their names or the ends of their paths; a pattern is not run. */
  readonly excluded: readonly string[]
  /** The only layers that may be adapted; null: any. */
  readonly layers: readonly unknown[] | null
  /** Ranks and alphas of single modules. */
  readonly patterns: ModulePatterns
  /** Hub id of the model the adapter was trained on. */
  readonly baseModel: string | null
  /** Sentences on unknown settings that may change the result. */
  readonly warnings: readonly string[]
}

export const maxRank = 4_096
export const maxAlpha = 1e6

/** GPT-2's, stored as [in, out]. */
const conv1dLinears: readonly LinearName[] = ['c_attn', 'attn.c_proj', 'c_fc', 'mlp.c_proj']

/** A Hub id, such as `Qwen/Qwen2.5-0.5B`; never a path of someone's machine. */
export const isHubId = (text: string): boolean =>
  /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)?$/.test(text) && text.length <= 200

/** The document's text: sorted keys, indented by two. */
export function formatPeftConfig(
  { rank, alpha, rsLora, targets, dropout = 0 }: LoraConfig,
  baseModel: string | null,
): string {
  const document = {
    alpha_pattern: {},
    base_model_name_or_path: baseModel !== null && isHubId(baseModel) ? baseModel : null,
    bias: 'none',
    // PEFT's word for weights stored as [in, out].
    fan_in_fan_out: targets.some((name) => conv1dLinears.includes(name)),
    inference_mode: true,
    init_lora_weights: true,
    lora_alpha: alpha,
    lora_dropout: dropout,
    modules_to_save: null,
    peft_type: 'LORA',
    r: rank,
    rank_pattern: {},
    revision: null,
    target_modules: targets.toSorted(),
    task_type: 'CAUSAL_LM',
    use_dora: false,
    use_rslora: rsLora,
  }
  // A dropout is a float for every reader; JSON.stringify would write it as a whole number.
  return `${JSON.stringify(document, null, 2).replace('"lora_dropout": 0,', '"lora_dropout": 0.0,')}\n`
}

/** Keys that change what an adapter computes in ways that are not implemented, and what they mean. */
const unsupportedKeys: ReadonlyMap<string, string> = new Map([
  ['use_dora', 'DoRA magnitudes'],
  ['modules_to_save', 'full copies of modules (modules_to_save)'],
  ['lora_bias', 'its own biases (lora_bias)'],
  ['layer_replication', 'repeated layers (layer_replication)'],
  ['trainable_token_indices', 'trained token embeddings (trainable_token_indices)'],
  ['target_parameters', 'adapted parameters (target_parameters)'],
  ['alora_invocation_tokens', 'activation by tokens (aLoRA)'],
  ['use_qalora', 'pooled inputs (QALoRA)'],
  ['use_bdlora', 'block-diagonal matrices (BD-LoRA)'],
  ['arrow_config', 'adapter routing (Arrow)'],
  ['kasa_config', 'singular values (KaSA)'],
  ['monteclora_config', 'random matrices (MonteCLoRA)'],
])

/** Keys of PEFT that do not change what the tensors compute, or that are read here. */
const knownKeys: ReadonlySet<string> = new Set([
  ...[
    'alpha_pattern',
    'auto_mapping',
    'base_model_name_or_path',
    'bias',
    'corda_config',
    'ensure_weight_tying',
  ],
  ...[
    'eva_config',
    'exclude_modules',
    'fan_in_fan_out',
    'inference_mode',
    'init_lora_weights',
    'layers_pattern',
  ],
  ...[
    'layers_to_transform',
    'loftq_config',
    'lora_alpha',
    'lora_dropout',
    'lora_ga_config',
    'megatron_config',
  ],
  ...['megatron_core', 'peft_type', 'peft_version', 'qalora_group_size', 'r', 'rank_pattern', 'revision'],
  ...['runtime_config', 'target_modules', 'task_type', 'use_rslora', 'velora_config'],
])

function unknownWarnings(json: JsonObject): string[] {
  const isOn = (key: string) => !knownKeys.has(key) && !unsupportedKeys.has(key) && isSet(json[key])
  return Object.keys(json)
    .filter(isOn)
    .map(
      (key) =>
        `adapter_config.json sets “${shorten(key)}”, which is not known here: if it changes what the adapter computes, its results differ from those of PEFT.`,
    )
}

const changesBase = /^(pissa|olora|corda|loftq|lora_ga)/

/** Reads and checks the document. Errors: AppError 'adapter/invalid' naming the file. */
export function readPeftConfig(json: JsonObject, path: string): PeftConfig {
  const invalid: Invalid = (problem, hint) => new AppError('adapter/invalid', `${path} ${problem}.`, hint)
  refuseUnsupported(json, invalid)
  const { use_rslora: rsLora = false } = json
  if (typeof rsLora !== 'boolean') throw invalid('must give “use_rslora” as true or false')
  return {
    rank: readRank(json, invalid),
    alpha: readAlpha(json, invalid),
    rsLora,
    targets: readTargets(json.target_modules, invalid),
    isPartial: leavesOut(json),
    excluded: [json.exclude_modules].flat().filter((item) => typeof item === 'string'),
    layers: isGiven(json.layers_to_transform) ? [json.layers_to_transform].flat() : null,
    patterns: readPatterns(json, invalid),
    baseModel: readBaseModel(json),
    warnings: unknownWarnings(json),
  }
}

/**
 * Returns true if a config leaves out modules. Patterns and paths may name modules of single layers; `all-linear` and
 * names alone mean those of all.
 */
function leavesOut({
  target_modules: value,
  layers_to_transform: layers,
  exclude_modules: excluded,
}: JsonObject): boolean {
  const isPath = (item: unknown) => typeof item === 'string' && item.split('.').length > 2
  const namesPlaces =
    typeof value === 'string' ? value !== 'all-linear' : Array.isArray(value) && value.some(isPath)
  return namesPlaces || isGiven(layers) || isSet(excluded)
}

/** Layer 0 is a layer. */
const isGiven = (value: unknown): boolean => typeof value === 'number' || isSet(value)

function readRank({ r: rank = 8 }: JsonObject, invalid: Invalid): number {
  if (typeof rank === 'number' && Number.isInteger(rank) && rank >= 1 && rank <= maxRank) return rank
  throw invalid(`must give the rank “r” as a whole number from 1 to ${maxRank}`)
}

function readAlpha({ lora_alpha: alpha = 8 }: JsonObject, invalid: Invalid): number {
  if (typeof alpha === 'number' && alpha > 0 && alpha <= maxAlpha) return alpha
  throw invalid('must give “lora_alpha” as a positive number')
}

function refuseUnsupported(json: JsonObject, invalid: Invalid): void {
  const { peft_type: type, bias, init_lora_weights: initialisation } = json
  if (type !== 'LORA') {
    const found =
      typeof type === 'string' ? `is for an adapter of type “${shorten(type)}”` : 'names no “peft_type”'
    throw invalid(`${found}; only “LORA” is supported`)
  }
  for (const [key, meaning] of unsupportedKeys) {
    if (isSet(json[key])) throw invalid(`asks for ${meaning}, which is not supported`)
  }
  if (isSet(bias) && bias !== 'none') throw invalid('asks for trained biases, which is not supported')
  if (typeof initialisation === 'string' && changesBase.test(initialisation)) {
    throw invalid(
      `was made with the initialisation “${shorten(initialisation)}”, which also changed the base model`,
      'Convert it to a plain LoRA adapter with the tool that made it.',
    )
  }
}

/** Returns true if a value is on in PEFT's sense: not absent, null, false, or an empty list or object. */
function isSet(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return value !== undefined && value !== null && value !== false
}

function readTargets(value: unknown, invalid: Invalid): readonly LinearName[] | null {
  // A pattern is never run: it may be built to take for ever, and the tensors name every module anyway.
  if (typeof value === 'string') return null
  if (!Array.isArray(value) || value.length === 0 || !value.every((item) => typeof item === 'string')) {
    throw invalid('must list its “target_modules”')
  }
  const unknown = value.find((item) => !linearNames.some((name) => isPartOf(linearPath(name), item)))
  if (unknown !== undefined) {
    throw invalid(`adapts “${shorten(unknown)}”; only ${linearNames.join(', ')} can be adapted`)
  }
  // A path of one layer says nothing of the others.
  if (value.some((item) => item.split('.').length > 2)) return null
  return linearNames.filter((name) => value.some((item) => endsWith(linearPath(name), item)))
}

const endsWith = (path: string, end: string): boolean => path === end || path.endsWith(`.${end}`)

/** One of the two is the end of the other. */
const isPartOf = (a: string, b: string): boolean => endsWith(a, b) || endsWith(b, a)

export function readBaseModel({ base_model_name_or_path: name }: JsonObject): string | null {
  return typeof name === 'string' && isHubId(name) ? name : null
}

/** The targets of an adapter that has matrices of `found`: one word means modules of several families, of which a model has one. */
export function meantTargets(
  { targets }: Pick<PeftConfig, 'targets'>,
  found: readonly LinearName[],
): readonly LinearName[] {
  const moduleName = (name: LinearName) => linearPath(name).split('.').at(-1)
  const isMeant = (name: LinearName) =>
    found.includes(name) || !found.some((other) => moduleName(other) === moduleName(name))
  return targets?.filter(isMeant) ?? found
}
