/**
 * Says in words what is wrong with a run. Pure functions over what the run has logged so far. Reading guide:
 *
 *   diagnose.ts      (here) all rules on the training a run is in
 *   diagnosedRun.ts  what rules look at; facts.ts: what of the settings; stages.ts: which training that is
 *   rules/           a file for each subject; rule.ts, collapse.ts: what they share
 *   checks.ts        the figures that were looked at, whatever was found
 *   watch.ts         the same while a run goes on
 *   rewardScale.ts   how good a reward is, and by how much rewards differ by the draw of prompts alone
 *
 * A rule needs several steps to agree before it speaks: a false alarm costs more trust than a late one.
 */
import type { Diagnosis, Finding, FindingSeverity, FindingId } from '#shared/diagnosis.ts'
import { type RunConfig, stagesOf } from '#shared/runConfig.ts'
import { algorithmById, type AlgorithmById } from '../algorithms/registry.ts'
import { checksOf } from './checks.ts'
import { fallOf } from './collapse.ts'
import { type DiagnosedRun, type RunHistory, stepsOf, type Point } from './diagnosedRun.ts'
import { factsOf } from './facts.ts'
import { soundOriginOf, type Rule } from './rule.ts'
import type { MetricName } from '#shared/metrics.ts'
import { capHits, samplerGap, samplingWidth } from './rules/sampling.ts'
import { clipShare, divergence, skippedUpdates, gradientSpikes, lossZeroAtStart } from './rules/updates.ts'
import { constantReward, rewardFailures, rewardSize, rewardsCancel } from './rules/rewards.ts'
import { entropyCollapse, entropyExplosion } from './rules/entropy.ts'
import { formatMismatch } from './rules/formatMismatch.ts'
import { groupCollapse } from './rules/groupCollapse.ts'
import { heldOutForm, heldOutLanguage } from './rules/heldOutForm.ts'
import { heldOutGap, heldOutTask } from './rules/heldOut.ts'
import { klRunaway, klTooHeavy } from './rules/kl.ts'
import { learnsNothing } from './rules/learnsNothing.ts'
import { policyDestroyed } from './rules/policyDestroyed.ts'
import { answerInPrompt, otherTemplate } from './rules/prompts.ts'
import { rewardHacking } from './rules/rewardHacking.ts'
import { rewardSource } from './rules/rewardSource.ts'

const gravity: Readonly<Record<FindingSeverity, number>> = { problem: 0, warning: 1, note: 2 }

/** Errors: AppError 'config/invalid' where the config names an algorithm that there is not. */
export function diagnose(
  config: RunConfig,
  history: RunHistory,
  byId: AlgorithmById = algorithmById,
): Diagnosis {
  const training = lastTraining(config, history)
  const run: DiagnosedRun = { ...training.history, facts: factsOf(training.config, byId) }
  const found = rules
    .flatMap((rule) => rule(run))
    .toSorted((a, b) => gravity[a.severity] - gravity[b.severity])
  const causes = withoutConsequences(found)
  const fall = fallOf(run)
  const { first, last } = stepsOf(run)
  return {
    stage: training.stage,
    firstStep: first,
    steps: first === 0 ? 0 : last - first + 1,
    findings: fall === null ? causes : causes.map((finding) => safely(run, fall.step, finding)),
    soundUntil: fall?.step ?? null,
    checks: checksOf(run, causes),
  }
}

/** Makes proposals start before a policy broke down after `step`: no change is tried on what is left of it. */
function safely(run: DiagnosedRun, step: number, finding: Finding): Finding {
  const from = soundOriginOf(run, step)
  const proposals = finding.proposals.map((each) => (each.from === 'newest' ? { ...each, from } : each))
  return { ...finding, proposals }
}

// Training that a run of several stages is in: numbers of another training mean something else.

interface Training {
  readonly config: RunConfig
  /** Number of the stage, from 0; null where the run has no stages. */
  readonly stage: number | null
  readonly history: RunHistory
}

function lastTraining(config: RunConfig, history: RunHistory): Training {
  const stages = stagesOf(config)
  if (stages.length === 1) return { config: stages[0], stage: null, history }
  const { stage, firstStep } = plannedPlace(stages, history) ?? seenPlace(stages, history)
  return { config: stages[stage] ?? stages[0], stage, history: since(history, firstStep) }
}

interface Place {
  readonly stage: number
  readonly firstStep: number
}

/** Returns the place by the lengths of the stages; null where some are as long as their data. */
function plannedPlace(stages: readonly RunConfig[], history: RunHistory): Place | null {
  const lengths = stages.flatMap(({ steps }) => steps ?? [])
  if (lengths.length < stages.length) return null
  const begins = lengths.map((_, i) => 1 + lengths.slice(0, i).reduce((sum, length) => sum + length, 0))
  const stage = Math.max(
    0,
    begins.findLastIndex((begin) => begin <= stepsOf(history).last),
  )
  return { stage, firstStep: begins[stage] ?? 1 }
}

/** A stage begins where `epoch`, which only grows within one, starts again; a fork is taken to begin with the first. */
function seenPlace(stages: readonly RunConfig[], { metrics }: RunHistory): Place {
  const epochs = metrics.get('epoch' satisfies MetricName) ?? []
  const begins = epochs.filter(({ value }, i) => i > 0 && (value ?? 0) <= (epochs[i - 1]?.value ?? 0))
  return { stage: Math.min(begins.length, stages.length - 1), firstStep: begins.at(-1)?.step ?? 0 }
}

/** The evaluation before its first step belongs to it too, unless the stage before made it as its last. */
function since(history: RunHistory, step: number): RunHistory {
  const own = (name: string, points: readonly Point[]) =>
    points.filter((point) => point.step >= (name.startsWith('eval_') ? step - 1 : step))
  return {
    ...history,
    metrics: new Map([...history.metrics].map(([name, points]) => [name, own(name, points)])),
    samples: history.samples.filter((sample) => sample.step >= step),
  }
}

// Every rule. A rule is a function in rules/ that finds what its name says, or nothing.

/**
 * Rules, ordered so that causes come before their effects (`causes` lists these): of findings equally grave the first
 * comes first.
 */
const rules: readonly Rule[] = [
  rewardFailures,
  rewardSize,
  divergence,
  skippedUpdates,
  samplingWidth,
  answerInPrompt,
  otherTemplate,
  policyDestroyed,
  samplerGap,
  rewardsCancel,
  capHits,
  formatMismatch,
  constantReward,
  klTooHeavy,
  learnsNothing,
  rewardSource,
  entropyExplosion,
  groupCollapse,
  klRunaway,
  gradientSpikes,
  entropyCollapse,
  clipShare,
  heldOutLanguage,
  heldOutForm,
  heldOutTask,
  rewardHacking,
  heldOutGap,
  lossZeroAtStart,
]

// Findings that are only consequences of another one: they are left out where that one is found.

const ofGroups: readonly FindingId[] = [
  'groups-all-wrong',
  'groups-alike',
  'clip-share-low',
  'loss-zero-at-start',
]

/** Causes in the reward that are hardly visible once rewards stop varying. */
const ofRewards: readonly FindingId[] = [
  'learns-nothing',
  'reward-is-length',
  'reward-is-noise',
  'reward-is-one-word',
]

/** Findings that a destroyed policy causes as well. */
const ofDestruction: readonly FindingId[] = [
  ...ofGroups,
  ...ofRewards,
  ...(['entropy-explosion', 'gradient-spikes', 'kl-runaway', 'kl-too-heavy', 'entropy-collapse'] as const),
  ...(['cap-hits', 'format-mismatch', 'constant-reward', 'clip-share-high', 'sampler-gap'] as const),
  ...(['one-reward-dominates', 'longer-not-better', 'held-out-gap', 'groups-all-right'] as const),
]

/** Completions that were never drawn as they should be. */
const ofSampling: readonly FindingId[] = [
  ...ofGroups,
  ...ofRewards,
  ...(['constant-reward', 'entropy-collapse', 'format-mismatch', 'cap-hits', 'held-out-gap'] as const),
  ...([
    'policy-destroyed',
    'reward-collapse',
    'entropy-explosion',
    'kl-runaway',
    'groups-all-right',
  ] as const),
]

/** Prompts that are not what the task is, and what a policy learns from them. */
const ofPrompts: readonly FindingId[] = [
  ...ofSampling,
  ...(['held-out-other-task', 'held-out-other-form', 'held-out-other-language'] as const),
  ...(['one-reward-dominates', 'longer-not-better', 'clip-share-high', 'gradient-spikes'] as const),
]

/** Consequences of a reward that pays for something other than the task. */
const ofWrongReward: readonly FindingId[] = [
  ...ofGroups,
  ...(['cap-hits', 'entropy-collapse', 'groups-all-right', 'constant-reward', 'format-mismatch'] as const),
  ...(['held-out-gap', 'longer-not-better', 'kl-runaway'] as const),
]

const consequences: Readonly<Partial<Record<FindingId, readonly FindingId[]>>> = {
  diverged: [...ofDestruction, 'policy-destroyed', 'reward-collapse'],
  'reward-size': [...ofDestruction, 'policy-destroyed', 'reward-collapse', 'diverged', 'updates-skipped'],
  'policy-destroyed': ofDestruction,
  'reward-collapse': ofDestruction,
  'sampling-too-wide': ofSampling,
  'sampling-too-narrow': ofSampling,
  'reward-failures': [...ofGroups, ...ofRewards, 'no-reward', 'constant-reward', 'format-mismatch'],
  'no-reward': [...ofGroups, 'constant-reward', 'format-mismatch'],
  'rewards-cancel': [...ofGroups, 'one-reward-dominates', 'groups-all-right'],
  'entropy-explosion': ['cap-hits', 'format-mismatch', 'kl-runaway', ...ofGroups],
  // A completion that is cut off before its end cannot have the form, nor be right.
  'cap-hits': [...ofGroups, 'learns-nothing', 'format-mismatch', 'constant-reward', 'longer-not-better'],
  'format-mismatch': [...ofGroups, 'constant-reward'],
  'constant-reward': ofGroups,
  'kl-too-heavy': ['learns-nothing', 'clip-share-low', 'clip-share-high', 'kl-runaway'],
  'held-out-other-task': ['held-out-gap'],
  'held-out-other-form': ['held-out-other-task', 'held-out-gap'],
  'held-out-other-language': ['held-out-other-form', 'held-out-other-task', 'held-out-gap'],
  'answer-in-prompt': ofPrompts,
  'other-template': ofPrompts,
  'learns-nothing': ['clip-share-low', 'held-out-gap'],
  'reward-is-length': ofWrongReward,
  'reward-is-noise': ofWrongReward,
  'reward-is-one-word': ofWrongReward,
}

/** Causes alone. A note explains nothing away. */
function withoutConsequences(findings: readonly Finding[]): Finding[] {
  const causes = findings.filter(({ severity }) => severity !== 'note')
  const explained = new Set<FindingId>()
  for (const { id } of causes) {
    if (!explained.has(id)) for (const other of consequences[id] ?? []) explained.add(other)
  }
  return findings.filter(({ id }) => !explained.has(id))
}
