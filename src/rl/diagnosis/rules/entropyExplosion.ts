import type { Finding, Proposal } from '#shared/diagnosis.ts'
import { exploded, riseOf, uncertaintyOf } from '../collapse.ts'
import type { DiagnosedRun } from '../diagnosedRun.ts'
import { numberSettingOf, restart, restartSlower, short } from '../rule.ts'
import { averageOf, evidence } from '../series.ts'

/** The policy knows less and less what to say, though there was no reward to lose. */
export function entropyExplosion(run: DiagnosedRun): Finding[] {
  const uncertainty = uncertaintyOf(run)
  if (uncertainty === null || riseOf(uncertainty) <= exploded) return []
  const { name, start, end } = uncertainty
  const step = start.at(-1)?.step ?? 0
  return [
    {
      id: 'entropy-explosion',
      severity: 'problem',
      words: `The policy’s ${name} rose from ${short(averageOf(start))} to ${short(averageOf(end))} nats per token: it now chooses among ${short(Math.exp(riseOf(uncertainty)))} times as many tokens, on the way to choosing at random.`,
      evidence: [evidence(name, start), evidence(name, end)],
      proposals: [...lessBonus(run, step), restartSlower(run, step)],
    },
  ]
}

function lessBonus(run: DiagnosedRun, step: number): Proposal[] {
  const bonus = numberSettingOf(run, 'entropyCoefficient') ?? 0
  const less = Number((bonus / 10).toPrecision(2))
  return bonus === 0
    ? []
    : [restart(run, step, `an entropy bonus of ${less}`, { 'algorithm.settings.entropyCoefficient': less })]
}
