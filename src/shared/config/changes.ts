/**
 * Changes of a run's settings while it is paused or stopped: which settings can change, and their values after each
 * step. A run keeps its initial config; its settings after a step follow from that config and its changes alone.
 */
import { z } from 'zod'
import { count } from '../api/common.ts'
import { conflict } from './problems.ts'
import { isObject, withValues, type JsonObject } from './paths.ts'
import type { Problem } from '../errors.ts'

export interface SettingChange {
  /** Steps completed at the time of the change, which applies from the next one on. */
  readonly step: number
  /** Dotted name such as `optimization.learningRate`. */
  readonly key: string
  readonly from: unknown
  readonly to: unknown
}

export const settingChange = z.object({ step: count, key: z.string(), from: z.unknown(), to: z.unknown() })

/** Returns the settings after a step; Infinity: with every change. */
export const settingsAfter = (
  config: JsonObject,
  changes: readonly SettingChange[],
  step: number,
): JsonObject =>
  withValues(
    config,
    Object.fromEntries(changes.filter((change) => change.step <= step).map(({ key, to }) => [key, to])),
  )

/** Returns the step of the first change after a step, or null. */
export const nextChange = (changes: readonly SettingChange[], step: number): number | null =>
  changes.find((change) => change.step > step)?.step ?? null

/**
 * Returns all changes of a run sorted by step, after some are made at `step`. An earlier change of the same setting at
 * the same step is replaced, and changes at later steps are dropped, since the run continues from before them.
 */
export function withMadeChanges(
  before: readonly SettingChange[],
  step: number,
  made: readonly SettingChange[],
): readonly SettingChange[] {
  const isReplaced = (change: SettingChange) =>
    change.step >= step && made.some(({ key }) => key === change.key)
  const kept = before.filter((change) => !isReplaced(change))
  const real = made.filter(({ from, to }) => JSON.stringify(from) !== JSON.stringify(to))
  return [...kept, ...real].sort((a, b) => a.step - b.step)
}

/** Changeable settings: read anew when a run is taken up, and part of nothing computed before. Sections end with a dot. */
const changeable = [
  'algorithm.settings.',
  'rollout.temperature',
  'rollout.topK',
  'rollout.topP',
  'rollout.minP',
  'rollout.repetitionPenalty',
  'rollout.minNewTokens',
  'rollout.maxNewTokens',
  'rollout.stopStrings',
  'rollout.mismatchCorrection',
  'rollout.mismatchCap',
  'rollout.mismatchMode',
  'rollout.maxStaleness',
  'optimization.learningRate',
  'optimization.criticLearningRate',
  'optimization.schedule',
  'optimization.warmupProportion',
  'optimization.weightDecay',
  'optimization.maxGradNorm',
  'optimization.unsoundUpdates',
  'optimization.tokenBudget',
  'optimization.zeroAdvantages',
  'optimization.memory',
  'steps',
  'passes',
  'evaluation.every',
  'checkpoints.every',
  'checkpoints.keepLast',
  'checkpoints.keepBest',
  'checkpoints.keepEvery',
  'checkpoints.diskBudgetMb',
  'diagnosis.stopOn',
  'shownTrajectories',
  'tensorboard',
  'wandb',
  'rewardLimits.',
]

/** Reasons why other settings are fixed, by the beginning of the key; the first match applies. */
const fixed: readonly (readonly [beginning: string, reason: string])[] = [
  ['name', 'a run is renamed in its header or with `turnwise runs rename`.'],
  ['model', 'the adapter was trained on this model.'],
  ['contextLength', 'positions beyond it would mean something else to the adapter.'],
  ['base', 'the adapter was trained on a base of this precision.'],
  ['adapter', 'the adapter and the moments of its optimizer have this form.'],
  ['data', 'the position in the data would point at other rows.'],
  ['rewards', 'earlier and later rewards of the run would not be comparable.'],
  ['rewardFailures', 'earlier and later rewards of the run would not be comparable.'],
  ['environment', 'earlier and later rewards of the run would not be comparable.'],
  ['python', 'rewards and environment were loaded with it.'],
  ['algorithm', 'another algorithm starts from another state of critic and optimizer.'],
  ['rollout.promptsPerStep', 'the position in the data and the length of the run count steps of this size.'],
  ['rollout.groupSize', 'baselines and advantages are computed over groups of this size.'],
  ['rollout.precision', 'the mismatch between sampler and learner would change within the run.'],
  ['rollout.routerReplay', 'the mismatch between sampler and learner would change within the run.'],
  ['rollout.workflow', 'earlier and later rewards of the run would not be comparable.'],
  ['rollout.agent', 'earlier and later episodes of the run would not be comparable.'],
  ['rollout.server', 'the mismatch between sampler and learner would change within the run.'],
  ['reference', 'divergence is measured from one reference throughout the run.'],
  ['optimization.beta1', 'the optimizer’s moments were accumulated with it.'],
  ['optimization.beta2', 'the optimizer’s moments were accumulated with it.'],
  ['optimization.epsilon', 'the optimizer’s moments were accumulated with it.'],
  [
    'optimization.epochs',
    'the learning-rate schedule counts updates, and a step would have another number of them.',
  ],
  [
    'optimization.minibatchSize',
    'the learning-rate schedule counts updates, and a step would have another number of them.',
  ],
  ['evaluation.rows', 'earlier and later evaluations would not be comparable.'],
  ['checkpoints.bestBy', 'the checkpoints kept so far were ranked by this metric.'],
  ['checkpoints.load', 'it says what a fork takes over from its checkpoint.'],
  ['checkpoints.saveOptimizer', 'every checkpoint of a run holds the same parts.'],
  ['checkpoints.loraOnly', 'every checkpoint of a run holds the same parts.'],
  ['seed', 'earlier steps have drawn from the random streams of this seed.'],
  ['stages', 'where each stage begins depends on those before it.'],
  ['device', 'a run goes on where it computed before, since devices round differently.'],
  ['engine', 'only the trainer that began a run can go on from its checkpoints.'],
]

const begins = (key: string, beginning: string): boolean =>
  key === beginning || key.startsWith(beginning.endsWith('.') ? beginning : `${beginning}.`)

/** Sections of the changeable settings, which must be named individually. */
const sections: ReadonlySet<string> = new Set(changeable.flatMap((key) => key.split('.').slice(0, -1)))

const isChangeable = (key: string): boolean =>
  !sections.has(key) && changeable.some((each) => begins(key, each))

/** Returns why a setting cannot change during a run, as the end of a sentence; null if it can, or does not exist. */
export function whyFixed(key: string): string | null {
  if (sections.has(key)) return 'name the settings in it one by one.'
  if (isChangeable(key)) return null
  return fixed.find(([beginning]) => begins(key, beginning))?.[1] ?? null
}

/** Settings that determine a stage's length: stages follow each other, so a longer one would move the next. */
const lengths: ReadonlySet<string> = new Set(['steps', 'passes', 'rollout.maxNewTokens'])

const isForeign = ({ engine }: JsonObject): boolean =>
  isObject(engine) && (engine['kind'] ?? 'local') !== 'local'

/** Returns problems of the changes that no value could avoid. */
export const fixedProblems = (config: JsonObject, changes: JsonObject): Problem[] =>
  Object.keys(changes).flatMap((key) => {
    const isStaged = Array.isArray(config['stages']) && config['stages'].length > 0
    const reason = isForeign(config)
      ? 'the other trainer that trains it goes on with the settings in its own checkpoint.'
      : isStaged && lengths.has(key)
        ? 'the run has several stages, and where the next one begins depends on it.'
        : whyFixed(key)
    return reason === null ? [] : [conflict(key, `it cannot change within a run: ${reason}`)]
  })

/** Reads changes from an event of the log; invalid ones are ignored, and those of settings that cannot change. */
export function readChanges(event: unknown): readonly SettingChange[] {
  const { data = [] } = z.array(settingChange).safeParse(isObject(event) ? event['changes'] : undefined)
  return data.filter(({ key }) => isChangeable(key))
}

/** Formats `optimization.learningRate 0.001 → 0.0001 after step 40`. */
export const changeWords = ({ step, key, from, to }: SettingChange): string =>
  `${key} ${valueIn(from)} → ${valueIn(to)} after step ${String(step)}`

/** Formats all values of one setting: `0.001, after step 40: 0.0001`. */
export const historyWords = (changes: readonly SettingChange[]): string =>
  [
    valueIn(changes[0]?.from),
    ...changes.map(({ step, to }) => `after step ${String(step)}: ${valueIn(to)}`),
  ].join(', ')

const valueIn = (value: unknown): string =>
  typeof value === 'string' ? value : value === null ? 'none' : JSON.stringify(value)
