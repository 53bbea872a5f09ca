import type { Finding } from '#shared/diagnosis.ts'
import { type DiagnosedRun, seriesOf } from '../diagnosedRun.ts'
import { placeOn, rewardScaleOf } from '../rewardScale.ts'
import { change, lowerLearningRate, percent, raiseLearningRate } from '../rule.ts'
import { averageOf, evidence, trendOf } from '../series.ts'

const window = 10
const tooFew = 0.001
export const tooManyClipped = 0.2
/** Steps over which a flat reward means something. */
const flatFor = 20
/** There is little to gain above this place on the reward scale. */
const good = 0.9

/** How many tokens the clip silences: many mean too large updates, none at all with a flat reward too small ones. */
export function clipShare(run: DiagnosedRun): Finding[] {
  const clipped = seriesOf(run, 'clip_ratio/region_mean').slice(-window)
  if (clipped.length < window) return []
  if (averageOf(clipped) > tooManyClipped) return [high(run, averageOf(clipped))]
  return averageOf(clipped) < tooFew ? low(run) : []
}

function high(run: DiagnosedRun, share: number): Finding {
  const { epochs } = run.facts
  return {
    id: 'clip-share-high',
    severity: 'warning',
    words: `${percent(share)} of the tokens are clipped: updates move the policy farther than its samples can vouch for.`,
    evidence: [evidence('clip_ratio/region_mean', seriesOf(run, 'clip_ratio/region_mean').slice(-window))],
    proposals: [
      lowerLearningRate(run, 2),
      ...(epochs > 1
        ? [
            change(
              `Learn ${Math.ceil(epochs / 2)} times instead of ${epochs} times from the same completions.`,
              {
                'optimization.epochs': Math.ceil(epochs / 2),
              },
            ),
          ]
        : []),
    ],
  }
}

function low(run: DiagnosedRun): Finding[] {
  const rewards = seriesOf(run, 'reward').slice(-flatFor)
  const updates = seriesOf(run, 'update/count').slice(-window)
  // With one update per step every ratio is 1, whatever the learning rate.
  const canClip = updates.length > 0 && averageOf(updates) > 1
  if (!canClip || rewards.length < flatFor || !trendOf(rewards).isFlat) return []
  if (placeOn(rewardScaleOf(run), averageOf(rewards)) >= good) return []
  return [
    {
      id: 'clip-share-low',
      severity: 'warning',
      words: 'Hardly a token is clipped and the reward does not move: updates are too small to learn from.',
      evidence: [
        evidence('clip_ratio/region_mean', seriesOf(run, 'clip_ratio/region_mean').slice(-window)),
        evidence('reward, second half less first', rewards, trendOf(rewards).rise),
      ],
      proposals: [raiseLearningRate(run, 3)],
    },
  ]
}
