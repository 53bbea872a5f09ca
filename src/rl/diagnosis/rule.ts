/** Defines what a rule is, with helpers for proposing changes. */
import type { Finding, LookAt, Proposal } from '#shared/diagnosis.ts'
import type { Measured, DiagnosedRun } from './diagnosedRun.ts'

/** Pure: finds nothing where numbers are missing or too few. */
export type Rule = (run: DiagnosedRun) => readonly Finding[]

export const change = (
  words: string,
  changes: Proposal['changes'],
  from: Proposal['from'] = 'newest',
): Proposal => ({ words, changes, from, lookAt: null })

export const look = (words: string, lookAt: LookAt): Proposal => ({
  words,
  changes: {},
  from: 'newest',
  lookAt,
})

export const tryTheSelftest: Proposal = look('Run the self-test on this machine.', { kind: 'selftest' })

/** Proposes to look at the samples of a stretch. */
export const lookAtSamples = (words: string, series: readonly Measured[]): Proposal =>
  look(words, { kind: 'samples', fromStep: series[0]?.step ?? 0, toStep: series.at(-1)?.step ?? 0 })

export const lowerLearningRate = ({ facts }: DiagnosedRun, divisor: number): Proposal =>
  learningRate('Lower', facts.learningRate / divisor)

/**
 * Learning rates that adapters are usually trained with, whatever the model; AdamW moves every number by about as much
 * in an update.
 */
export const rateRange = { lowest: 1e-5, highest: 1e-3 } as const

/**
 * Proposes a restart at a lower learning rate from a checkpoint that is still sound, where numbers went astray after
 * `step`.
 */
export function restartSlower(run: DiagnosedRun, step: number, divisor = 10): Proposal {
  const rate = Number(Math.min(run.facts.learningRate / divisor, rateRange.highest).toPrecision(2))
  return restart(run, step, `a learning rate of ${rate}`, { 'optimization.learningRate': rate })
}

export const raiseLearningRate = ({ facts }: DiagnosedRun, factor: number): Proposal =>
  learningRate('Raise', facts.learningRate * factor)

function learningRate(verb: string, wanted: number): Proposal {
  const rate = Number(wanted.toPrecision(2))
  return change(`${verb} the learning rate to ${rate}.`, { 'optimization.learningRate': rate })
}

/** The newest checkpoint up to a step; else the run has to begin again. */
export const soundOriginOf = ({ checkpoints }: DiagnosedRun, step: number): Proposal['from'] =>
  checkpoints.findLast((checkpoint) => checkpoint <= step) ?? 'start'

/** Proposes to start again from before something went wrong after `step`, with changes that `what` names. */
export function restart(
  run: DiagnosedRun,
  step: number,
  what: string,
  changes: Proposal['changes'],
): Proposal {
  const from = soundOriginOf(run, step)
  const words =
    typeof from === 'number'
      ? `Fork from step ${from}, before it began, with ${what}.`
      : `Start again with ${what}: there is no checkpoint from before it.`
  return change(words, changes, from)
}

/** A number setting of the algorithm; null where it has none of this name. */
export function numberSettingOf({ facts }: DiagnosedRun, name: string): number | null {
  const value = facts.settings[name]
  return typeof value === 'number' ? value : null
}

/** Proposes to change a setting of the algorithm. */
export const changeSetting = (words: string, name: string, value: unknown): Proposal =>
  change(words, { [`algorithm.settings.${name}`]: value })

export const percent = (share: number): string => `${Number((100 * share).toPrecision(2))} %`

/** A number fit for a sentence. */
export const short = (value: number): string =>
  Math.abs(value) >= 1e6 ? value.toExponential(1) : String(Number(value.toPrecision(3)))
