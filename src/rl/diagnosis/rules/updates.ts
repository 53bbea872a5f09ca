import type { Evidence, Finding } from '#shared/diagnosis.ts'
import type { ErrorCode } from '#shared/errors.ts'
import type { MetricName } from '#shared/metrics.ts'
import type { RunFailure } from '#shared/runs.ts'
import {
  type DiagnosedRun,
  pointsOf,
  stepsOf,
  seriesOf,
  type Measured,
  evidence,
  totalOf,
  medianOf,
  averageOf,
} from '../diagnosedRun.ts'
import {
  restartSlower,
  tryTheSelftest,
  change,
  short,
  lowerLearningRate,
  percent,
  raiseLearningRate,
} from '../rule.ts'
import { peakOf } from '../collapse.ts'
import { rewardRise, placeOn, rewardScaleOf, spanOf } from '../rewardScale.ts'

/** Metrics that are numbers as long as training is sound. */
const vital: readonly MetricName[] = [
  'loss',
  'policy_loss',
  'value_loss',
  'grad_norm',
  'reward',
  'entropy',
  'surprisal',
  'kl',
]

/** Error codes of runs that end before an update is applied. */
const refusals: readonly (ErrorCode | null)[] = ['run/diverged', 'run/unsound']

/** Numbers overflowed, or the run ended because an update with them would have been of no use. */
export function divergence(run: DiagnosedRun): Finding[] {
  const broken = vital.flatMap((name): Evidence[] => {
    const missing = pointsOf(run, name).filter(({ value }) => value === null)
    const [first, last] = [missing[0], missing.at(-1)]
    return first && last ? [{ of: name, value: null, fromStep: first.step, toStep: last.step }] : []
  })
  if (broken.length > 0) return [brokenDown(run, broken)]
  return run.failure !== null && refusals.includes(run.failure.code) ? [refused(run, run.failure)] : []
}

function brokenDown(run: DiagnosedRun, facts: readonly Evidence[]): Finding {
  const begin = facts.reduce((step, { fromStep }) => Math.min(step, fromStep), Infinity)
  return {
    id: 'diverged',
    severity: 'problem',
    words: `Numerical breakdown at step ${begin}: ${facts.map(({ of }) => of).join(', ')} ${facts.length === 1 ? 'is' : 'are'} no longer finite. Training after that point is useless.`,
    evidence: facts,
    proposals: [restartSlower(run, begin - 1)],
  }
}

/** Finding that the update was not applied: what was trained before is sound. */
function refused(run: DiagnosedRun, { code, message }: RunFailure): Finding {
  const step = stepsOf(run).last + 1
  const isDevice = code === 'run/unsound'
  return {
    id: 'diverged',
    severity: 'problem',
    words: `The run ended at step ${step}, because the numbers of an update could not be right. ${message} Earlier training is intact.`,
    evidence: [{ of: 'numbers of the update', value: null, fromStep: step, toStep: step }],
    proposals: [...(isDevice ? [tryTheSelftest] : []), restartSlower(run, step - 1)],
  }
}

/** Number of last steps looked at. */
const recent = 20
/** Number of skipped updates among them that is no accident. */
const several = 3

/** Updates whose numbers could not be right were left out, as `optimization.unsoundUpdates` asks. */
export function skippedUpdates(run: DiagnosedRun): Finding[] {
  const { last } = stepsOf(run)
  const skipped = seriesOf(run, 'update/skipped').filter(
    ({ step, value }) => step > last - recent && value > 0,
  )
  const first = skipped[0]
  if (first === undefined) return []
  const count = totalOf(skipped)
  return [
    {
      id: 'updates-skipped',
      severity: count >= several ? 'problem' : 'warning',
      words: `${count === 1 ? 'An update was' : `${count} updates were`} skipped since step ${first.step}, because the numbers could not be right; the log says which. The adapter was left unchanged.`,
      evidence: [evidence('update/skipped', skipped, count)],
      proposals: [tryTheSelftest, restartSlower(run, first.step - 1)],
    },
  ]
}

const stepsForMedian = 5
/**
 * Multiple of the usual length that counts as a spike: a thousand times is not a batch that happened to be hard; heavy
 * tails reach a hundred.
 */
export const spike = 1000

/** Gradient norm up to which only rounding is left; where no group teaches anything the gradient is 0 but for that. */
const rounding = 1e-8

/** Median of the steps that had a gradient; NaN where none had. */
export const medianNorm = (norms: readonly Measured[]): number =>
  medianOf(norms.filter(({ value }) => value > rounding))

/** Gradients that dwarf all others. */
export function gradientSpikes(run: DiagnosedRun): Finding[] {
  const norms = seriesOf(run, 'grad_norm')
  const peak = peakOf(norms.slice(-recent))
  const median = medianNorm(norms)
  if (norms.length < stepsForMedian || peak === null || !(median > 0)) return []
  const { maxGradNorm } = run.facts
  const spikes = norms.slice(-recent).filter(({ value }) => value > spike * median)
  if (spikes.length < (maxGradNorm === null ? 1 : several)) return []
  return [
    {
      id: 'gradient-spikes',
      severity: 'warning',
      words: `The gradient norm jumped to ${short(peak.value)} in step ${peak.step}, from a typical ${short(median)}.`,
      evidence: [evidence('grad_norm', [peak]), evidence('grad_norm, median', norms, median)],
      proposals: [
        ...(maxGradNorm === null
          ? [change('Clip gradients: max gradient norm 1.', { 'optimization.maxGradNorm': 1 })]
          : []),
        restartSlower(run, peak.step - 1, 3),
      ],
    },
  ]
}

const clipWindow = 10
const tooFew = 0.001
export const tooManyClipped = 0.2
/** Steps over which a flat reward means something, at least and at most. */
const [flatFor, recentSteps] = [20, 100]
/** Share of the reward scale: a reward that may have risen by more does move. */
const noRise = 0.1
/** Place on the reward scale above which there is little to gain. */
const good = 0.9

/**
 * Finds clip shares that are too high or too low: many clipped tokens mean too large updates, none at all with a flat
 * reward too small ones.
 */
export function clipShare(run: DiagnosedRun): Finding[] {
  const clipped = seriesOf(run, 'clip_ratio/region_mean').slice(-clipWindow)
  if (clipped.length < clipWindow) return []
  if (averageOf(clipped) > tooManyClipped) return [high(run, averageOf(clipped))]
  return averageOf(clipped) < tooFew ? low(run) : []
}

function high(run: DiagnosedRun, share: number): Finding {
  const { epochs } = run.facts
  return {
    id: 'clip-share-high',
    severity: 'warning',
    words: `${percent(share)} of the tokens are clipped: updates move the policy too far from the one that sampled.`,
    evidence: [
      evidence('clip_ratio/region_mean', seriesOf(run, 'clip_ratio/region_mean').slice(-clipWindow)),
    ],
    proposals: [
      lowerLearningRate(run, 2),
      ...(epochs > 1
        ? [
            change(`Make ${Math.ceil(epochs / 2)} instead of ${epochs} passes over the same completions.`, {
              'optimization.epochs': Math.ceil(epochs / 2),
            }),
          ]
        : []),
    ],
  }
}

function low(run: DiagnosedRun): Finding[] {
  const rewards = seriesOf(run, 'reward').slice(-recentSteps)
  const updates = seriesOf(run, 'update/count').slice(-clipWindow)
  // If there is one update per step, every ratio is 1, whatever the learning rate.
  const canClip = updates.length > 0 && averageOf(updates) > 1
  if (!canClip || rewards.length < flatFor) return []
  const scale = rewardScaleOf(run)
  const { rise, error } = rewardRise(run, rewards)
  if (rise + error > noRise * spanOf(scale) || placeOn(scale, averageOf(rewards)) >= good) return []
  return [
    {
      id: 'clip-share-low',
      severity: 'warning',
      words: 'Hardly any token is clipped and the reward does not move: updates are too small to learn from.',
      evidence: [
        evidence('clip_ratio/region_mean', seriesOf(run, 'clip_ratio/region_mean').slice(-clipWindow)),
        evidence('reward, second half less first', rewards, rise),
      ],
      proposals: [raiseLearningRate(run, 3)],
    },
  ]
}

/** Number of steps after which nobody wonders any more. */
const young = 20
const nearZero = 1e-3

/**
 * Explains a loss near zero at the start: on fresh trajectories ratios are 1 and advantages of a group add up to 0, so
 * the loss is about β·KL, which is about 0.
 */
export function lossZeroAtStart(run: DiagnosedRun): Finding[] {
  const losses = seriesOf(run, 'loss')
  const gradients = seriesOf(run, 'grad_norm')
  const isYoung = losses.length > 0 && losses.length <= young && seriesOf(run, 'reward').length > 0
  if (!isYoung || !losses.every(({ value }) => Math.abs(value) < nearZero)) return []
  // If no gradient flows, another rule says why.
  if (!gradients.some(({ value }) => value > 0)) return []
  return [
    {
      id: 'loss-zero-at-start',
      severity: 'note',
      words:
        'A loss near 0 is normal here: on fresh completions the loss is near 0 but the gradient is not. Watch the gradient norm and the reward.',
      evidence: [evidence('loss', losses), evidence('grad_norm', gradients, medianOf(gradients))],
      proposals: [],
    },
  ]
}
