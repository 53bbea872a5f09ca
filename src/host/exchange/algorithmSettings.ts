/** The part of the table that belongs to algorithms. */
import { always, clipCap, clipOffsets, off, one, ratioBounds, upperDistance, words } from './links.ts'
import { agilerlKl, agilerlOffPolicy, arealAdvantageNorm, arealKl } from './specialLinks.ts'
import { groups, type SettingRow } from './settingRow.ts'
import { otherAlgorithms } from './otherAlgorithmSettings.ts'

const setting = (name: string) => `algorithm.settings.${name}`
const clipped = ['grpo', 'gspo']

const groupAlgorithms: readonly SettingRow[] = [
  {
    ours: setting('klCoefficient'),
    for: groups,
    trl: one('beta', 0, off(0, 0, null)),
    agilerl: agilerlKl(0.001),
    areal: arealKl,
  },
  {
    ours: setting('klEstimator'),
    for: [...groups, 'ppo'],
    needs: setting('klCoefficient'),
    off: 'k3',
  },
  {
    ours: setting('klImportanceWeighting'),
    for: groups,
    needs: setting('klCoefficient'),
    trl: one('use_bias_correction_kl', true),
    agilerl: one('use_bias_correction_kl', true),
    areal: always(false),
  },
  {
    ours: setting('klClamp'),
    for: [...groups, 'ppo'],
    needs: setting('klCoefficient'),
    off: null,
    trl: always(null),
    agilerl: one('kl_clamp', 10),
    areal: always(null),
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
    areal: clipOffsets('actor.eps_clip', 'actor.eps_clip_higher', 0.2),
  },
  {
    ours: setting('clipCoefficient'),
    for: ['cispo'],
    trl: clipCap('epsilon_high'),
    agilerl: one('clip_coef', 0.2, upperDistance),
  },
  {
    ours: setting('ratioLimit'),
    for: [...clipped, 'ppo'],
    off: null,
    trl: one('delta', null),
    areal: one('actor.c_clip', null),
  },
  {
    ours: setting('positiveTemperature'),
    for: ['sapo'],
    trl: one('sapo_temperature_pos', 1),
    areal: one('actor.sapo_tau_pos', 1),
  },
  {
    ours: setting('negativeTemperature'),
    for: ['sapo'],
    trl: one('sapo_temperature_neg', 1.05),
    areal: one('actor.sapo_tau_neg', 1.05),
  },
  {
    ours: setting('offPolicyThreshold'),
    for: groups,
    off: null,
    trl: one('off_policy_mask_threshold', null),
    agilerl: agilerlOffPolicy,
  },
  {
    ours: setting('importanceSamplingLevel'),
    for: ['grpo', 'cispo', 'sapo'],
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
        { 'trajectory-mean': 'micro_batch', 'token-mean': 'accumulation_window' },
        { episode: 'trajectory-mean' },
      ),
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
        { 'trajectory-mean': 'micro_batch', 'token-mean': 'accumulation_window' },
        { episode: 'trajectory-mean' },
      ),
    ),
  },
  {
    ours: setting('lossNorm'),
    for: ['sapo'],
    trl: one('loss_type', 'sapo', words({ 'trajectory-mean': 'sapo' })),
    areal: one('actor.loss_norm', 'token', words({ 'token-mean': 'token' })),
  },
  { ours: setting('topEntropyShare'), for: groups, off: 1, trl: one('top_entropy_quantile', 1) },
  {
    ours: setting('entropyCoefficient'),
    for: groups,
    off: 0,
    trl: one('entropy_coef', 0),
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
    areal: one('dynamic_bs', false),
  },
  { ours: setting('refillRounds'), for: [...groups, 'rloo', 'reinforce-plus-plus'], isCarried: true },
]

/** Settings that belong to an algorithm. */
export const algorithmSettings: readonly SettingRow[] = [...groupAlgorithms, ...otherAlgorithms]
