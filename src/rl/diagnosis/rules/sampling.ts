import type { Finding, Proposal } from '#shared/diagnosis.ts'
import { errorBetween, heldOutLevel, levelOf, perhaps, rewardScaleOf, spanOf } from '../rewardScale.ts'
import { type DiagnosedRun, type Measured, seriesOf, averageOf, evidence } from '../diagnosedRun.ts'
import type { RunFacts } from '../facts.ts'
import { change, percent, short, tryTheSelftest, changeSetting, numberSettingOf } from '../rule.ts'
import { serverUrls } from '#shared/config/addresses.ts'
import { exactGapLimit } from '#rl/training/updateGuard.ts'

const enough = 5
const tooManyAlike = 0.8
/** Temperatures beyond which the likeliest token is drawn nearly every time, or nearly never. */
const [cold, hot] = [0.3, 1.5]
const [fewTokens, smallShare, highMinP] = [1, 0.3, 0.9]
/** Share of the reward scale that sampling may cost against greedy decoding of the same policy. */
const costOfSampling = 0.1
/** Share of what greedy decoding earns; sampling must leave at least this much. */
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
      words: `Sampling is nearly deterministic (${said}): in ${percent(averageOf(alike))} of the groups all completions got the same reward, so there is nothing to compare.`,
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

/**
 * Finds sampling that is too wide, judged by what greedy decoding earned just before: what is learned meanwhile speaks
 * for sampling.
 */
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
      words: `At temperature ${short(temperature)} completions are close to random: they earn ${short(averageOf(sampled))}, and greedy decoding earned ${short(greedy.value)} with the same policy.`,
      evidence: [evidence('reward', sampled), evidence('eval_reward', [greedy])],
      proposals: [change('Set the temperature to 1.', { 'rollout.temperature': 1 })],
    },
  ]
}

const gapWindow = 10
const gapSteps = 3

/** Sampler and learner disagree on token probabilities, although both represent the same policy. */
export function samplerGap(run: DiagnosedRun): Finding[] {
  const { server, maxStaleness } = run.facts
  // An older policy samples otherwise than the one that learns; versions of the same age are still to agree.
  const metric = `sampling/${maxStaleness > 0 ? 'server' : 'sampling'}_logp_difference/mean` as const
  const gap = seriesOf(run, metric).slice(-gapWindow)
  if (gap.length < gapSteps || averageOf(gap) <= exactGapLimit) return []
  if (server === null) return [onThisMachine(gap, run.facts)]
  return [ofServer(evidence(metric, gap), averageOf(gap), { ...run.facts, server })]
}

function onThisMachine(
  gap: readonly Measured[],
  { precision, basePrecision }: Pick<RunFacts, 'precision' | 'basePrecision'>,
): Finding {
  const isRounded = precision !== 'f32' || basePrecision !== 'f32'
  const cause = isRounded
    ? `${precision === 'f32' ? 'products' : 'weights'} rounded to 8 bits are too coarse for this model`
    : 'it suggests a fault in precision or masks, on this device or in Turnwise'
  return {
    id: 'sampler-gap',
    severity: isRounded ? 'warning' : 'problem',
    words: `Train–inference logprob mismatch of ${short(averageOf(gap))} nats per token on the same completions: ${cause}.`,
    evidence: [evidence('sampling/sampling_logp_difference/mean', gap)],
    proposals: isRounded ? withoutRounding(precision === 'f32' ? 'base' : 'rollout') : [tryTheSelftest],
  }
}

const serverTitles = { vllm: 'vLLM', sglang: 'SGLang' } as const

/** Settings by which a server gives log-probabilities of what it sampled from. */
const serverSettings = {
  vllm: 'started with --logprobs-mode processed_logprobs',
  sglang: 'started without SGLANG_RETURN_ORIGINAL_LOGPROB',
} as const

/** Explains a gap to a server: two programs hold the weights, each in its own way. */
function ofServer(
  seen: Finding['evidence'][number],
  gap: number,
  {
    server: { kind, url },
    basePrecision,
    maxStaleness,
  }: RunFacts & { readonly server: NonNullable<RunFacts['server']> },
): Finding {
  const isRounded = basePrecision !== 'f32'
  const here = isRounded ? `this machine, whose base is rounded to ${basePrecision},` : 'this machine'
  const urls = serverUrls({ url })
  const [servers, it] = urls.length === 1 ? ['server', 'it'] : ['servers', 'each']
  return {
    id: 'sampler-gap',
    severity: 'warning',
    words: `The ${serverTitles[kind]} ${servers} at ${urls.join(', ')} and ${here} disagree by ${short(gap)} nats per token on the same completions. Check that ${it} serves the model of this run unquantised, loads every version of the adapter, and was ${serverSettings[kind]}.`,
    evidence: [seen],
    proposals: [
      ...(isRounded ? [change('Learn on an exact base.', { 'base.precision': 'f32' })] : []),
      change('Correct with importance weights.', { 'rollout.mismatchCorrection': 'on' }),
      change('Or generate on this machine.', {
        'rollout.server': null,
        ...(maxStaleness === 0 ? {} : { 'rollout.maxStaleness': 0 }),
      }),
    ],
  }
}

const withoutRounding = (section: 'base' | 'rollout'): readonly Proposal[] => [
  change('Generate with full precision.', { [`${section}.precision`]: 'f32' }),
  change('Or correct with importance weights.', { 'rollout.mismatchCorrection': 'on' }),
]

const capWindow = 10
export const tooManyTruncated = 0.5
const nearlyAll = 0.9

/** Truncated completions. */
export function capHits(run: DiagnosedRun): Finding[] {
  const cut = seriesOf(run, 'completions/clipped_ratio').slice(-capWindow)
  if (
    seriesOf(run, 'reward').length === 0 ||
    cut.length < capWindow / 2 ||
    averageOf(cut) <= tooManyTruncated
  )
    return []
  return [
    {
      id: 'cap-hits',
      severity: averageOf(cut) > nearlyAll ? 'problem' : 'warning',
      words: `${percent(averageOf(cut))} of the completions are truncated at ${tokens(run.facts.maxNewTokens)}${forced(run) ? ', because none may end before it' : ''}.`,
      evidence: [evidence('completions/clipped_ratio', cut)],
      proposals: proposals(run, averageOf(cut)),
    },
  ]
}

const forced = ({ facts: { minNewTokens, maxNewTokens } }: DiagnosedRun): boolean =>
  minNewTokens >= maxNewTokens

const tokens = (count: number): string => (count === 1 ? '1 token' : `${count} tokens`)

/** Proposes changes. Where nearly all are truncated, there is nothing that a penalty or a mask could tell them from. */
function proposals(run: DiagnosedRun, share: number): Proposal[] {
  const { maxNewTokens, settings } = run.facts
  const buffer = Math.ceil(maxNewTokens / 4)
  if (forced(run)) return [change('Set min new tokens to 0.', { 'rollout.minNewTokens': 0 })]
  const isAll = share > nearlyAll
  return [
    change(`Raise max new tokens to ${2 * maxNewTokens}.`, { 'rollout.maxNewTokens': 2 * maxNewTokens }),
    ...(!isAll && numberSettingOf(run, 'overlongBuffer') === 0
      ? [changeSetting(`Enable the overlong penalty (${buffer}-token buffer).`, 'overlongBuffer', buffer)]
      : []),
    ...(!isAll && settings['maskTruncated'] === false
      ? [changeSetting('Leave truncated completions out of the update.', 'maskTruncated', true)]
      : []),
  ]
}
