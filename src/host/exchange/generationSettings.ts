/** The part of the table about rollouts. */
import { rowsPerUpdate, trlPrompts } from './batches.ts'
import { always, off, offBeyond, one, onlyRead, words } from './links.ts'
import { answering, generating, groups, others, perTrainer, type SettingRow } from './settingRow.ts'
import { decoupled, minimumTokens, stopTexts } from './specialLinks.ts'

const correction = words({ auto: true, on: true, off: false })
const prompts = {
  agilerl: one('batch_size', 16),
  areal: one('train_dataset.batch_size', 1),
}
const newTokens = {
  agilerl: one('max_output_tokens', null, off(undefined, null)),
  areal: one('gconfig.max_new_tokens', 16_384),
}
export const generationSettings: readonly SettingRow[] = [
  {
    ours: 'rollout.groupSize',
    for: groups,
    trl: one('num_generations', 8),
    agilerl: one('group_size', 8),
    areal: one('gconfig.n_samples', 1),
  },
  {
    ours: 'rollout.groupSize',
    for: others.filter((id) => id !== 'ppo'),
    off: 1,
    trl: one('num_generations', 2),
    areal: one('gconfig.n_samples', 1),
  },
  {
    ours: 'rollout.groupSize',
    for: ['ppo'],
    off: 1,
    trl: always(1),
    areal: one('gconfig.n_samples', 1),
  },
  ...perTrainer('rollout.promptsPerStep', ({ trl }) => ({ trl: trlPrompts(trl), ...prompts })),
  {
    ours: 'rollout.promptsPerStep',
    for: answering,
    trl: rowsPerUpdate('per_device_train_batch_size', 8),
    llamafactory: onlyRead(rowsPerUpdate('per_device_train_batch_size', 8)),
    axolotl: onlyRead(rowsPerUpdate('micro_batch_size', 1)),
    ...prompts,
  },
  {
    ours: 'rollout.temperature',
    for: generating,
    trl: one('temperature', 1),
    agilerl: one('temperature', 0.9),
    areal: one('gconfig.temperature', 1),
  },
  {
    ours: 'rollout.topK',
    for: generating,
    trl: one('top_k', 0, off(0, 0, null)),
    agilerl: one('top_k', 50),
    areal: one('gconfig.top_k', 1e8, offBeyond(1e8)),
  },
  {
    ours: 'rollout.topP',
    for: generating,
    trl: one('top_p', 1),
    agilerl: one('top_p', 1),
    areal: one('gconfig.top_p', 1),
  },
  { ours: 'rollout.minP', for: generating, trl: one('min_p', null, off(0, null)), agilerl: one('min_p', 0) },
  {
    ours: 'rollout.repetitionPenalty',
    for: generating,
    trl: one('repetition_penalty', 1),
    agilerl: one('repetition_penalty', 1),
  },
  {
    ours: 'rollout.minNewTokens',
    for: generating,
    trl: minimumTokens,
    agilerl: one('min_output_tokens', null, off(0, null)),
    areal: one('gconfig.min_new_tokens', 0),
  },
  {
    ours: 'rollout.maxNewTokens',
    for: generating.filter((id) => id !== 'ppo'),
    trl: one('max_completion_length', 512),
    ...newTokens,
  },
  { ours: 'rollout.maxNewTokens', for: ['ppo'], trl: one('response_length', 53), ...newTokens },
  {
    ours: 'rollout.stopStrings',
    for: generating,
    trl: stopTexts,
    areal: one('gconfig.stop', null, off([], null)),
  },
  { ours: 'rollout.precision', off: 'f32', for: generating },
  { ours: 'rollout.maxStaleness', off: 0, for: generating },
  {
    ours: 'rollout.mismatchCorrection',
    for: groups,
    trl: one('vllm_importance_sampling_correction', true, correction),
    agilerl: one('vllm_importance_sampling_correction', true, correction),
    areal: decoupled,
  },
  {
    ours: 'rollout.mismatchCorrection',
    for: others,
    agilerl: one('vllm_importance_sampling_correction', true, correction),
  },
  {
    ours: 'rollout.mismatchMode',
    for: groups,
    off: 'truncate',
    trl: one(
      'vllm_importance_sampling_mode',
      'sequence_mask',
      words({ truncate: 'token_truncate', mask: 'token_mask' }),
    ),
    areal: one('actor.rejection_sampling.action', 'mask', words({ truncate: 'clamp', mask: 'mask' })),
  },
  { ours: 'rollout.mismatchMode', for: others, off: 'truncate' },
  {
    ours: 'rollout.mismatchCap',
    for: groups,
    trl: one('vllm_importance_sampling_clip_max', 3),
    agilerl: one('vllm_importance_sampling_cap', 2),
    areal: one('actor.rejection_sampling.upper', 5),
  },
  {
    ours: 'rollout.mismatchCap',
    for: others,
    isCarried: true,
    agilerl: one('vllm_importance_sampling_cap', 2),
  },
]
