/** The figures behind the rules, so that users can verify a clean diagnosis. */
import type { Check, Finding } from '#shared/diagnosis.ts'
import type { MetricName } from '#shared/metrics.ts'
import { exactGapLimit } from '../training/updateGuard.ts'
import { exploded, fallOf, klBound, lastKl, peakOf, uncertaintyOf } from './collapse.ts'
import { type DiagnosedRun, type Measured, seriesOf, averageOf, medianOf, totalOf } from './diagnosedRun.ts'
import { short } from './rule.ts'
import { tooManyTruncated } from './rules/sampling.ts'
import { tooManyClipped, gradientSpikes, spike, medianNorm } from './rules/updates.ts'
import { tooManyAlike } from './rules/groupCollapse.ts'

const [window, early] = [10, 5]

/** Checks of a run; one whose metric a finding shows as evidence is beyond its limit, with the finding's figures. */
export const checksOf = (run: DiagnosedRun, findings: readonly Finding[]): Check[] =>
  allChecks(run).map((check) => {
    const finding = findings.find(({ evidence }) => evidence.some(({ of }) => of === check.metric))
    if (finding === undefined || finding.severity === 'note') return check
    const figures = finding.evidence.flatMap(({ of, value }) =>
      of === check.metric && value !== null ? [value] : [],
    )
    const [first, last] = [figures[0], figures.at(-1)]
    const isWithin = false
    if (first === undefined || last === undefined || check.unit === 'times') return { ...check, isWithin }
    return { ...check, before: figures.length > 1 ? first : check.before, value: last, isWithin }
  })

const allChecks = (run: DiagnosedRun): Check[] => [
  ...reward(run),
  ...heldOut(run),
  ...uncertainty(run),
  ...kl(run),
  ...gradient(run),
  ...share(run, 'frac_reward_zero_std', 'Zero-variance groups', tooManyAlike),
  ...share(run, 'completions/clipped_ratio', 'Truncated completions', tooManyTruncated),
  ...share(run, 'clip_ratio/region_mean', 'Clip fraction', tooManyClipped),
  ...mismatch(run),
  ...none(run, 'reward/failures', 'Reward failures'),
  ...none(run, 'reward/unscored', 'Completions without a reward'),
  ...given(run),
]

const last = (run: DiagnosedRun, name: MetricName): readonly Measured[] => seriesOf(run, name).slice(-window)

function reward(run: DiagnosedRun): Check[] {
  const rewards = seriesOf(run, 'reward')
  if (rewards.length === 0) return []
  const before = averageOf(rewards.slice(0, early))
  const value = averageOf(rewards.slice(-early))
  const limit = 'less than half of its best'
  return [
    {
      title: 'Reward',
      metric: 'reward',
      before,
      value,
      unit: 'reward',
      limit,
      isWithin: fallOf(run) === null,
    },
  ]
}

function heldOut(run: DiagnosedRun): Check[] {
  const rewards = seriesOf(run, 'eval_reward')
  const [first, newest] = [rewards[0], rewards.at(-1)]
  if (first === undefined || newest === undefined || first === newest) return []
  const figures = { before: first.value, value: newest.value, unit: 'reward' as const }
  const isWithin = newest.value >= first.value
  return [{ title: 'Eval reward', metric: 'eval_reward', ...figures, limit: 'below the start', isWithin }]
}

function uncertainty(run: DiagnosedRun): Check[] {
  const known = uncertaintyOf(run)
  if (known === null) return []
  const [before, value] = [averageOf(known.start), averageOf(known.end)]
  const title = known.name === 'entropy' ? 'Entropy' : 'Surprisal'
  const limit = `${short(exploded)} nats above the start`
  return [
    { title, metric: known.name, before, value, unit: 'nats', limit, isWithin: value - before <= exploded },
  ]
}

function kl(run: DiagnosedRun): Check[] {
  const series = lastKl(run)
  if (series.length === 0) return []
  const value = medianOf(series)
  const limit = `above ${short(klBound)} nats per token`
  const isWithin = value <= klBound
  return [
    { title: 'KL divergence, median', metric: 'kl', before: null, value, unit: 'nats', limit, isWithin },
  ]
}

function gradient(run: DiagnosedRun): Check[] {
  const norms = seriesOf(run, 'grad_norm')
  const [peak, median] = [peakOf(norms.slice(-2 * window)), medianNorm(norms)]
  if (peak === null || !(median > 0)) return []
  const value = peak.value / median
  const limit = `above ${short(spike)} times, ${run.facts.maxGradNorm === null ? 'once' : 'again and again'}`
  const title = 'Gradient norm, largest over median'
  const isWithin = gradientSpikes(run).length === 0
  return [{ title, metric: 'grad_norm', before: null, value, unit: 'times', limit, isWithin }]
}

function share(run: DiagnosedRun, metric: MetricName, title: string, most: number): Check[] {
  const series = last(run, metric)
  if (series.length === 0) return []
  const value = averageOf(series)
  const limit = `above ${short(100 * most)} %`
  return [{ title, metric, before: null, value, unit: 'share', limit, isWithin: value <= most }]
}

function mismatch(run: DiagnosedRun): Check[] {
  const metric = 'sampling/sampling_logp_difference/mean'
  const series = last(run, metric)
  if (series.length === 0) return []
  const value = averageOf(series)
  const title = 'Train–inference logprob mismatch'
  const limit = `above ${short(exactGapLimit)} nats`
  return [{ title, metric, before: null, value, unit: 'nats', limit, isWithin: value <= exactGapLimit }]
}

function none(run: DiagnosedRun, metric: MetricName, title: string): Check[] {
  const series = last(run, metric)
  if (series.length === 0) return []
  const value = totalOf(series)
  return [{ title, metric, before: null, value, unit: 'count', limit: 'above 0', isWithin: value === 0 }]
}

/** Learning from given answers. */
function given(run: DiagnosedRun): Check[] {
  const losses = seriesOf(run, 'loss')
  if (losses.length === 0 || seriesOf(run, 'reward').length > 0) return []
  const [before, value] = [averageOf(losses.slice(0, early)), averageOf(losses.slice(-early))]
  const limit = '1 nat above the start'
  return [
    { title: 'Loss', metric: 'loss', before, value, unit: 'nats', limit, isWithin: value <= before + 1 },
  ]
}
