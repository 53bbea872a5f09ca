import type { Finding, Proposal } from '#shared/diagnosis.ts'
import { type DiagnosedRun, seriesOf } from '../diagnosedRun.ts'
import { change, changeSetting, numberSettingOf, percent } from '../rule.ts'
import { averageOf, evidence } from '../series.ts'

const window = 10
const tooMany = 0.5

/** Completions that end because they may not be longer. */
export function capHits(run: DiagnosedRun): Finding[] {
  const cut = seriesOf(run, 'completions/clipped_ratio').slice(-window)
  if (seriesOf(run, 'reward').length === 0 || cut.length < window / 2 || averageOf(cut) <= tooMany) return []
  return [
    {
      id: 'cap-hits',
      severity: averageOf(cut) > 0.9 ? 'problem' : 'warning',
      words: `${percent(averageOf(cut))} of the completions are truncated at ${run.facts.maxNewTokens} tokens, most of them before they come to an end.`,
      evidence: [evidence('completions/clipped_ratio', cut)],
      proposals: proposals(run),
    },
  ]
}

function proposals(run: DiagnosedRun): Proposal[] {
  const { maxNewTokens, settings } = run.facts
  const buffer = Math.ceil(maxNewTokens / 4)
  return [
    change(`Allow ${2 * maxNewTokens} tokens.`, { 'rollout.maxNewTokens': 2 * maxNewTokens }),
    ...(numberSettingOf(run, 'overlongBuffer') === 0
      ? [changeSetting(`Enable the overlong penalty (${buffer}-token buffer).`, 'overlongBuffer', buffer)]
      : []),
    ...(settings['maskTruncated'] === false
      ? [changeSetting('Leave truncated completions out of the update.', 'maskTruncated', true)]
      : []),
  ]
}
