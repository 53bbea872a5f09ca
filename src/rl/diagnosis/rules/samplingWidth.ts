import type { Finding, Proposal } from '#shared/diagnosis.ts'
import { errorBetween, heldOutLevel, levelOf, perhaps } from '../chance.ts'
import { type DiagnosedRun, type Measured, seriesOf } from '../diagnosedRun.ts'
import type { RunFacts } from '../facts.ts'
import { rewardScaleOf, spanOf } from '../rewardScale.ts'
import { change, percent, short } from '../rule.ts'
import { averageOf, evidence } from '../series.ts'

const enough = 5
const tooManyAlike = 0.8
/** From here on the likeliest token is drawn nearly every time, or nearly never. */
const [cold, hot] = [0.3, 1.5]
const [fewTokens, smallShare, highMinP] = [1, 0.3, 0.9]
/** Of the reward scale: what sampling may cost against greedy decoding of the same policy. */
const costOfSampling = 0.1
/** Of what greedy decoding earns: less than half of it is left. */
const half = 0.5

/** Completions of a prompt are drawn in a way that leaves no choice, or nothing but chance. */
export const samplingWidth = (run: DiagnosedRun): Finding[] => [...tooNarrow(run), ...tooWide(run)]

interface Filter {
  readonly key: keyof RunFacts & ('temperature' | 'topK' | 'topP' | 'minP')
  readonly label: string
  readonly off: number
}

function tooNarrow(run: DiagnosedRun): Finding[] {
  const alike = seriesOf(run, 'frac_reward_zero_std').slice(-2 * enough)
  const filters = narrowFilters(run)
  if (filters.length === 0 || alike.length < enough || averageOf(alike) <= tooManyAlike) return []
  const said = filters.map(({ key, label }) => `${label} ${short(run.facts[key])}`).join(', ')
  return [
    {
      id: 'sampling-too-narrow',
      severity: 'problem',
      words: `Sampling leaves no choice (${said}): in ${percent(averageOf(alike))} of the groups all completions got the same reward, so there is nothing to compare.`,
      evidence: [evidence('frac_reward_zero_std', alike)],
      proposals: filters.map(off),
    },
  ]
}

function narrowFilters({ facts: { temperature, topK, topP, minP } }: DiagnosedRun): Filter[] {
  const known: readonly (Filter & { readonly isNarrow: boolean })[] = [
    { key: 'temperature', label: 'temperature', off: 1, isNarrow: temperature <= cold },
    { key: 'topK', label: 'top-k', off: 0, isNarrow: topK > 0 && topK <= fewTokens },
    { key: 'topP', label: 'top-p', off: 1, isNarrow: topP <= smallShare },
    { key: 'minP', label: 'min-p', off: 0, isNarrow: minP >= highMinP },
  ]
  return known.filter(({ isNarrow }) => isNarrow)
}

const off = ({ key, label, off: value }: Filter): Proposal =>
  key === 'temperature'
    ? change('Set the temperature to 1.', { 'rollout.temperature': value })
    : change(`Switch ${label} off.`, { [`rollout.${key}`]: value })

/** Judged by what greedy decoding earned just before: what is learned meanwhile speaks for sampling. */
function tooWide(run: DiagnosedRun): Finding[] {
  const rewards = seriesOf(run, 'reward')
  const next = ({ step }: Measured) => rewards.filter((each) => each.step > step).slice(0, enough)
  const greedy = seriesOf(run, 'eval_reward').findLast((each) => next(each).length === enough)
  const { temperature } = run.facts
  if (temperature < hot || greedy === undefined) return []
  const sampled = next(greedy)
  const scale = rewardScaleOf(run)
  const [decoded, drawn] = [heldOutLevel(run, greedy), levelOf(run, sampled)]
  const cost = decoded.mean - drawn.mean
  const chance = perhaps * errorBetween(scale, decoded, drawn)
  const isDear = cost > costOfSampling * spanOf(scale) && cost > half * (decoded.mean - scale.low)
  if (!isDear || cost <= chance) return []
  return [
    {
      id: 'sampling-too-wide',
      severity: 'problem',
      words: `At temperature ${short(temperature)} completions are little more than chance: they earn ${short(averageOf(sampled))} where greedy decoding earned ${short(greedy.value)} with the same policy.`,
      evidence: [evidence('reward', sampled), evidence('eval_reward', [greedy])],
      proposals: [change('Set the temperature to 1.', { 'rollout.temperature': 1 })],
    },
  ]
}
