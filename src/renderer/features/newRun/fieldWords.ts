/**
 * What settings are called, everywhere in the window; the key stands behind the label, in its tooltip. Names come from
 * the keys of the config file; where those would not read well, from here.
 */
import { deviceTitles } from '#shared/device.ts'

const labels: Readonly<Record<string, string>> = {
  'base.precision': 'Base precision',
  'adapter.rank': 'LoRA rank',
  'adapter.alpha': 'LoRA alpha',
  'adapter.rsLora': 'Rank-stabilised LoRA',
  'adapter.targets': 'Target modules',
  'adapter.dropout': 'LoRA dropout',
  'adapter.initial': 'Start from adapter',
  'adapter.mergeConfigs': 'Keep these settings with a start adapter',
  'reference.policy': 'Reference policy',
  'reference.adapter': 'Reference from adapter',
  'rollout.promptsPerStep': 'Prompts per step',
  'rollout.precision': 'Rollout precision',
  'rollout.maxNewTokens': 'Max new tokens',
  'rollout.minNewTokens': 'Min new tokens',
  'rollout.topK': 'Top-k',
  'rollout.topP': 'Top-p',
  'rollout.minP': 'Min-p',
  'rollout.server': 'Rollout server',
  'rollout.server.kind': 'Kind of server',
  'rollout.server.url': 'Address',
  'rollout.server.model': 'Model on the server',
  'rollout.server.adapterFolder': 'Adapter folder',
  'rollout.server.serverAdapterFolder': 'Adapter folder on the server',
  'rollout.server.apiKeyVariable': 'Variable with the key',
  'rollout.server.timeoutSeconds': 'Timeout (s)',
  'rollout.server.maxConcurrent': 'Max concurrent completions',
  'rollout.server.keepVersions': 'Adapter versions kept',
  'rollout.server.gapLimit': 'Logprob mismatch limit (nats per token)',
  'rollout.server.gapCompletions': 'Completions compared',
  'data.train': 'Training data',
  'data.heldOut': 'Validation split',
  'data.tools': 'Tools: column',
  'optimization.beta1': 'AdamW β₁',
  'optimization.beta2': 'AdamW β₂',
  'optimization.epsilon': 'AdamW ε',
  'optimization.maxGradNorm': 'Max gradient norm',
  'optimization.unsoundUpdates': 'On unsound updates',
  'optimization.epochs': 'Update epochs',
  'optimization.warmupProportion': 'Warmup ratio',
  'optimization.memory': 'Activation memory',
  'evaluation.every': 'Evaluate every',
  'evaluation.rows': 'Validation rows',
  'checkpoints.every': 'Save every',
  'checkpoints.bestBy': 'Best by metric',
  'checkpoints.keepEvery': 'Keep every',
  'checkpoints.diskBudgetMb': 'Disk budget (MB)',
  'checkpoints.loraOnly': 'Adapter only',
  'checkpoints.load.optimizer': 'Take over the optimizer',
  'checkpoints.load.overwriteReference': 'Checkpoint becomes the reference',
  'checkpoints.load.overwriteCritic': 'Checkpoint becomes the critic',
  'rewardLimits.callMs': 'Time per call (ms)',
  'rewardLimits.batchMs': 'Time per 64 calls (ms)',
  'rewardLimits.memoryMb': 'Memory (MB)',
  'environment.contextLength': 'Context length of episodes',
  'device.kind': 'Device',
  'device.deviceId': 'Device number',
  'algorithm.id': 'Algorithm',
  'algorithm.settings.klCoefficient': 'KL coefficient (β)',
  'algorithm.settings.klAdvantageShaping': 'KL in the advantages',
  'algorithm.settings.klEstimator': 'KL estimator',
  'algorithm.settings.klImportanceWeighting': 'KL weighted by the ratio',
  'algorithm.settings.klClamp': 'KL clamp',
  'algorithm.settings.offPolicyThreshold': 'Off-policy sequence mask (nats)',
  'algorithm.settings.positiveTemperature': 'Gate temperature, A > 0',
  'algorithm.settings.negativeTemperature': 'Gate temperature, A < 0',
  'algorithm.settings.clipCoefficient': 'Clip range',
  'algorithm.settings.beta': 'KL coefficient (β)',
  'algorithm.settings.nllAlpha': 'NLL weight (α)',
  'diagnosis.stopOn': 'Stop early on a finding',
  shownTrajectories: 'Samples shown per step',
  rewardFailures: 'When a reward fails',
}

const sections: Readonly<Record<string, string>> = {
  run: 'Run',
  base: 'Base model',
  rollout: 'Rollout',
  optimization: 'Optimization',
  adapter: 'Adapter',
  reference: 'Reference policy',
  evaluation: 'Evaluation',
  checkpoints: 'Checkpoints',
  data: 'Data',
  diagnosis: 'Diagnosis',
  rewardLimits: 'Limits of reward code',
  environment: 'Environment',
  device: 'Device',
}

/** Options whose names would not be understood. */
const options: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  rewardFailures: { null: 'leave it out', zero: 'count 0', fail: 'end the run' },
  'diagnosis.stopOn': {
    never: 'never',
    destroyed: 'the policy was destroyed',
    problem: 'any problem',
  },
  'base.precision': {
    f32: 'f32: exact',
    int8: 'int8: a quarter',
    int4: 'int4: an eighth, coarser',
    bf16: 'bf16: half, on CUDA',
    f16: 'f16: half, on CUDA and DirectML',
  },
  'rollout.server.kind': { vllm: 'vLLM', sglang: 'SGLang' },
  'rollout.precision': { f32: 'f32: exact', int8: 'int8: faster' },
  'reference.policy': { start: 'the policy at the start', base: 'the base model' },
  'device.kind': { auto: 'auto: the fastest that passed its check', ...deviceTitles },
  'optimization.memory': { auto: 'auto', recompute: 'recompute: smaller', save: 'save: faster' },
}

export const optionWords = (key: string, option: string): string => options[key]?.[option] ?? option

export const sectionTitle = (id: string): string => sections[id] ?? sentenceCase(id)

export function labelOf(key: string): string {
  const [, owner, rest] = /^(stages|rewards)[.[](?=.*\.)(.+)$/.exec(key) ?? []
  if (owner !== undefined && rest !== undefined) return entryLabel(owner, rest)
  return labels[key] ?? sentenceCase(key.split('.').at(-1) ?? key)
}

/** Of an entry of a list: `stages[0].steps` counts from 0; where lists are compared, `stages.1.steps` from 1. */
function entryLabel(owner: string, rest: string): string {
  const [, index, name, inner] = /^(?:(\d+)\]|([^.]+))\.(.+)$/.exec(rest) ?? []
  const which = index === undefined ? (name ?? rest) : String(Number(index) + 1)
  const label = labelOf(inner ?? rest)
  return owner === 'stages' ? `Stage ${which}: ${label}` : `Reward ${which}: ${label}`
}

/** Not in paths, and not a file called after a section: data.jsonl. */
const keysInText = new RegExp(
  String.raw`(?<![\w/\\.])(?!data\.(?:jsonl?|csv|tsv|parquet)\b)((?:${[...Object.keys(sections), 'algorithm'].join('|')})(?:\.[A-Za-z][A-Za-z0-9]*)+)`,
)

/** A sentence of the host in pieces: its words, and the keys of settings that stand in it. */
export const sentenceParts = (
  sentence: string,
): readonly { readonly text: string; readonly isKey: boolean }[] =>
  sentence.split(keysInText).map((text, i) => ({ text, isKey: i % 2 === 1 }))

/** maxGradNorm → Max grad norm. */
function sentenceCase(name: string): string {
  const words = name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** What the config file says of a setting, for who sees a control: there `null` is an empty one, and keys have labels. */
export const helpWords = (description: string | undefined): string =>
  (description ?? '').replaceAll(/\bnull\b/g, 'empty').replaceAll('`', '')

/** From an explanation such as “…; null: never.” what stands in an empty control. */
export function emptyWordsOf(help: string, isNullable: boolean): string {
  if (!isNullable) return ''
  const found = /\bnull(?::| means| is| starts) ?([^.;]+)/.exec(help)?.[1]?.trim()
  if (found === undefined) return 'none'
  return /\bnull starts\b/.test(help) ? `starts ${found}` : found
}

/** A value as a person reads it. */
export function valueWords(value: unknown): string {
  if (value === undefined || value === null) return 'none'
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (typeof value === 'string') return value
  if (typeof value === 'number') return String(value).replace(/^-/, '−')
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueWords).join(', ')
  return JSON.stringify(value)
}
