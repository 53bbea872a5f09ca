import type { Finding } from '#shared/diagnosis.ts'
import { rewardRise } from '../chance.ts'
import { type DiagnosedRun, seriesOf } from '../diagnosedRun.ts'
import { placeOn, rewardScaleOf, spanOf } from '../rewardScale.ts'
import { change, lowerLearningRate, percent, raiseLearningRate } from '../rule.ts'
import { averageOf, evidence } from '../series.ts'

const window = 10
const tooFew = 0.001
export const tooManyClipped = 0.2
/** Steps over which a flat reward means something, at least and at most. */
const [flatFor, recent] = [20, 100]
/** Of the reward scale: a reward that may have risen by more does move. */
const noRise = 0.1
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
  const rewards = seriesOf(run, 'reward').slice(-recent)
  const updates = seriesOf(run, 'update/count').slice(-window)
  // With one update per step every ratio is 1, whatever the learning rate.
  const canClip = updates.length > 0 && averageOf(updates) > 1
  if (!canClip || rewards.length < flatFor) return []
  const scale = rewardScaleOf(run)
  const { rise, error } = rewardRise(run, rewards)
  if (rise + error > noRise * spanOf(scale) || placeOn(scale, averageOf(rewards)) >= good) return []
  return [
    {
      id: 'clip-share-low',
      severity: 'warning',
      words: 'Hardly a token is clipped and the reward does not move: updates are too small to learn from.',
      evidence: [
        evidence('clip_ratio/region_mean', seriesOf(run, 'clip_ratio/region_mean').slice(-window)),
        evidence('reward, second half less first', rewards, rise),
      ],
      proposals: [raiseLearningRate(run, 3)],
    },
  ]
}
