/** Settings of the GRPO family and their rules. Most of them are shared with other algorithms. */
import {
  choiceSetting,
  flagSetting,
  numberOrPairSetting,
  numberSetting,
  optionalNumberSetting,
  type SettingsOf,
} from '#shared/config/settings.ts'
import type { GroupAcceptance, Needs } from '../types.ts'
import { acceptanceSettings, groupAcceptance } from './groups.ts'

export type RatioLevel = 'token' | 'turn' | 'trajectory'

export const ratioLevelSetting = choiceSetting(
  ['token', 'turn', 'trajectory'],
  'token',
  'Which tokens share one importance ratio.',
)

/** Allowed range of a ratio. */
export interface ClipBounds {
  readonly lower: number
  readonly upper: number
}

/** One number c means [1−c, 1+c], or the given lower bound with 1+c; a pair is the bounds themselves. */
export const clipBounds = (coefficient: number | readonly [number, number], lowest?: number): ClipBounds =>
  typeof coefficient === 'number'
    ? { lower: lowest ?? 1 - coefficient, upper: 1 + coefficient }
    : { lower: coefficient[0], upper: coefficient[1] }

export const clipSettings = {
  clipCoefficient: numberOrPairSetting({
    default: 0.2,
    description:
      'How far the importance ratio may move from 1: c for [1−c, 1+c], or the two bounds themselves.',
  }),
  ratioLimit: optionalNumberSetting({
    default: null,
    minimum: 1,
    description:
      'Two-sided clip: bounds the ratio itself, so that a token with a negative advantage costs at most this many times it.',
  }),
} as const

/** Conflicts: bounds that exclude 1, a ratio limit below the upper bound, or those of `groupConflicts`. */
export function clipConflicts({
  clipCoefficient,
  ratioLimit = null,
  ...settings
}: GroupConflictSettings & {
  readonly clipCoefficient: number | readonly [number, number]
  readonly ratioLimit?: number | null
}): [setting: string, message: string][] {
  const { lower, upper } = clipBounds(clipCoefficient)
  const pair = JSON.stringify(clipCoefficient)
  const problems = groupConflicts(settings)
  if (lower > 1 || upper < 1) {
    problems.push([
      'clipCoefficient',
      `a pair means the bounds of the ratio, which begins at 1; ${pair} excludes 1. Write [0.8, 1.28] for 0.2 below and 0.28 above.`,
    ])
  }
  if (ratioLimit !== null && ratioLimit <= upper) {
    problems.push(['ratioLimit', `must be above the upper clip bound ${upper}, got ${ratioLimit}.`])
  }
  return problems
}

export const klEstimators = ['k3', 'k1', 'k2', 'k3-reversed'] as const
export type KlEstimator = (typeof klEstimators)[number]

export const klEstimatorSettings = {
  klEstimator: choiceSetting(
    klEstimators,
    'k3',
    'Estimate of the divergence of the policy from the reference. k3-reversed is that of the reference from the policy, whose gradient grows without bound where the policy becomes more confident than the reference.',
  ),
  klClamp: optionalNumberSetting({
    default: 10,
    isPositive: true,
    description:
      'A token whose estimate is above this, where its gradient grows without bound (k3: the policy is far below the reference), leaves the KL term.',
  }),
} as const
export type KlEstimatorSettings = SettingsOf<typeof klEstimatorSettings>

export const klSettings = {
  klCoefficient: numberSetting({
    default: 0.001,
    minimum: 0,
    description: 'Weight β of the divergence from the reference policy; 0 needs no reference pass.',
  }),
  klAdvantageShaping: flagSetting(
    false,
    'Lets the divergence move the advantages instead of adding it to the loss.',
  ),
  klEstimator: klEstimatorSettings.klEstimator,
  // DeepSeek-AI 2025, arXiv:2512.02556, §3.1; TRL's and AgileRL's use_bias_correction_kl.
  klImportanceWeighting: flagSetting(
    true,
    'Multiplies the KL term by the importance ratio, so that its gradient stays unbiased after the first update of a step.',
  ),
  klClamp: klEstimatorSettings.klClamp,
} as const

export const weightingSettings = {
  lossNorm: choiceSetting(
    ['trajectory-mean', 'token-mean', 'constant-length'],
    'trajectory-mean',
    'Whether every trajectory weighs the same (GRPO), every token of the minibatch (DAPO, BNPO), or every token of the run (Dr. GRPO).',
  ),
  topEntropyShare: numberSetting({
    default: 1,
    minimum: 0.01,
    maximum: 1,
    description: 'Only this share of tokens, those with the highest entropy, learns from rewards; 1 is all.',
  }),
  entropyCoefficient: numberSetting({
    default: 0,
    minimum: 0,
    description:
      'Weight of a bonus on the policy’s mean entropy per token, against giving up exploring; 0 is off.',
  }),
  offPolicyThreshold: optionalNumberSetting({
    default: null,
    minimum: 0,
    description:
      'Ignores negative advantages of trajectories whose mean log-probability has fallen by more than this many nats per token since sampling.',
  }),
} as const

export const lengthSettings = {
  maskTruncated: flagSetting(
    false,
    'Leaves truncated trajectories out of the update; their rewards still count in the baseline.',
  ),
  overlongBuffer: numberSetting({
    default: 0,
    minimum: 0,
    integer: true,
    description:
      'Number of tokens before the length limit that cost reward, more the closer to the limit; 0 is off.',
  }),
  overlongPenalty: numberSetting({
    default: 1,
    minimum: 0,
    description: 'Reward lost by a trajectory at the length limit; needs overlongBuffer.',
  }),
} as const

export type LengthSettings = SettingsOf<typeof lengthSettings>

export const groupSize = { default: 8, minimum: 2 }

const groupAdvantageSettings = {
  advantageNorm: choiceSetting(
    ['mean-std', 'mean-batch-std', 'mean-only'],
    'mean-std',
    'Rewards are centred in their group, then divided by the standard deviation of the group or the whole batch, or not at all.',
  ),
  // TRL's multi_objective_aggregation.
  rewardAggregation: choiceSetting(
    ['sum-then-normalize', 'normalize-then-sum'],
    'sum-then-normalize',
    'Whether rewards of several functions are summed before they are compared in their group, or each is compared apart, so that one with a small range counts as much as its weight says (GDPO).',
  ),
  advantageGranularity: choiceSetting(
    ['auto', 'trajectory', 'turn'],
    'auto',
    'One advantage per trajectory or one per turn; auto follows the level of the importance ratio.',
  ),
  turnAdvantageFallback: flagSetting(
    true,
    'A turn that only one trajectory of the group reached takes that trajectory’s advantage instead of 0.',
  ),
  whitenAdvantages: flagSetting(false, 'Standardises advantages once more over the whole batch.'),
  advantageClipRange: optionalNumberSetting({
    default: null,
    isPositive: true,
    description: 'Limits advantages to ± this.',
  }),
  filterZeroAdvantages: flagSetting(
    false,
    'Leaves out trajectories with zero advantage, such as those of zero-variance groups.',
  ),
  advantageFilterEpsilon: numberSetting({
    default: 0,
    minimum: 0,
    description: 'Advantages of at most this magnitude count as zero.',
  }),
} as const
export type GroupAdvantageSettings = SettingsOf<typeof groupAdvantageSettings & typeof lengthSettings>

interface GroupConflictSettings {
  readonly advantageGranularity?: string
  readonly rewardAggregation?: GroupAdvantageSettings['rewardAggregation']
}

/** Conflicts: parts of rewards belong to a whole trajectory, so they are not compared turn by turn. */
export const groupConflicts = ({
  advantageGranularity,
  rewardAggregation,
}: GroupConflictSettings): [setting: string, message: string][] =>
  rewardAggregation === 'normalize-then-sum' && advantageGranularity === 'turn'
    ? [
        [
          'rewardAggregation',
          'normalize-then-sum compares the parts of whole trajectories; set advantageGranularity to trajectory or auto.',
        ],
      ]
    : []

/** Settings of algorithms that compare trajectories of one prompt, whatever the surrogate. */
export const groupSettings = {
  ...klSettings,
  ...groupAdvantageSettings,
  ...weightingSettings,
  ...lengthSettings,
  ...acceptanceSettings,
} as const
type GroupSettings = SettingsOf<typeof groupSettings>

export const groupNeeds = (settings: GroupSettings): Partial<Needs> => ({
  ratio: true,
  behaviorEntropies: settings.topEntropyShare < 1,
  reference: settings.klCoefficient !== 0,
  entropyGradient: settings.entropyCoefficient !== 0,
})

export const granularityAt = (
  {
    advantageGranularity,
    rewardAggregation,
  }: Pick<GroupSettings, 'advantageGranularity' | 'rewardAggregation'>,
  level: RatioLevel,
): 'trajectory' | 'turn' => {
  if (rewardAggregation === 'normalize-then-sum') return 'trajectory'
  if (advantageGranularity !== 'auto') return advantageGranularity
  return level === 'turn' ? 'turn' : 'trajectory'
}

export const acceptanceAt = (settings: GroupSettings, level: RatioLevel): GroupAcceptance | null =>
  groupAcceptance(settings, granularityAt(settings, level), settings.rewardAggregation)
