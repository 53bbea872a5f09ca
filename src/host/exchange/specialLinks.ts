/** Links specific to one tool: schedules, penalties, norms. */
import { smoothedLosses, type PreferenceLossName } from '#rl/algorithms/dpo.ts'
import { isObject } from '#shared/config/paths.ts'
import { asNumber, asText, atMost, one, type Link, type Quantities, tidy, type Given } from './links.ts'

/** TRL's generation arguments hold it. */
export const minimumTokens: Link = {
  keys: { 'generation_kwargs.min_new_tokens': null, generation_kwargs: null },
  read: (given) => asNumber(given('generation_kwargs.min_new_tokens')) ?? 0,
  write: (value) => ({ generation_kwargs: { min_new_tokens: value } }),
}

const stops = ['stop', 'stop_strings'].map((name) => `generation_kwargs.${name}`)

/** Stop strings of vLLM and of transformers; a project has no way to say them. */
export const stopTexts: Link = {
  keys: Object.fromEntries(stops.map((name) => [name, null])),
  read(given, remark) {
    const found = stops.flatMap((name) => listOf(given(name)).map((value) => ({ name, value })))
    const texts = found.flatMap(({ name, value }) => {
      if (typeof value === 'string' && value !== '') return [value]
      remark(`${name}: ${asText(value)} was left aside: a completion ends at texts.`)
      return []
    })
    return [...new Set(texts)]
  },
}

export const templateSwitches: Link = {
  keys: { chat_template_kwargs: null },
  read(given, remark) {
    const value = given('chat_template_kwargs')
    const [taken, left] = [new Map<string, unknown>(), new Array<string>()]
    for (const [name, each] of Object.entries(isObject(value) ? value : {}))
      if (['string', 'number', 'boolean'].includes(typeof each)) taken.set(name, each)
      else left.push(name)
    if (left.length > 0)
      remark(`${left.join(', ')} left aside: a template gets texts, numbers and true or false.`)
    return Object.fromEntries(taken)
  },
}

/** Ours ends a quarter of the way round, that of transformers halfway: num_cycles says which. */
export const transformersSchedule = (name: string, initial: string): Link => ({
  keys: { [name]: initial, lr_scheduler_kwargs: null, 'lr_scheduler_kwargs.num_cycles': null },
  read(given, remark) {
    const kind = String(given(name))
    if (kind === 'constant' || kind === 'constant_with_warmup') return 'constant'
    if (kind === 'linear') return 'linear'
    if (!kind.startsWith('cosine')) {
      remark(`The schedule “${kind}” has no equivalent.`)
      return undefined
    }
    if (kind !== 'cosine')
      remark(`${kind} was replaced by Turnwise’s cosine, which decays to half the learning rate.`)
    else if (given('lr_scheduler_kwargs.num_cycles') !== 0.25)
      remark('That cosine decays to 0; Turnwise’s decays to half the learning rate.')
    return 'cosine'
  },
  write: (value, quantities) => ({
    [name]: value === 'constant' ? 'constant_with_warmup' : value,
    lr_scheduler_kwargs: value === 'cosine' && quantities.steps > 0 ? { num_cycles: 0.25 } : {},
  }),
})

const listOf = (value: unknown): readonly unknown[] => {
  if (Array.isArray(value)) return value as unknown[]
  return value === null || value === undefined ? [] : [value]
}

/** A pair of bounds there, one distance from 0 here. */
export const rewardRange: Link = one('reward_clip_range', null, {
  read(value, remark) {
    if (value === null) return null
    const [low, high] = listOf(value).map(asNumber)
    if (typeof low === 'number' && typeof high === 'number' && high > 0 && low === -high) return high
    remark('The bounds are not symmetric around 0; Turnwise’s must be.')
    return undefined
  },
  write: (value) => (value === null ? null : [-Number(value), Number(value)]),
})

/** Gradient accumulation for given answers: TRL takes one update per step. */
export const trlAccumulated: Link = { keys: {} }

const usesCosine = 'cosine_lr_schedule_config.num_steps'

export const agilerlSchedule: Link = {
  keys: { [usesCosine]: null, 'cosine_lr_schedule_config.num_epochs': null, cosine_lr_schedule_config: null },
  read(given, remark) {
    const hasCosine = given(usesCosine) !== null || given('cosine_lr_schedule_config.num_epochs') !== null
    if (hasCosine)
      remark('AgileRL’s cosine decays to its own floor; Turnwise’s decays to half the learning rate.')
    return hasCosine ? 'cosine' : 'constant'
  },
  write: (value, quantities) => ({
    cosine_lr_schedule_config:
      value === 'linear' ? undefined : value === 'cosine' ? cosineOf(quantities) : null,
  }),
}

const cosineOf = ({ steps, updatesPerStep, warmup }: Quantities) => ({
  num_steps: steps * updatesPerStep,
  warmup_proportion: warmup,
  min_lr_ratio: 0.5,
})

export const agilerlWarmup: Link = {
  keys: { 'cosine_lr_schedule_config.warmup_proportion': 0 },
  read: (given) => given('cosine_lr_schedule_config.warmup_proportion'),
  write: () => ({}),
}

/** Length of an AgileRL run, whose steps are trajectories (rows of given answers). */
export const agilerlLength = (groupSize: number): Link => ({
  keys: { max_steps: null, batch_size: 16, group_size: groupSize },
  read(given) {
    const all = asNumber(given('max_steps'))
    const perStep = (asNumber(given('batch_size')) ?? 1) * (asNumber(given('group_size')) ?? 1)
    return all === null ? null : Math.max(1, Math.round(all / perStep))
  },
  write: (_, { steps, perStep }) => ({ max_steps: steps * perStep }),
})

export const agilerlPasses: Link = {
  keys: { num_epochs: null },
  read: (given) => asNumber(given('num_epochs')) ?? undefined,
}

/** The manifest takes up to 1. */
export const agilerlKl = (initial: number): Link => one('beta', initial, atMost(1))

/** Off-policy mask of AgileRL, which also drops the KL term. */
export const agilerlOffPolicy: Link = one('off_policy_sequence_mask_threshold', 0.03, {
  read(value, remark) {
    if (value !== null)
      remark('AgileRL also drops the KL term of these trajectories; Turnwise, like TRL, keeps it.')
    return value
  },
  write: (value) => value,
})

/** AReaL subtracts it from the reward. */
export const arealKl: Link = {
  keys: { 'actor.kl_ctl': 0.1 },
  read(given, remark) {
    const value = given('actor.kl_ctl')
    if (value !== 0)
      remark(
        'AReaL puts the KL term into the reward (k1 unless kl_estimator says otherwise); in Turnwise the algorithm decides where it is applied.',
      )
    return value
  },
}

const norm = (name: string) => `actor.reward_norm.${name}`

export const arealAdvantageNorm: Link = {
  keys: { [norm('mean_level')]: null, [norm('std_level')]: null },
  read(given, remark) {
    const [mean, spread] = [given(norm('mean_level')), given(norm('std_level'))]
    if (mean !== 'group')
      remark(
        'It does not centre rewards in their group; Turnwise always does: `reinforce` has no such baseline.',
      )
    if (spread === 'group') return 'mean-std'
    return spread === 'batch' ? 'mean-batch-std' : 'mean-only'
  },
}

/** Names of earlier versions for the largest weight, beyond which a token is left out. */
const weightCaps = ['actor.behav_imp_weight_cap', 'actor.behave_imp_weight_cap']

const weightCap = (given: Given): number | null =>
  weightCaps.map((name) => asNumber(given(name))).find((value) => value !== null) ?? null

const rejection = (name: string) => `actor.rejection_sampling.${name}`

/** Decoupled loss: the weight of the behaviour policy counts there only where both are set. */
export const decoupled: Link = {
  keys: {
    'actor.use_decoupled_loss': false,
    [rejection('action')]: null,
    [rejection('level')]: 'token',
    [rejection('metric')]: 'ratio',
    [rejection('upper')]: null,
    [rejection('lower')]: null,
    ...Object.fromEntries(weightCaps.map((name) => [name, null])),
  },
  read(given, remark) {
    if (given('actor.use_decoupled_loss') !== true) return 'off'
    const hasRejection = [rejection('action'), rejection('upper')].some((name) => given(name) !== null)
    if (!hasRejection && weightCap(given) !== null) return 'on'
    if (!hasRejection) {
      remark('Without rejection_sampling AReaL ignores the sampler’s probabilities, and so does this run.')
      return 'off'
    }
    if (given(rejection('level')) !== 'token' || given(rejection('metric')) !== 'ratio')
      remark('Turnwise computes the weights per token.')
    if (given(rejection('lower')) !== null) remark('Turnwise only caps the weights from above.')
    return 'on'
  },
}

export const arealCap: Link = {
  keys: { [rejection('upper')]: 5, ...Object.fromEntries(weightCaps.map((name) => [name, null])) },
  read(given) {
    const earlier = weightCap(given)
    return earlier !== null && given(rejection('action')) === null ? earlier : given(rejection('upper'))
  },
}

/** PPO's manifest takes either name. */
export const agilerlActorRate: Link = {
  keys: { lr_actor: 5e-7, lr: null },
  read: (given) => given('lr') ?? given('lr_actor'),
  write: (value) => ({ lr_actor: value }),
}

/* DPO's losses: TRL has a list of them with weights, in which the likelihood of the chosen answer is one. */

/** Ours → theirs; `conservative` is in no version of TRL. */
const names: Readonly<Partial<Record<PreferenceLossName, string>>> = {
  sigmoid: 'sigmoid',
  hinge: 'hinge',
  ipo: 'ipo',
  robust: 'robust',
  exo: 'exo_pair',
  sppo: 'sppo_hard',
  'apo-zero': 'apo_zero',
  'apo-down': 'apo_down',
}

const ours = (theirs: unknown): PreferenceLossName | undefined =>
  (Object.keys(names) as PreferenceLossName[]).find((name) => names[name] === theirs)

/**
 * Returns the pair losses that a file names; toolAlgorithms refuses those that do not exist here, and several at once.
 */
export const pairLosses = (given: Given): readonly unknown[] =>
  listOf(given('loss_type') ?? 'sigmoid').filter((type) => type !== 'sft')

export const isKnownPairLoss = (type: unknown): boolean => ours(type) !== undefined

export const trlPreferenceLosses = Object.values(names)

const keys = { loss_type: ['sigmoid'], loss_weights: null }

export const preferenceLoss: Link = {
  keys: { loss_type: keys.loss_type },
  read: (given) => ours(pairLosses(given)[0]),
  // The weight of the likelihood writes the list.
  write: (value) => (names[value as PreferenceLossName] === undefined ? { loss_type: undefined } : {}),
}

export const nllWeight: Link = {
  keys: { ...keys, rpo_alpha: null },
  read(given, remark) {
    // Versions before the list of losses.
    const earlier = asNumber(given('rpo_alpha'))
    if (earlier !== null) return earlier
    const [types, weights] = [listOf(given('loss_type')), listOf(given('loss_weights'))]
    const weightOf = (type: unknown) =>
      types.includes(type) ? (asNumber(weights[types.indexOf(type)]) ?? 1) : 0
    const main = weightOf(pairLosses(given)[0]) || 1
    if (main !== 1)
      remark(`In TRL the weight ${main} scales the whole pair loss; in Turnwise that weight is 1.`)
    return tidy(weightOf('sft') / main)
  },
  write(value, { preferenceLoss: loss }) {
    const name = names[loss as PreferenceLossName] ?? 'sigmoid'
    return value === 0
      ? { loss_type: [name], loss_weights: [1] }
      : { loss_type: [name, 'sft'], loss_weights: [1, value] }
  },
}

export const labelSmoothing: Link = {
  keys: { label_smoothing: 0, ...keys },
  read(given, remark) {
    const [value, type] = [given('label_smoothing'), pairLosses(given)[0]]
    const loss = ours(type)
    if (value === 0 || (loss !== undefined && smoothedLosses.includes(loss))) return value
    const earlier =
      type === 'sigmoid' ? ' Earlier versions smoothed it, which is the loss “conservative” here.' : ''
    remark(`TRL's loss ${String(type)} ignores label_smoothing, so Turnwise sets it to 0.${earlier}`)
    return 0
  },
  write: (value, { preferenceLoss: loss }) => ({
    label_smoothing: loss === 'conservative' ? undefined : value,
  }),
}
