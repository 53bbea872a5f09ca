/**
 * The table of settings: Turnwise's in the order of a run config, and by tool their names and defaults there (trlSettings.ts and its
 * neighbours). Import and export read nothing else. A tool without an entry has no such setting, and nothing is lost there at the
 * value `off`.
 */
import { toolIds, type ToolId } from '#shared/tools.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { agilerlFixed, agilerlSettings } from './agilerlSettings.ts'
import { arealFixed, arealSettings } from './arealSettings.ts'
import { axolotlFixed, axolotlSettings } from './axolotlSettings.ts'
import { llamafactoryFixed, llamafactorySettings } from './llamafactorySettings.ts'
import {
  answering,
  generating,
  groups,
  ofAlgorithm,
  others,
  preferring,
  type FixedSetting,
  type OurSetting,
  type SettingRow,
  type ToolSetting,
} from './settingRow.ts'
import { trlFixed } from './trlFixed.ts'
import { trlSettings } from './trlSettings.ts'

const common: readonly OurSetting[] = [
  { ours: 'name', isCarried: true },
  { ours: 'model' },
  { ours: 'data.train', isCarried: true },
  { ours: 'data.heldOut', isCarried: true },
  { ours: 'data.prompt', isCarried: true },
  { ours: 'data.completion', for: ['sft', 'kto'], isCarried: true },
  { ours: 'data.chosen', for: preferring, isCarried: true },
  { ours: 'data.rejected', for: preferring, isCarried: true },
  { ours: 'data.label', for: ['kto'], isCarried: true },
  { ours: 'data.templateVariables', for: generating, isCarried: true },
  { ours: 'data.maxPromptTokens', isCarried: true },
  { ours: 'data.shuffle' },
  { ours: 'data.order', off: null },
  { ours: 'seed' },
  { ours: 'contextLength', isCarried: true },
  { ours: 'base.precision', off: 'f32' },
  { ours: 'base.products', isCarried: true },
  { ours: 'adapter.rank' },
  { ours: 'adapter.alpha' },
  { ours: 'adapter.rsLora', off: false },
  { ours: 'adapter.targets' },
  { ours: 'adapter.dropout', off: 0 },
  { ours: 'adapter.initial', isCarried: true },
  { ours: 'rollout.groupSize', for: groups },
  { ours: 'rollout.groupSize', for: others, off: 1 },
  { ours: 'rollout.promptsPerStep' },
  { ours: 'rollout.temperature', for: generating },
  { ours: 'rollout.topK', for: generating },
  { ours: 'rollout.topP', for: generating },
  { ours: 'rollout.minP', for: generating },
  { ours: 'rollout.repetitionPenalty', for: generating },
  { ours: 'rollout.minNewTokens', for: generating },
  { ours: 'rollout.maxNewTokens', for: generating },
  { ours: 'rollout.stopStrings', for: generating },
  { ours: 'rollout.precision', for: generating, off: 'f32' },
  { ours: 'rollout.routerReplay', for: generating, off: false },
  { ours: 'rollout.maxStaleness', for: generating, off: 0 },
  { ours: 'rollout.replayShare', for: generating, off: 0 },
  { ours: 'rollout.replaySolvedAt', for: generating, isCarried: true },
  { ours: 'rollout.replayTries', for: generating, isCarried: true },
  { ours: 'rollout.mismatchCorrection', for: generating },
  { ours: 'rollout.mismatchMode', for: generating, off: 'truncate' },
  { ours: 'rollout.mismatchCap', for: groups },
  { ours: 'rollout.mismatchCap', for: others, isCarried: true },
  { ours: 'optimization.learningRate' },
  { ours: 'optimization.criticLearningRate', for: ['ppo'], off: null },
  { ours: 'optimization.schedule', for: generating },
  { ours: 'optimization.schedule', for: answering, off: 'constant' },
  { ours: 'optimization.warmupProportion', for: generating },
  { ours: 'optimization.warmupProportion', for: answering, off: 0 },
  { ours: 'optimization.beta1' },
  { ours: 'optimization.beta2' },
  { ours: 'optimization.epsilon' },
  { ours: 'optimization.weightDecay' },
  { ours: 'optimization.maxGradNorm' },
  { ours: 'optimization.epochs', off: 1 },
  { ours: 'optimization.minibatchSize' },
  { ours: 'optimization.tokenBudget', isCarried: true },
  { ours: 'optimization.memory', isCarried: true },
  { ours: 'optimization.zeroAdvantages', isCarried: true },
  { ours: 'optimization.unsoundUpdates', off: 'stop' },
  { ours: 'steps' },
  { ours: 'passes' },
  { ours: 'evaluation.every' },
  { ours: 'evaluation.rows', isCarried: true },
  { ours: 'checkpoints.every' },
  { ours: 'checkpoints.keepLast' },
  { ours: 'checkpoints.keepBest', off: 0 },
  { ours: 'diagnosis.stopOn', off: 'never' },
  { ours: 'reference.policy', off: 'start' },
  { ours: 'reference.adapter', off: null },
  { ours: 'reference.model', off: null },
  { ours: 'reference.server', off: null },
  { ours: 'reference.refreshSteps', off: null },
  { ours: 'reference.refreshPasses', off: null },
]

/** Our settings by the last part of their names. */
const own: readonly OurSetting[] = [
  { ours: 'klCoefficient', for: generating },
  { ours: 'klEstimator', for: [...groups, 'ppo'], off: 'k3', needs: ofAlgorithm('klCoefficient') },
  { ours: 'klImportanceWeighting', for: groups, needs: ofAlgorithm('klCoefficient') },
  { ours: 'klClamp', for: [...groups, 'ppo'], off: null, needs: ofAlgorithm('klCoefficient') },
  { ours: 'klAdvantageShaping', for: groups, off: false },
  {
    ours: 'clipCoefficient',
    for: ['grpo', 'gspo', 'cispo', 'rloo', 'reinforce', 'reinforce-plus-plus', 'ppo'],
  },
  { ours: 'ratioLimit', for: ['grpo', 'gspo', 'ppo'], off: null },
  { ours: 'positiveTemperature', for: ['sapo'] },
  { ours: 'negativeTemperature', for: ['sapo'] },
  { ours: 'offPolicyThreshold', for: groups, off: null },
  { ours: 'importanceSamplingLevel', for: ['grpo', 'cispo', 'sapo'] },
  { ours: 'importanceSamplingLevel', for: ['reinforce'], off: 'token' },
  { ours: 'importanceSamplingLevel', for: ['ppo'], off: 'auto' },
  { ours: 'advantageNorm', for: groups },
  { ours: 'rewardAggregation', for: groups, off: 'sum-then-normalize' },
  { ours: 'advantageGranularity', for: [...groups, 'reinforce', 'ppo'], off: 'auto' },
  { ours: 'turnAdvantageFallback', for: groups, isCarried: true },
  { ours: 'whitenAdvantages', for: groups, off: false },
  { ours: 'whitenAdvantages', for: ['ppo'] },
  { ours: 'advantageClipRange', for: groups, off: null },
  { ours: 'filterZeroAdvantages', for: groups, off: false },
  { ours: 'advantageFilterEpsilon', for: groups, off: 0 },
  { ours: 'lossNorm', for: groups },
  { ours: 'lossNorm', for: ['sft'], off: 'token-mean' },
  { ours: 'topEntropyShare', for: groups, off: 1 },
  { ours: 'entropyCoefficient', for: [...groups, 'ppo'], off: 0 },
  { ours: 'maskTruncated', for: [...groups, 'rloo'], off: false },
  { ours: 'overlongBuffer', for: [...groups, 'rloo'], off: 0 },
  { ours: 'overlongPenalty', for: [...groups, 'rloo'], isCarried: true },
  { ours: 'dynamicSampling', for: [...groups, 'rloo', 'reinforce-plus-plus'], off: false },
  { ours: 'refillRounds', for: [...groups, 'rloo', 'reinforce-plus-plus'], isCarried: true },
  { ours: 'normalizeAdvantages', for: ['rloo'], off: false },
  { ours: 'rewardClipRange', for: ['rloo'], off: null },
  { ours: 'discount', for: ['reinforce'], off: 1 },
  { ours: 'discount', for: ['ppo'] },
  { ours: 'turnRatioPooling', for: ['reinforce', 'ppo'], off: 'sum' },
  { ours: 'gaeLambda', for: ['ppo'] },
  { ours: 'valueCoefficient', for: ['ppo'] },
  { ours: 'valueClipCoefficient', for: ['ppo'], off: null },
  { ours: 'turnLevelClip', for: ['ppo'], off: true },
  { ours: 'turnValueReduction', for: ['ppo'], off: 'final-value' },
  { ours: 'loss', for: ['dpo'] },
  { ours: 'beta', for: preferring },
  { ours: 'nllAlpha', for: ['dpo', 'simpo'], off: 0 },
  { ours: 'labelSmoothing', for: ['dpo'], off: 0 },
  { ours: 'targetMargin', for: ['simpo'] },
  { ours: 'desirableWeight', for: ['kto'] },
  { ours: 'undesirableWeight', for: ['kto'] },
]

export const ourSettings: readonly OurSetting[] = [
  ...common,
  ...own.map((row) => ({ ...row, ours: ofAlgorithm(row.ours) })),
]

export const settingsOf: Readonly<Record<ToolId, readonly ToolSetting[]>> = {
  trl: trlSettings,
  agilerl: agilerlSettings,
  areal: arealSettings,
  llamafactory: llamafactorySettings,
  axolotl: axolotlSettings,
}

export const fixedSettings: Readonly<Record<ToolId, readonly FixedSetting[]>> = {
  trl: trlFixed,
  agilerl: agilerlFixed,
  areal: arealFixed,
  llamafactory: llamafactoryFixed,
  axolotl: axolotlFixed,
}

export const fixedFor = (tool: ToolId, algorithm: string): readonly FixedSetting[] =>
  fixedSettings[tool].filter((row) => row.for === undefined || row.for.includes(algorithm))

/** The names that a tool has for settings here, of any algorithm. */
export const namesIn = (tool: ToolId): ReadonlySet<string> =>
  new Set(settingsOf[tool].flatMap(({ link }) => Object.keys(link.keys)))

/** The names that a tool has for flags. */
export function flagsIn(tool: ToolId): ReadonlySet<string> {
  const known = [
    ...settingsOf[tool].flatMap(({ link }) => Object.entries(link.keys)),
    ...fixedSettings[tool].flatMap(({ name, value, initial }) => [[name, initial ?? value] as const]),
  ]
  return new Set(known.flatMap(([name, value]) => (typeof value === 'boolean' ? [name] : [])))
}

/** Returns the rows of one algorithm; no tool has a setting of its own that the table does not name. */
export function rowsFor(algorithm: string): SettingRow[] {
  const rows = ourSettings.filter((row) => row.for === undefined || row.for.includes(algorithm))
  const named = new Set(rows.map(({ ours }) => ours))
  const rest = Object.keys(algorithmById(algorithm).settings).map(ofAlgorithm)
  return [...rows, ...rest.filter((ours) => !named.has(ours)).map((ours) => ({ ours }))].map((row) => ({
    ...row,
    ...linksOf(row.ours, algorithm),
  }))
}

function linksOf(ours: string, algorithm: string): Omit<SettingRow, 'ours'> {
  const links = toolIds.map((tool) => {
    const found = settingsOf[tool].find((row) => row.ours === ours && (row.when?.includes(algorithm) ?? true))
    return [tool, found?.link] as const
  })
  return Object.fromEntries(links.filter(([, link]) => link !== undefined))
}
