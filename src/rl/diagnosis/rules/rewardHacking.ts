import type { Finding } from '#shared/diagnosis.ts'
import {
  errorBetween,
  heldOutLevel,
  levelOf,
  perhaps,
  surely,
  ceilingOf,
  rewardScaleOf,
  spanOf,
} from '../rewardScale.ts'
import {
  type DiagnosedRun,
  type Measured,
  seriesOf,
  averageOf,
  evidence,
  trendOf,
  valuesOf,
} from '../diagnosedRun.ts'
import type { RewardFact } from '../facts.ts'
import { look, lookAtSamples, percent, short } from '../rule.ts'
import { earnsNothing, isFormatReward } from './formatMismatch.ts'

const window = 5
const enough = 20
/** Shares of the reward scale. */
const [worthARise, noRise] = [0.1, 0.02]
const dominant = 0.8
/** Shares of a term's ceiling: a term that stands higher or gained more has had its part. */
const [full, gained] = [0.8, 0.05]

/** The reward rises, but the policy gets no better at the intended task. */
export const rewardHacking = (run: DiagnosedRun): Finding[] => [
  ...oneTermDominates(run),
  ...longerNotBetter(run),
]

interface Term {
  readonly reward: RewardFact
  readonly start: readonly Measured[]
  readonly end: readonly Measured[]
  /** Weighted rise of the reward. */
  readonly rise: number
}

function oneTermDominates(run: DiagnosedRun): Finding[] {
  const terms = run.facts.rewards
    .filter(({ weight }) => weight !== 0)
    .flatMap((reward) => termOf(run, reward))
  const total = terms.reduce((sum, { rise }) => sum + rise, 0)
  if (terms.length < 2 || total < worthARise * spanOf(rewardScaleOf(run))) return []
  const top = terms.find((term) => term.rise > dominant * total && isSureRise(run, term))
  const behind = terms.filter((term) => term !== top && isLeftBehind(run, term))
  if (!top || behind.length === 0 || isWhatIsMeant(run, terms, top)) return []
  const { name } = top.reward
  const others = behind.map(({ reward }) => `“${reward.name}”`).join(' and ')
  return [
    {
      id: 'one-reward-dominates',
      severity: 'warning',
      words: `“${name}” makes up ${percent(top.rise / total)} of the rise in reward while ${others} did not move: the policy may be optimising only the easy part.`,
      evidence: [top, ...behind].flatMap(({ reward, start, end }) => [
        evidence(`rewards/${reward.name}/mean`, start),
        evidence(`rewards/${reward.name}/mean`, end),
      ]),
      proposals: [
        lookAtSamples(
          'Inspect the best-scored samples, and turn one that does not deserve its score into a test.',
          top.end,
        ),
        look(`Lower the weight of “${name}”, or count it only where the others apply.`, {
          kind: 'reward',
          name,
        }),
      ],
    },
  ]
}

function termOf(run: DiagnosedRun, reward: RewardFact): Term[] {
  const means = seriesOf(run, `rewards/${reward.name}/mean`)
  if (means.length < enough) return []
  const [start, end] = [means.slice(0, window), means.slice(-window)]
  return [{ reward, start, end, rise: reward.weight * (averageOf(end) - averageOf(start)) }]
}

function isSureRise(run: DiagnosedRun, { reward, start, end, rise }: Term): boolean {
  const scale = { low: Math.min(0, ...valuesOf([...start, ...end])), high: ceilingOf(run, reward) }
  const error = errorBetween(scale, levelOf(run, start), levelOf(run, end))
  return rise > surely * Math.abs(reward.weight) * error
}

/** Returns true if the greater part of the reward rises most, which is as it should be, unless it is about form. */
function isWhatIsMeant(run: DiagnosedRun, terms: readonly Term[], top: Term): boolean {
  const worth = ({ reward }: Term) => Math.max(0, reward.weight) * ceilingOf(run, reward)
  const all = terms.reduce((sum, term) => sum + worth(term), 0)
  return worth(top) > all / 2 && !isFormatReward(top.reward)
}

function isLeftBehind(run: DiagnosedRun, { reward, start, end }: Term): boolean {
  const ceiling = ceilingOf(run, reward)
  const hasRoom = averageOf(end) < full * ceiling
  if (isFormatReward(reward) && earnsNothing(run, reward)) return false // said elsewhere
  const { rise, error } = trendOf(seriesOf(run, `rewards/${reward.name}/mean`))
  const hasMoved = averageOf(end) - averageOf(start) >= gained * ceiling || rise > perhaps * error
  return reward.weight > 0 && hasRoom && !hasMoved
}

function longerNotBetter(run: DiagnosedRun): Finding[] {
  const lengths = seriesOf(run, 'completions/mean_length')
  const heldOut = seriesOf(run, 'eval_reward')
  const [before, after] = [heldOut[0], heldOut.at(-1)]
  if (lengths.length < enough || seriesOf(run, 'reward').length === 0) return []
  if (heldOut.length < 2 || before === undefined || after === undefined) return []
  const [start, end] = [lengths.slice(0, window), lengths.slice(-window)]
  const hasDoubled = averageOf(end) >= 2 * averageOf(start)
  const scale = rewardScaleOf(run)
  const [first, last] = [heldOutLevel(run, before), heldOutLevel(run, after)]
  const rise = last.mean - first.mean
  const isNoBetter = rise < noRise * spanOf(scale)
  const mayBeBetter = rise + errorBetween(scale, first, last) > worthARise * spanOf(scale)
  if (!hasDoubled || !isNoBetter || mayBeBetter) return []
  return [
    {
      id: 'longer-not-better',
      severity: 'warning',
      words: `Completions have grown from ${short(averageOf(start))} to ${short(averageOf(end))} tokens, but on the validation split the policy is no better for it.`,
      evidence: [
        evidence('completions/mean_length', start),
        evidence('completions/mean_length', end),
        evidence('eval_reward', [before]),
        evidence('eval_reward', [after]),
      ],
      proposals: [lookAtSamples('Inspect what the longer completions contain.', end)],
    },
  ]
}
