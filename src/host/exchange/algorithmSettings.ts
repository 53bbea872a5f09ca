/** The part of the table that belongs to algorithms. */
import { clipCap, clipDistance, clipOffsets, off, one, ratioBounds, words } from './links.ts'
import {
  agilerlKl,
  arealAdvantageNorm,
  arealKl,
  nllWeight,
  rewardRange,
  verlAdvantageNorm,
  verlClip,
  verlKl,
} from './specialLinks.ts'
import { actor, groups, type SettingRow } from './settingRow.ts'

const setting = (name: string) => `algorithm.settings.${name}`
const clipped = ['grpo', 'gspo']

const groupAlgorithms: readonly SettingRow[] = [
  {
    ours: setting('klCoefficient'),
    for: groups,
    trl: one('beta', 0),
    agilerl: agilerlKl(0.001),
    verl: verlKl,
    areal: arealKl,
  },
  {
    ours: setting('klAdvantageShaping'),
    for: groups,
    off: false,
    agilerl: one('use_kl_advantage_shaping', false),
  },
  {
    ours: setting('clipCoefficient'),
    for: clipped,
    trl: clipOffsets('epsilon', 'epsilon_high', 0.2),
    agilerl: one('clip_coef', 0.2, ratioBounds),
    verl: verlClip,
    areal: clipOffsets('actor.eps_clip', 'actor.eps_clip_higher', 0.2),
  },
  {
    ours: setting('clipCoefficient'),
    for: ['cispo'],
    trl: clipCap('epsilon_high'),
    agilerl: one('clip_coef', 0.2, ratioBounds),
    verl: verlClip,
  },
  {
    ours: setting('ratioLimit'),
    for: [...clipped, 'ppo'],
    off: null,
    trl: one('delta', null),
    verl: one(actor('clip_ratio_c'), 3),
    areal: one('actor.c_clip', null),
  },
  {
    ours: setting('importanceSamplingLevel'),
    for: ['grpo', 'cispo'],
    trl: one(
      'importance_sampling_level',
      'token',
      words({ token: 'token', trajectory: 'sequence', turn: 'sequence' }),
    ),
    agilerl: one(
      'importance_sampling_level',
      'token',
      words({ token: 'token', turn: 'turn', trajectory: 'trajectory' }),
    ),
    areal: one(
      'actor.importance_sampling_level',
      'token',
      words({ token: 'token', trajectory: 'sequence', turn: 'sequence' }),
    ),
  },
  {
    ours: setting('advantageNorm'),
    for: groups,
    trl: one(
      'scale_rewards',
      'group',
      words(
        { 'mean-std': 'group', 'mean-batch-std': 'batch', 'mean-only': 'none' },
        { true: 'mean-std', false: 'mean-only' },
      ),
    ),
    agilerl: one('adv_norm', 'mean_only', words({ 'mean-std': 'mean_std', 'mean-only': 'mean_only' })),
    verl: verlAdvantageNorm,
    areal: arealAdvantageNorm,
  },
  {
    ours: setting('advantageGranularity'),
    for: groups,
    off: 'auto',
    agilerl: one('advantage_granularity', 'auto'),
  },
  {
    ours: setting('turnAdvantageFallback'),
    for: groups,
    isCarried: true,
    agilerl: one('turn_advantage_trajectory_fallback', true),
  },
  { ours: setting('whitenAdvantages'), for: groups, off: false, agilerl: one('whiten_advantages', false) },
  { ours: setting('advantageClipRange'), for: groups, off: null, agilerl: one('adv_clip_range', null) },
  { ours: setting('filterZeroAdvantages'), for: groups, off: false, agilerl: one('filter_zero_adv', false) },
  { ours: setting('advantageFilterEpsilon'), for: groups, off: 0, agilerl: one('adv_filter_eps', 0) },
  {
    ours: setting('lossNorm'),
    for: clipped,
    trl: one(
      'loss_type',
      'dapo',
      words(
        { 'trajectory-mean': 'grpo', 'token-mean': 'dapo', 'constant-length': 'dr_grpo' },
        { bnpo: 'token-mean' },
      ),
    ),
    agilerl: one(
      'loss_norm',
      'accumulation_window',
      words(
        { 'trajectory-mean': 'episode', 'token-mean': 'accumulation_window' },
        { micro_batch: 'token-mean' },
      ),
    ),
    verl: one(
      actor('loss_agg_mode'),
      'token-mean',
      words({
        'token-mean': 'token-mean',
        'trajectory-mean': 'seq-mean-token-mean',
        'constant-length': 'seq-mean-token-sum-norm',
      }),
    ),
    areal: one('actor.loss_norm', 'token', words({ 'token-mean': 'token' })),
  },
  {
    ours: setting('lossNorm'),
    for: ['cispo'],
    trl: one('loss_type', 'cispo', words({ 'token-mean': 'cispo' })),
    agilerl: one(
      'loss_norm',
      'accumulation_window',
      words(
        { 'trajectory-mean': 'episode', 'token-mean': 'accumulation_window' },
        { micro_batch: 'token-mean' },
      ),
    ),
    verl: one(
      actor('loss_agg_mode'),
      'token-mean',
      words({
        'token-mean': 'token-mean',
        'trajectory-mean': 'seq-mean-token-mean',
        'constant-length': 'seq-mean-token-sum-norm',
      }),
    ),
  },
  { ours: setting('topEntropyShare'), for: groups, off: 1, trl: one('top_entropy_quantile', 1) },
  {
    ours: setting('entropyCoefficient'),
    for: groups,
    off: 0,
    trl: one('entropy_coef', 0),
    verl: one(actor('entropy_coeff'), 0),
  },
  {
    ours: setting('maskTruncated'),
    for: [...groups, 'rloo'],
    off: false,
    trl: one('mask_truncated_completions', false),
  },
  {
    ours: setting('overlongBuffer'),
    for: [...groups, 'rloo'],
    off: 0,
    trl: one('overlong_buffer', 0),
    areal: one('actor.overlong_tokens', null, off(0, null)),
  },
  {
    ours: setting('overlongPenalty'),
    for: [...groups, 'rloo'],
    isCarried: true,
    trl: one('overlong_penalty', 1),
    areal: one('actor.overlong_penalty_factor', null, off(1, null)),
  },
  {
    ours: setting('dynamicSampling'),
    for: [...groups, 'rloo', 'reinforce-plus-plus'],
    off: false,
    verl: one('algorithm.filter_groups.enable', false),
    areal: one('dynamic_bs', false),
  },
  { ours: setting('refillRounds'), for: [...groups, 'rloo', 'reinforce-plus-plus'], isCarried: true },
]

const otherAlgorithms: readonly SettingRow[] = [
  { ours: setting('rewardPlacement'), for: ['reinforce', 'ppo'] },
  { ours: setting('klCoefficient'), for: ['rloo'], trl: one('beta', 0.05), verl: verlKl, areal: arealKl },
  {
    ours: setting('clipCoefficient'),
    for: ['rloo'],
    trl: clipDistance('epsilon', 'epsilon_high', 0.2),
    verl: one(actor('clip_ratio'), 0.2),
    areal: one('actor.eps_clip', 0.2),
  },
  {
    ours: setting('normalizeAdvantages'),
    for: ['rloo'],
    off: false,
    trl: one('normalize_advantages', false),
  },
  { ours: setting('importanceSamplingLevel'), for: ['rloo'], off: 'trajectory' },
  { ours: setting('ratioPooling'), for: ['rloo'], off: 'sum' },
  { ours: setting('rewardClipRange'), for: ['rloo'], off: null, trl: rewardRange },
  {
    ours: setting('klCoefficient'),
    for: ['reinforce', 'remax', 'reinforce-plus-plus'],
    agilerl: agilerlKl(0.001),
    verl: verlKl,
    areal: arealKl,
  },
  {
    ours: setting('clipCoefficient'),
    for: ['reinforce', 'reinforce-plus-plus'],
    agilerl: one('clip_coef', 0.2),
    verl: one(actor('clip_ratio'), 0.2),
    areal: one('actor.eps_clip', 0.2),
  },
  {
    ours: setting('discount'),
    for: ['reinforce'],
    off: 1,
    agilerl: one('gamma', 1),
    verl: one('algorithm.gamma', 1),
    areal: one('actor.discount', 1),
  },
  {
    ours: setting('advantageGranularity'),
    for: ['reinforce', 'ppo'],
    off: 'auto',
    agilerl: one('advantage_granularity', 'auto'),
  },
  {
    ours: setting('importanceSamplingLevel'),
    for: ['reinforce'],
    off: 'token',
    agilerl: one('importance_sampling_level', 'token'),
  },
  {
    ours: setting('importanceSamplingLevel'),
    for: ['ppo'],
    off: 'auto',
    agilerl: one('importance_sampling_level', 'auto'),
  },
  {
    ours: setting('turnRatioPooling'),
    for: ['reinforce', 'ppo'],
    off: 'sum',
    agilerl: one('turn_ratio_pooling', 'sum'),
  },
  {
    ours: setting('klCoefficient'),
    for: ['ppo'],
    trl: one('kl_coef', 0.05),
    agilerl: agilerlKl(0.001),
    verl: verlKl,
    areal: arealKl,
  },
  {
    ours: setting('clipCoefficient'),
    for: ['ppo'],
    trl: one('cliprange', 0.2),
    agilerl: one('clip_coef', 0.2),
    verl: one(actor('clip_ratio'), 0.2),
    areal: one('actor.eps_clip', 0.2),
  },
  {
    ours: setting('discount'),
    for: ['ppo'],
    trl: one('gamma', 1),
    agilerl: one('gamma', 1),
    verl: one('algorithm.gamma', 1),
    areal: one('actor.discount', 1),
  },
  {
    ours: setting('gaeLambda'),
    for: ['ppo'],
    trl: one('lam', 0.95),
    agilerl: one('gae_lambda', 0.95),
    verl: one('algorithm.lam', 1),
    areal: one('actor.gae_lambda', 1),
  },
  { ours: setting('valueCoefficient'), for: ['ppo'], trl: one('vf_coef', 0.1), agilerl: one('vf_coef', 0.5) },
  {
    ours: setting('valueClipCoefficient'),
    for: ['ppo'],
    off: null,
    trl: one('cliprange_value', 0.2),
    verl: one('critic.cliprange_value', 0.5),
    areal: one('critic.value_eps_clip', 0.2),
  },
  { ours: setting('turnLevelClip'), for: ['ppo'], off: true, agilerl: one('turn_level_clip', true) },
  {
    ours: setting('turnValueReduction'),
    for: ['ppo'],
    off: 'final-value',
    agilerl: one(
      'turn_value_reduction',
      'final_value',
      words({ 'final-value': 'final_value', mean: 'mean' }),
    ),
  },
  { ours: setting('whitenAdvantages'), for: ['ppo'], agilerl: one('whiten_advantages', true) },
  { ours: setting('entropyCoefficient'), for: ['ppo'], off: 0, verl: one(actor('entropy_coeff'), 0) },
  { ours: setting('beta'), for: ['dpo'], trl: one('beta', 0.1), agilerl: one('beta', 0.001) },
  { ours: setting('nllAlpha'), for: ['dpo'], off: 0, trl: nllWeight, agilerl: one('nll_alpha', 1) },
  { ours: setting('labelSmoothing'), for: ['dpo'], off: 0, trl: one('label_smoothing', 0) },
  { ours: setting('lossNorm'), for: ['sft'], off: 'token-mean' },
]

/** Settings that belong to an algorithm. */
export const algorithmSettings: readonly SettingRow[] = [...groupAlgorithms, ...otherAlgorithms]
