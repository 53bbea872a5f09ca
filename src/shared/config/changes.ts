/**
 * Changes of a run's settings while it waits: which settings can change, and what they are after each step. A run keeps
 * the config it began with; its settings after a step follow from that config and its changes alone.
 */
import { z } from 'zod'
import { count } from '../api/common.ts'
import { conflict } from './problems.ts'
import { isObject, withValues, type JsonObject } from './paths.ts'
import type { Problem } from '../errors.ts'

export interface SettingChange {
  /** Steps completed when it was made; it applies from the next one on. */
  readonly step: number
  /** Such as `optimization.learningRate`. */
  readonly key: string
  readonly from: unknown
  readonly to: unknown
}

export const settingChange = z.object({ step: count, key: z.string(), from: z.unknown(), to: z.unknown() })

/** Settings as they are after a step; Infinity: with every change. */
export const settingsAfter = (
  config: JsonObject,
  changes: readonly SettingChange[],
  step: number,
): JsonObject =>
  withValues(
    config,
    Object.fromEntries(changes.filter((change) => change.step <= step).map(({ key, to }) => [key, to])),
  )

/** The step of the first change that comes after a step; null where none does. */
export const nextChange = (changes: readonly SettingChange[], step: number): number | null =>
  changes.find((change) => change.step > step)?.step ?? null

/**
 * All changes of a run in the order of their steps, once some are made after `step`. Of one setting, an earlier change at
 * the same step is replaced and those at later steps are given up: the run had gone on from before them.
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

/** Read anew whenever a run is taken up, and part of nothing that was computed before. Sections end with a dot. */
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
  'rewardLimits.',
]

/** Why the others stay: the first that a key begins with. */
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
  ['rollout.workflow', 'earlier and later rewards of the run would not be comparable.'],
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

/** Their settings are named one by one. */
const sections: ReadonlySet<string> = new Set(changeable.flatMap((key) => key.split('.').slice(0, -1)))

/** Why a setting cannot change while a run goes on, as the end of a sentence; null where it can, or is none at all. */
export function whyFixed(key: string): string | null {
  if (sections.has(key)) return 'name the settings in it one by one.'
  if (changeable.some((each) => begins(key, each))) return null
  return fixed.find(([beginning]) => begins(key, beginning))?.[1] ?? null
}

/** Those of several stages follow each other: a longer one would move the next. */
const lengths: ReadonlySet<string> = new Set(['steps', 'passes', 'rollout.maxNewTokens'])

const isForeign = ({ engine }: JsonObject): boolean =>
  isObject(engine) && (engine['kind'] ?? 'local') !== 'local'

/** What of the changes cannot be made, whatever the values. */
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

/** As the log has them; those of another form are none. */
export const readChanges = (event: unknown): readonly SettingChange[] =>
  z.array(settingChange).safeParse(isObject(event) ? event['changes'] : undefined).data ?? []

/** `optimization.learningRate 0.001 → 0.0001 after step 40`. */
export const changeWords = ({ step, key, from, to }: SettingChange): string =>
  `${key} ${valueIn(from)} → ${valueIn(to)} after step ${String(step)}`

/** Of one setting all values: `0.001, after step 40: 0.0001`. */
export const historyWords = (changes: readonly SettingChange[]): string =>
  [
    valueIn(changes[0]?.from),
    ...changes.map(({ step, to }) => `after step ${String(step)}: ${valueIn(to)}`),
  ].join(', ')

const valueIn = (value: unknown): string =>
  typeof value === 'string' ? value : value === null ? 'none' : JSON.stringify(value)
