import type { Evidence, Finding, Proposal } from '#shared/diagnosis.ts'
import {
  type DiagnosedRun,
  type Measured,
  seriesOf,
  stepsOf,
  averageOf,
  evidence,
  medianOf,
  valuesOf,
} from '../diagnosedRun.ts'
import { perhaps, placeOn, rewardRise, rewardScaleOf } from '../rewardScale.ts'
import { change, raiseLearningRate, rateRange, short } from '../rule.ts'
import { tooManyAlike } from './groupCollapse.ts'

/** Steps after the warm-up that have to agree, and evaluations before and among them. */
const [enough, evaluations] = [20, 3]
/** Share of the reward scale below which a possible gain counts as none. */
const noticeable = 0.02
/** Place on the reward scale above which there is little to gain. */
const good = 0.9
/** Adapters are used with scales of 1 to 4. */
const smallScale = 0.5

/** Rewards tell completions apart, but updates are so small that the policy is still the one it began as. */
export function learnsNothing(run: DiagnosedRun): Finding[] {
  const rewards = seriesOf(run, 'reward').slice(run.facts.warmupSteps)
  const alike = averageOf(seriesOf(run, 'frac_reward_zero_std').slice(-enough))
  const spread = averageOf(seriesOf(run, 'reward_std').slice(-enough))
  if (rewards.length < enough || alike > tooManyAlike || !(spread > 0)) return []
  const stillness = nearToStart(run) ?? sameAnswers(run)
  const { rise, error } = rewardRise(run, rewards)
  const isGood = placeOn(rewardScaleOf(run), averageOf(rewards)) >= good
  if (stillness === null || rise > perhaps * error || isGood) return []
  return [
    {
      id: 'learns-nothing',
      severity: 'problem',
      words: `The policy learns nothing: rewards tell completions apart, but after ${rewards.length} steps it is still the one it began as${stillness.words}. ${causeOf(run)}`,
      evidence: [...stillness.evidence, evidence('reward, second half less first', rewards, rise)],
      proposals: remedies(run),
    },
  ]
}

interface Stillness {
  readonly words: string
  readonly evidence: readonly Evidence[]
}

/**
 * Two policies whose completions diverge by KL nats earn rewards that differ by √(KL / 2) of their span at most (Pinsker's
 * inequality); a token’s divergence times their length is that of completions. At a steady pace the bound grows in proportion to the steps.
 */
function nearToStart(run: DiagnosedRun): Stillness | null {
  const kl = seriesOf(run, 'kl').slice(-enough / 2)
  const lengths = seriesOf(run, 'completions/mean_length').slice(-enough / 2)
  const divergence = Math.abs(medianOf(kl)) * averageOf(lengths)
  const { first, last } = stepsOf(run)
  const ahead = Math.max(1, (run.facts.steps ?? 0) / (last - first + 1))
  const isNear = ahead * Math.sqrt(divergence / 2) <= noticeable
  if (!run.facts.isReferenceFixed || !isNear) return null
  return {
    words: ` (KL ${short(medianOf(kl))} nats per token)`,
    evidence: [evidence('kl, median', kl, medianOf(kl))],
  }
}

/** Evidence without a measured divergence: every evaluation has the same lengths and rewards. */
function sameAnswers(run: DiagnosedRun): Stillness | null {
  const [heldOut, lengths] = [seriesOf(run, 'eval_reward'), seriesOf(run, 'eval_completions/mean_length')]
  const isSame = (series: readonly Measured[]) => new Set(valuesOf(series)).size === 1
  const until = heldOut.findLast(({ step }) => step >= (heldOut[0]?.step ?? 0) + enough)
  const isMeasured = heldOut.length >= evaluations && lengths.length === heldOut.length
  if (until === undefined || !isMeasured || seriesOf(run, 'kl').length > 0) return null
  if (!isSame(heldOut) || !isSame(lengths)) return null
  return {
    words: `, and earns ${short(averageOf(heldOut))} in each of ${heldOut.length} evaluations`,
    evidence: [evidence('eval_reward', heldOut), evidence('eval_completions/mean_length', lengths)],
  }
}

const isSmallScale = ({ facts }: DiagnosedRun): boolean => facts.adapterScale < smallScale

function causeOf(run: DiagnosedRun): string {
  const { adapterScale, learningRate } = run.facts
  if (isSmallScale(run))
    return `The adapter’s scale α / rank is ${short(adapterScale)} (1 to 4 is usual), which makes every update that much smaller.`
  return `The learning rate of ${short(learningRate)} is the most likely cause; adapters are usually trained with ${rateRange.lowest} to ${rateRange.highest}.`
}

/** Proposals that raise the rate or the rank enough to show an effect, within the usual range. */
function remedies(run: DiagnosedRun): Proposal[] {
  const { learningRate, rank } = run.facts
  const factor = learningRate > 0 ? Math.min(100, Math.max(3, rateRange.highest / 5 / learningRate)) : 1
  return [
    ...(isSmallScale(run)
      ? [
          change(
            'Set the adapter’s alpha to twice its rank, in a new run, since a fork keeps its adapter.',
            {},
          ),
        ]
      : []),
    ...(learningRate < rateRange.highest ? [raiseLearningRate(run, factor)] : []),
    ...(rank < 4 ? [change('Give the adapter a rank of 8 or more, in a new run.', {})] : []),
  ]
}
