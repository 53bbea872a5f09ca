/** The part of the table for the algorithms without groups, and for RLOO. */
import { clipDistance, one, words } from './links.ts'
import { labelSmoothing, nllWeight, preferenceLoss, agilerlKl, arealKl, rewardRange } from './specialLinks.ts'
import type { SettingRow } from './settingRow.ts'
import {
  axolotlBeta,
  axolotlLoss,
  axolotlSmoothing,
  llamafactoryLoss,
  llamafactorySmoothing,
  orElse,
} from './trainerLinks.ts'

const setting = (name: string) => `algorithm.settings.${name}`

export const otherAlgorithms: readonly SettingRow[] = [
  { ours: setting('klCoefficient'), for: ['rloo'], trl: one('beta', 0.05), areal: arealKl },
  {
    ours: setting('clipCoefficient'),
    for: ['rloo'],
    trl: clipDistance('epsilon', 'epsilon_high', 0.2),
    areal: one('actor.eps_clip', 0.2),
  },
  {
    ours: setting('normalizeAdvantages'),
    for: ['rloo'],
    off: false,
    trl: one('normalize_advantages', false),
  },
  { ours: setting('rewardClipRange'), for: ['rloo'], off: null, trl: rewardRange },
  {
    ours: setting('klCoefficient'),
    for: ['reinforce', 'remax', 'reinforce-plus-plus'],
    agilerl: agilerlKl(0.001),
    areal: arealKl,
  },
  {
    ours: setting('clipCoefficient'),
    for: ['reinforce', 'reinforce-plus-plus'],
    agilerl: one('clip_coef', 0.2),
    areal: one('actor.eps_clip', 0.2),
  },
  {
    ours: setting('discount'),
    for: ['reinforce'],
    off: 1,
    agilerl: one('gamma', 1),
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
    areal: arealKl,
  },
  {
    ours: setting('clipCoefficient'),
    for: ['ppo'],
    trl: one('cliprange', 0.2),
    agilerl: one('clip_coef', 0.2),
    areal: one('actor.eps_clip', 0.2),
  },
  {
    ours: setting('discount'),
    for: ['ppo'],
    trl: one('gamma', 1),
    agilerl: one('gamma', 1),
    areal: one('actor.discount', 1),
  },
  {
    ours: setting('gaeLambda'),
    for: ['ppo'],
    trl: one('lam', 0.95),
    agilerl: one('gae_lambda', 0.95),
    areal: one('actor.gae_lambda', 1),
  },
  { ours: setting('valueCoefficient'), for: ['ppo'], trl: one('vf_coef', 0.1), agilerl: one('vf_coef', 0.5) },
  {
    ours: setting('valueClipCoefficient'),
    for: ['ppo'],
    off: null,
    trl: one('cliprange_value', 0.2),
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
  { ours: setting('entropyCoefficient'), for: ['ppo'], off: 0 },
  {
    ours: setting('loss'),
    for: ['dpo'],
    trl: preferenceLoss,
    llamafactory: llamafactoryLoss,
    axolotl: axolotlLoss,
  },
  {
    ours: setting('beta'),
    for: ['dpo'],
    trl: one('beta', 0.1),
    agilerl: one('beta', 0.001),
    areal: one('actor.beta', 0.1),
    llamafactory: one('pref_beta', 0.1),
    axolotl: axolotlBeta,
  },
  {
    ours: setting('nllAlpha'),
    for: ['dpo'],
    off: 0,
    trl: nllWeight,
    agilerl: one('nll_alpha', 1),
    llamafactory: one('pref_ftx', 0),
    axolotl: orElse('rpo_alpha', 0),
  },
  {
    ours: setting('labelSmoothing'),
    for: ['dpo'],
    off: 0,
    trl: labelSmoothing,
    llamafactory: llamafactorySmoothing,
    axolotl: axolotlSmoothing,
  },
  { ours: setting('lossNorm'), for: ['sft'], off: 'token-mean' },
]
