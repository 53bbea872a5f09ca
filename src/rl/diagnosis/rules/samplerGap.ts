import type { Finding, Proposal } from '#shared/diagnosis.ts'
import { type DiagnosedRun, seriesOf } from '../diagnosedRun.ts'
import { change, look, short } from '../rule.ts'
import { averageOf, evidence } from '../series.ts'

const window = 10
const enough = 3
/** Nats per token. */
const tooWide = 0.05

/** Generating and learning disagree on how likely a token was, though both mean the same policy. */
export function samplerGap(run: DiagnosedRun): Finding[] {
  const gap = seriesOf(run, 'sampling/sampling_logp_difference/mean').slice(-window)
  if (gap.length < enough || averageOf(gap) <= tooWide) return []
  const { precision, basePrecision } = run.facts
  const isRounded = precision !== 'f32' || basePrecision !== 'f32'
  const cause = isRounded
    ? `${precision === 'f32' ? 'products' : 'weights'} rounded to 8 bits are too coarse for this model`
    : 'it hints at a fault in precision or masks, on this device or in this program'
  return [
    {
      id: 'sampler-gap',
      severity: isRounded ? 'warning' : 'problem',
      words: `Generating and learning disagree by ${short(averageOf(gap))} nats per token on the same completions: ${cause}.`,
      evidence: [evidence('sampling/sampling_logp_difference/mean', gap)],
      proposals: isRounded ? withoutRounding(precision === 'f32' ? 'base' : 'rollout') : tested,
    },
  ]
}

const withoutRounding = (section: 'base' | 'rollout'): readonly Proposal[] => [
  change('Generate with full precision.', { [`${section}.precision`]: 'f32' }),
  change('Or weigh tokens by how much the two disagree.', { 'rollout.mismatchCorrection': 'on' }),
]

const tested: readonly Proposal[] = [look('Run the self-test on this machine.', { kind: 'selftest' })]
