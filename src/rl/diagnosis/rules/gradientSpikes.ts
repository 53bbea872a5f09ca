import type { Finding } from '#shared/diagnosis.ts'
import { peakOf } from '../collapse.ts'
import { type DiagnosedRun, type Measured, seriesOf } from '../diagnosedRun.ts'
import { change, restartSlower, short } from '../rule.ts'
import { evidence, medianOf } from '../series.ts'

const enough = 5
/** A thousand times the usual length is no batch that happened to be hard; heavy tails reach a hundred. */
export const spike = 1000
/** What lies back farther has had its effect, or none. */
const recent = 20

/** One that was clipped has moved the policy no farther than any other; several mean that it is about to break down. */
const several = 3

/** Where no group teaches anything the gradient is 0 but for rounding. */
const rounding = 1e-8

/** Of the steps that had a gradient; NaN where none had. */
export const usualNorm = (norms: readonly Measured[]): number =>
  medianOf(norms.filter(({ value }) => value > rounding))

/** Gradients that dwarf all others. */
export function gradientSpikes(run: DiagnosedRun): Finding[] {
  const norms = seriesOf(run, 'grad_norm')
  const peak = peakOf(norms.slice(-recent))
  const usual = usualNorm(norms)
  if (norms.length < enough || peak === null || !(usual > 0)) return []
  const { maxGradNorm } = run.facts
  const spikes = norms.slice(-recent).filter(({ value }) => value > spike * usual)
  if (spikes.length < (maxGradNorm === null ? 1 : several)) return []
  return [
    {
      id: 'gradient-spikes',
      severity: 'warning',
      words: `The gradient norm jumped to ${short(peak.value)} in step ${peak.step}, where ${short(usual)} is usual.`,
      evidence: [evidence('grad_norm', [peak]), evidence('grad_norm, median', norms, usual)],
      proposals: [
        ...(maxGradNorm === null
          ? [change('Clip gradients: max gradient norm 1.', { 'optimization.maxGradNorm': 1 })]
          : []),
        restartSlower(run, peak.step - 1, 3),
      ],
    },
  ]
}
