import type { Evidence, Finding, Proposal } from '#shared/diagnosis.ts'
import { metricLabel } from '#shared/metrics.ts'
import {
  exploded,
  type Fall,
  fallOf,
  hasTurned,
  isKlHopeless,
  isStill,
  lastKl,
  peakOf,
  uncertaintiesOf,
  uncertaintyOf,
} from '../collapse.ts'
import { type DiagnosedRun, seriesOf, averageOf, evidence, medianOf, valuesOf } from '../diagnosedRun.ts'
import { rewardScaleOf, spanOf } from '../rewardScale.ts'
import { change, changeSetting, numberSettingOf, restart, restartSlower, short, rateRange } from '../rule.ts'
import { largeBonus } from './entropy.ts'
import { spike } from './updates.ts'

/** Nats: the loss of given answers, their mean negative log-probability, rises so far only when updates overshoot. */
const lossRise = 1
/** Scales that adapters are used with are 1 to 4; from here on one update changes the model as many do otherwise. */
const largeScale = 16

/** Updates destroyed what the model could do. A fall of the reward is not required if it was zero to begin with. */
export function policyDestroyed(run: DiagnosedRun): Finding[] {
  if (seriesOf(run, 'reward').length === 0) return examplesUnlearned(run)
  const fall = fallOf(run)
  const signs = signsOf(run, fall)
  if (fall === null && isKlHopeless(run) && signs.length > 1) return [finding(run, 0, signs)]
  if (fall === null) return overshot(run)
  const facts = [evidence('reward', fall.before), evidence('reward', fall.after.slice(-fall.before.length))]
  if (signs.length > 0) return [finding(run, fall.step, [...facts, ...signs], fall)]
  return [
    {
      id: 'reward-collapse',
      severity: 'problem',
      words: `The reward collapsed after step ${fall.step}: from ${short(averageOf(fall.before))} to ${short(averageOf(fall.after))}, and it has not recovered.`,
      evidence: facts,
      proposals: remedies(run, fall.step),
    },
  ]
}

function finding(
  run: DiagnosedRun,
  step: number,
  facts: readonly Evidence[],
  fall: Fall | null = null,
): Finding {
  const reward =
    fall && `the reward fell from ${short(averageOf(fall.before))} to ${short(averageOf(fall.after))}`
  const rest = [...Map.groupBy(facts, ({ of }) => of)].flatMap(([of, told]) =>
    of === 'reward' ? [] : [`${inSentence(metricLabel(of))} ${figures(told)}`],
  )
  const signs = [reward, ...rest].filter((each) => each !== null).join(', ')
  return {
    id: 'policy-destroyed',
    severity: 'problem',
    words: `The policy was destroyed${step === 0 ? '' : ` after step ${step}`}: ${signs}. ${causeOf(run)} Training after that point is useless.`,
    evidence: facts,
    proposals: remedies(run, step),
  }
}

/** Label as written within a sentence: an abbreviation stays. */
const inSentence = (label: string): string => label.replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase())

/** Figures as text, from the first to the last where there are two. */
const figures = (told: readonly Evidence[]): string =>
  told.map(({ value }) => short(value ?? NaN)).join(' → ')

/** Lists what the policy shows besides its reward, where it shows anything. */
function signsOf(run: DiagnosedRun, fall: Fall | null): Evidence[] {
  const step = fall?.step ?? null
  const uncertainty = uncertaintyOf(run, step)
  const gradients = seriesOf(run, 'grad_norm')
  const [early, late] = [
    gradients.filter((each) => step === null || each.step <= step + 1),
    gradients.filter((each) => step !== null && each.step > step),
  ]
  const peak = peakOf(late)
  return [
    ...turnOf(run, uncertainty, step),
    ...heldOutFall(run),
    ...(isKlHopeless(run) ? [evidence('kl', lastKl(run), medianOf(lastKl(run)))] : []),
    ...(peak !== null && peak.value > spike * medianOf(early) ? [evidence('grad_norm', [peak])] : []),
    ...(isStill(late.slice(-5)) ? [evidence('grad_norm', late.slice(-5))] : []),
  ]
}

/**
 * Finds updates at a rate that adapters do not bear. The first ones can be enough: then there is hardly a level from
 * which the reward could fall, but the completions are of another kind than before and earn no more.
 */
function overshot(run: DiagnosedRun): Finding[] {
  const rewards = seriesOf(run, 'reward')
  if (run.facts.learningRate <= 10 * rateRange.highest || rewards.length < 8) return []
  const [first, last] = [rewards.slice(0, 2), rewards.slice(-5)]
  const gained = averageOf(last) - averageOf(first)
  if (gained > spanOf(rewardScaleOf(run)) / 10) return []
  const turned = (['completions/clipped_ratio', 'frac_reward_zero_std'] as const).flatMap((of) => {
    const series = seriesOf(run, of)
    const [early, late] = [series.slice(0, 2), series.slice(-5)]
    return averageOf(late) - averageOf(early) > 0.5 ? [evidence(of, early), evidence(of, late)] : []
  })
  if (turned.length === 0) return []
  return [finding(run, 0, [evidence('reward', first), evidence('reward', last), ...turned])]
}

/** Evidence that greedy decoding earns less than half of what it earned at the start. */
function heldOutFall(run: DiagnosedRun): Evidence[] {
  const rewards = seriesOf(run, 'eval_reward')
  const [first, last] = [rewards[0], rewards.at(-1)]
  if (first === undefined || last === undefined) return []
  const scale = rewardScaleOf(run)
  const isDeep = last.value - scale.low < (first.value - scale.low) / 2
  const isFall = first.value - last.value > spanOf(scale) / 10
  return isDeep && isFall ? [evidence('eval_reward', [first]), evidence('eval_reward', [last])] : []
}

/** Evidence that the policy ends far more or far less sure than it was, or was so for a moment after `step`. */
function turnOf(
  run: DiagnosedRun,
  uncertainty: ReturnType<typeof uncertaintyOf>,
  step: number | null,
): Evidence[] {
  if (uncertainty === null) return []
  const { name, start, end } = uncertainty
  if (hasTurned(uncertainty)) return [evidence(name, start), evidence(name, end)]
  const peak = peakOf(uncertaintiesOf(run).series.filter((each) => step !== null && each.step > step))
  return peak !== null && peak.value - averageOf(start) > exploded
    ? [evidence(name, start), evidence(name, [peak])]
    : []
}

/** Learning from given answers. */
function examplesUnlearned(run: DiagnosedRun): Finding[] {
  const losses = seriesOf(run, 'loss')
  const [start, end] = [losses.slice(0, 3), losses.slice(-5)]
  if (losses.length < 8 || averageOf(end) - Math.min(...valuesOf(start)) <= lossRise) return []
  const last = losses.findLast(({ value }) => value <= Math.min(...valuesOf(start)) + lossRise)
  return [finding(run, last?.step ?? 0, [evidence('loss', start), evidence('loss', end)])]
}

type Cause = 'adapter' | 'bonus' | 'rate'

function causeIn(run: DiagnosedRun): Cause {
  if (run.facts.adapterScale >= largeScale) return 'adapter'
  return (numberSettingOf(run, 'entropyCoefficient') ?? 0) >= largeBonus ? 'bonus' : 'rate'
}

function causeOf(run: DiagnosedRun): string {
  const { adapterScale, learningRate } = run.facts
  const words: Readonly<Record<Cause, string>> = {
    adapter: `The adapter’s scale α / rank is ${short(adapterScale)} (1 to 4 is usual), which makes every update that much larger.`,
    bonus: `The entropy bonus of ${short(numberSettingOf(run, 'entropyCoefficient') ?? 0)} outweighs the reward.`,
    rate: `The learning rate of ${short(learningRate)} is the most likely cause${learningRate > rateRange.highest ? `; adapters are usually trained with ${rateRange.lowest} to ${rateRange.highest}` : ''}.`,
  }
  return words[causeIn(run)]
}

/** Proposes restarts from before it happened, with the likeliest cause undone. */
function remedies(run: DiagnosedRun, step: number): Proposal[] {
  const bonus = numberSettingOf(run, 'entropyCoefficient') ?? 0
  const less = Number((bonus / 100).toPrecision(2))
  const own: Readonly<Record<Cause, readonly Proposal[]>> = {
    adapter: [
      change('Set the adapter’s alpha to twice its rank, in a new run, since a fork keeps its adapter.', {}),
    ],
    bonus: [
      restart(run, step, `an entropy bonus of ${less}`, { 'algorithm.settings.entropyCoefficient': less }),
    ],
    rate: [],
  }
  const weight = numberSettingOf(run, 'klCoefficient')
  return [
    ...own[causeIn(run)],
    restartSlower(run, step),
    ...(weight === 0
      ? [changeSetting('Hold it near the reference: KL coefficient (β) 0.01.', 'klCoefficient', 0.01)]
      : []),
    ...(run.facts.maxGradNorm === null
      ? [change('Clip gradients: max gradient norm 1.', { 'optimization.maxGradNorm': 1 })]
      : []),
  ]
}
