/** What a rule is, and how it proposes something. */
import type { Finding, LookAt, Proposal } from '#shared/diagnosis.ts'
import type { Measured, DiagnosedRun } from './diagnosedRun.ts'

/** Pure: finds nothing where numbers are missing or too few. */
export type Rule = (run: DiagnosedRun) => readonly Finding[]

export const change = (words: string, changes: Proposal['changes']): Proposal => ({
  words,
  changes,
  lookAt: null,
})

export const look = (words: string, lookAt: LookAt): Proposal => ({ words, changes: {}, lookAt })

/** The samples of a stretch. */
export const lookAtSamples = (words: string, series: readonly Measured[]): Proposal =>
  look(words, { kind: 'samples', fromStep: series[0]?.step ?? 0, toStep: series.at(-1)?.step ?? 0 })

export const lowerLearningRate = ({ facts }: DiagnosedRun, divisor: number): Proposal =>
  learningRate('Lower', facts.learningRate / divisor)

export const raiseLearningRate = ({ facts }: DiagnosedRun, factor: number): Proposal =>
  learningRate('Raise', facts.learningRate * factor)

function learningRate(verb: string, wanted: number): Proposal {
  const rate = Number(wanted.toPrecision(2))
  return change(`${verb} the learning rate to ${rate}.`, { 'optimization.learningRate': rate })
}

/** The newest checkpoint up to a step, to go on from; nothing where there is none. */
export function goBack({ checkpoints }: DiagnosedRun, step: number): readonly Proposal[] {
  const before = checkpoints.findLast((checkpoint) => checkpoint <= step)
  if (before === undefined) return []
  return [
    look(`Fork from the checkpoint of step ${before}, before it began.`, {
      kind: 'checkpoint',
      step: before,
    }),
  ]
}

/** A number setting of the algorithm; null where it has none of this name. */
export function numberSettingOf({ facts }: DiagnosedRun, name: string): number | null {
  const value = facts.settings[name]
  return typeof value === 'number' ? value : null
}

/** A change of a setting of the algorithm. */
export const changeSetting = (words: string, name: string, value: unknown): Proposal =>
  change(words, { [`algorithm.settings.${name}`]: value })

export const percent = (share: number): string => `${Number((100 * share).toPrecision(2))} %`

/** A number fit for a sentence. */
export const short = (value: number): string => String(Number(value.toPrecision(3)))
