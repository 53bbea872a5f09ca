import type { Finding, Proposal } from '#shared/diagnosis.ts'
import { type DiagnosedRun, seriesOf } from '../diagnosedRun.ts'
import { change, changeSetting, numberSettingOf, percent } from '../rule.ts'
import { averageOf, evidence } from '../series.ts'

const window = 10
export const tooManyTruncated = 0.5
const nearlyAll = 0.9

/** Completions that end because they may not be longer. */
export function capHits(run: DiagnosedRun): Finding[] {
  const cut = seriesOf(run, 'completions/clipped_ratio').slice(-window)
  if (seriesOf(run, 'reward').length === 0 || cut.length < window / 2 || averageOf(cut) <= tooManyTruncated)
    return []
  return [
    {
      id: 'cap-hits',
      severity: averageOf(cut) > nearlyAll ? 'problem' : 'warning',
      words: `${percent(averageOf(cut))} of the completions are truncated at ${tokens(run.facts.maxNewTokens)}${forced(run) ? ', because none may end before it' : ''}.`,
      evidence: [evidence('completions/clipped_ratio', cut)],
      proposals: proposals(run, averageOf(cut)),
    },
  ]
}

const forced = ({ facts: { minNewTokens, maxNewTokens } }: DiagnosedRun): boolean =>
  minNewTokens >= maxNewTokens

const tokens = (count: number): string => (count === 1 ? '1 token' : `${count} tokens`)

/** Where nearly all are truncated, there is nothing that a penalty or a mask could tell them from. */
function proposals(run: DiagnosedRun, share: number): Proposal[] {
  const { maxNewTokens, settings } = run.facts
  const buffer = Math.ceil(maxNewTokens / 4)
  if (forced(run)) return [change('Set min new tokens to 0.', { 'rollout.minNewTokens': 0 })]
  const isAll = share > nearlyAll
  return [
    change(`Raise max new tokens to ${2 * maxNewTokens}.`, { 'rollout.maxNewTokens': 2 * maxNewTokens }),
    ...(!isAll && numberSettingOf(run, 'overlongBuffer') === 0
      ? [changeSetting(`Enable the overlong penalty (${buffer}-token buffer).`, 'overlongBuffer', buffer)]
      : []),
    ...(!isAll && settings['maskTruncated'] === false
      ? [changeSetting('Leave truncated completions out of the update.', 'maskTruncated', true)]
      : []),
  ]
}
