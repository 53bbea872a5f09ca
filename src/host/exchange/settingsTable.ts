/**
 * The table of settings: Turnwise's, their names in the other tools, and each tool's default. Import and
 * export read nothing else. A row with `for` belongs to those algorithms only; a tool without an entry has no such
 * setting, and nothing is lost there at the value `off`.
 */
import type { ToolId } from '#shared/tools.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { algorithmSettings } from './algorithmSettings.ts'
import { type SettingRow, answering, generating, perTrainer } from './settingRow.ts'
import {
  agilerlMinibatch,
  arealMinibatch,
  trlInterval,
  trlLength,
  trlMinibatch,
  warmupOf,
} from './batches.ts'
import { off, one, words } from './links.ts'
import {
  agilerlActorRate,
  agilerlLength,
  agilerlPasses,
  agilerlSchedule,
  agilerlWarmup,
  trlAccumulated,
  transformersSchedule,
} from './specialLinks.ts'
import { generationSettings } from './generationSettings.ts'
import { modelSettings } from './modelSettings.ts'
import { axolotlInterval, orElse } from './trainerLinks.ts'

/* The part of the table that every algorithm shares. */

const evaluations = { strategy: 'eval_strategy', steps: 'eval_steps', initial: 'no', every: null } as const
const saves = { strategy: 'save_strategy', steps: 'save_steps', initial: 'steps', every: 500 } as const

const steps = (groupSize: number) => ({
  agilerl: agilerlLength(groupSize),
  areal: one('total_train_steps', null),
})
const evaluation = {
  agilerl: one('evaluation_interval', null, off(0, null)),
  areal: one('evaluator.freq_steps', null, off(0, null)),
}
const checkpoint = {
  areal: one('saver.freq_steps', null, off(0, null)),
}
const schedule = {
  areal: one(
    'actor.optimizer.lr_scheduler_type',
    'constant',
    words({ constant: 'constant', linear: 'linear', cosine: 'cosine' }),
  ),
}
const warmup = {
  areal: one('actor.optimizer.warmup_steps_proportion', 0.001),
}

/** Learning rates for SFT and DPO of tools whose settings are only imported. */
const rates = {
  llamafactory: one('learning_rate', 5e-5),
  axolotl: one('learning_rate', null, off(undefined, null)),
}

/** Names and defaults that every trainer of transformers has. */
const adam = (name: string, initial: number) => ({
  trl: one(name, initial),
  llamafactory: one(name, initial),
  axolotl: orElse(name, initial),
})

const epochs = { agilerl: one('update_epochs', 1) }

const trlSchedule = transformersSchedule('lr_scheduler_type', 'linear')

const updating: readonly SettingRow[] = [
  {
    ours: 'optimization.learningRate',
    for: [...generating.filter((id) => id !== 'ppo'), 'dpo'],
    trl: one('learning_rate', 1e-6),
    ...rates,
    agilerl: one('lr', 5e-7),
    areal: one('actor.optimizer.lr', 1e-3),
  },
  {
    ours: 'optimization.learningRate',
    for: ['ppo'],
    trl: one('learning_rate', 3e-6),
    agilerl: agilerlActorRate,
    areal: one('actor.optimizer.lr', 1e-3),
  },
  {
    ours: 'optimization.learningRate',
    for: ['sft'],
    trl: one('learning_rate', 2e-5),
    ...rates,
    agilerl: one('lr', 5e-5),
    areal: one('actor.optimizer.lr', 1e-3),
  },
  {
    ours: 'optimization.criticLearningRate',
    for: ['ppo'],
    off: null,
    agilerl: one('lr_critic', 5e-5),
    areal: one('critic.optimizer.lr', 1e-3),
  },
  { ours: 'optimization.schedule', for: generating, trl: trlSchedule, agilerl: agilerlSchedule, ...schedule },
  {
    ours: 'optimization.schedule',
    for: answering,
    off: 'constant',
    trl: trlSchedule,
    llamafactory: trlSchedule,
    axolotl: transformersSchedule('lr_scheduler', 'cosine'),
    ...schedule,
  },
  {
    ours: 'optimization.warmupProportion',
    for: generating,
    trl: warmupOf(0),
    agilerl: agilerlWarmup,
    ...warmup,
  },
  {
    ours: 'optimization.warmupProportion',
    for: answering,
    off: 0,
    trl: warmupOf(0),
    llamafactory: warmupOf(0),
    axolotl: warmupOf(0.03),
    ...warmup,
  },
  { ours: 'optimization.beta1', ...adam('adam_beta1', 0.9), areal: one('actor.optimizer.beta1', 0.9) },
  { ours: 'optimization.beta2', ...adam('adam_beta2', 0.999), areal: one('actor.optimizer.beta2', 0.999) },
  { ours: 'optimization.epsilon', ...adam('adam_epsilon', 1e-8), areal: one('actor.optimizer.eps', 1e-8) },
  {
    ours: 'optimization.weightDecay',
    ...adam('weight_decay', 0),
    areal: one('actor.optimizer.weight_decay', 0.01),
  },
  {
    ours: 'optimization.maxGradNorm',
    trl: one('max_grad_norm', 1, off(null, 0, null)),
    llamafactory: one('max_grad_norm', 1, off(null, 0, null)),
    axolotl: one('max_grad_norm', 1, {
      read: (value) => (value === 0 ? null : (value ?? 1)),
      write: (value) => value,
    }),
    agilerl: one('max_grad_norm', 0.1, off(null, 0)),
    areal: one('actor.optimizer.gradient_clipping', 1, off(null, 0)),
  },
  {
    ours: 'optimization.epochs',
    for: generating.filter((id) => id !== 'ppo'),
    off: 1,
    trl: one('num_iterations', 1),
    ...epochs,
  },
  { ours: 'optimization.epochs', for: ['ppo'], off: 1, trl: one('num_ppo_epochs', 4), ...epochs },
  { ours: 'optimization.epochs', for: answering, off: 1, agilerl: one('update_epochs', 1) },
  ...perTrainer('optimization.minibatchSize', ({ trl, agilerl }) => ({
    trl: trlMinibatch(trl),
    agilerl: agilerlMinibatch(agilerl),
    areal: arealMinibatch,
  })),
  { ours: 'optimization.minibatchSize', for: ['dpo'], trl: trlAccumulated, agilerl: agilerlMinibatch(1, 2) },
  { ours: 'optimization.minibatchSize', for: ['sft'], trl: trlAccumulated, agilerl: agilerlMinibatch(1) },
  { ours: 'optimization.tokenBudget', isCarried: true },
  { ours: 'optimization.memory', isCarried: true },
  { ours: 'optimization.zeroAdvantages', isCarried: true },
  { ours: 'optimization.unsoundUpdates', off: 'stop' },
]

const passes = {
  trl: one('num_train_epochs', 3),
  llamafactory: one('num_train_epochs', 3),
  axolotl: one('num_epochs', 1),
  agilerl: agilerlPasses,
  areal: one('total_train_epochs', 1),
}

const length: readonly SettingRow[] = [
  ...perTrainer('steps', ({ trl, agilerl }) => ({ trl: trlLength(trl), ...steps(agilerl) })),
  {
    ours: 'steps',
    for: answering,
    trl: trlLength(null),
    llamafactory: trlLength(null),
    axolotl: trlLength(null),
    ...steps(1),
  },
  { ours: 'passes', for: generating, ...passes },
  { ours: 'passes', for: answering, ...passes },
  ...perTrainer('evaluation.every', ({ trl }) => ({ trl: trlInterval(evaluations, trl), ...evaluation })),
  {
    ours: 'evaluation.every',
    for: answering,
    trl: trlInterval(evaluations, null),
    llamafactory: trlInterval(evaluations, null),
    axolotl: axolotlInterval('eval_steps', 'evals_per_epoch'),
    ...evaluation,
  },
  { ours: 'evaluation.rows', isCarried: true },
  ...perTrainer('checkpoints.every', ({ trl }) => ({ trl: trlInterval(saves, trl), ...checkpoint })),
  {
    ours: 'checkpoints.every',
    for: answering,
    trl: trlInterval(saves, null),
    llamafactory: trlInterval(saves, null),
    axolotl: axolotlInterval('save_steps', 'saves_per_epoch'),
    ...checkpoint,
  },
  {
    ours: 'checkpoints.keepLast',
    trl: one('save_total_limit', null, off(undefined, null)),
    llamafactory: one('save_total_limit', null, off(undefined, null)),
    axolotl: one('save_total_limit', null, off(undefined, null)),
  },
  { ours: 'checkpoints.keepBest', off: 0 },
  { ours: 'diagnosis.stopOn', off: 'never' },
]

const reference: readonly SettingRow[] = [
  { ours: 'reference.policy', off: 'start' },
  { ours: 'reference.adapter', off: null },
  { ours: 'reference.refreshSteps', off: null },
  { ours: 'reference.refreshPasses', off: null },
]

const commonSettings: readonly SettingRow[] = [
  ...modelSettings,
  ...generationSettings,
  ...updating,
  ...length,
  ...reference,
]

export const settingsTable: readonly SettingRow[] = [...commonSettings, ...algorithmSettings]

/** The names that a tool has for settings here, of any algorithm. */
export const namesIn = (tool: ToolId): ReadonlySet<string> =>
  new Set(settingsTable.flatMap((row) => Object.keys(row[tool]?.keys ?? {})))

/** Those of one algorithm; no tool has a setting of its own that the table does not name. */
export function rowsFor(algorithm: string): SettingRow[] {
  const rows = settingsTable.filter((row) => row.for === undefined || row.for.includes(algorithm))
  const named = new Set(rows.map(({ ours }) => ours))
  const own = Object.keys(algorithmById(algorithm).settings).map((name) => `algorithm.settings.${name}`)
  return [...rows, ...own.filter((ours) => !named.has(ours)).map((ours) => ({ ours }))]
}
