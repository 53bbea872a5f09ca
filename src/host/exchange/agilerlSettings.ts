/** AgileRL’s names of the settings here, its defaults, and its settings that do not exist here. */
import { agilerlMinibatch } from './batches.ts'
import { agilerlPrompt, agilerlSplit, contextOf, filesOf } from './dataLinks.ts'
import {
  correction,
  off,
  one,
  onlyRead,
  ratioBounds,
  targetModules,
  unnamed,
  unset,
  upperDistance,
  words,
} from './links.ts'
import {
  answering,
  fixed,
  generating,
  groups,
  others,
  rowsOf,
  unread,
  withoutPpo,
  type FixedSetting,
  reasons,
} from './settingRow.ts'
import {
  agilerlActorRate,
  agilerlKl,
  agilerlLength,
  agilerlOffPolicy,
  agilerlPasses,
  agilerlSchedule,
  agilerlWarmup,
} from './specialLinks.ts'

export const agilerlSettings = rowsOf(
  [
    ['model', one('pretrained_model_name_or_path', null, unnamed)],
    ['data.train', onlyRead(filesOf('dataset'))],
    ['data.heldOut', agilerlSplit],
    ['data.prompt', agilerlPrompt],
    ['data.completion', one('response_column', null, unset), ['sft']],
    ['seed', one('seed', 42)],
    ['contextLength', contextOf('max_context_length')],
    ['adapter.rank', one('lora_r', 16)],
    ['adapter.alpha', one('lora_alpha', 32)],
    ['adapter.targets', one('target_modules', 'all-linear', targetModules)],
    ['adapter.dropout', one('lora_dropout', 0.05)],
    ['rollout.groupSize', one('group_size', 8), groups],
    ['rollout.promptsPerStep', one('batch_size', 16)],
    ['rollout.temperature', one('temperature', 0.9), generating],
    ['rollout.topK', one('top_k', 50), generating],
    ['rollout.topP', one('top_p', 1), generating],
    ['rollout.minP', one('min_p', 0), generating],
    ['rollout.repetitionPenalty', one('repetition_penalty', 1), generating],
    ['rollout.minNewTokens', one('min_output_tokens', null, off(0, null)), generating],
    ['rollout.maxNewTokens', one('max_output_tokens', null, unset), generating],
    ['rollout.mismatchCorrection', one('vllm_importance_sampling_correction', true, correction), generating],
    ['rollout.mismatchCap', one('vllm_importance_sampling_cap', 2), generating],
    ['optimization.learningRate', one('lr', 5e-7), [...withoutPpo, 'dpo']],
    ['optimization.learningRate', agilerlActorRate, ['ppo']],
    ['optimization.learningRate', one('lr', 5e-5), ['sft']],
    ['optimization.criticLearningRate', one('lr_critic', 5e-5), ['ppo']],
    ['optimization.schedule', agilerlSchedule, generating],
    ['optimization.warmupProportion', agilerlWarmup, generating],
    ['optimization.maxGradNorm', one('max_grad_norm', 0.1, off(null, 0))],
    ['optimization.epochs', one('update_epochs', 1)],
    ['optimization.minibatchSize', agilerlMinibatch(8), groups],
    ['optimization.minibatchSize', agilerlMinibatch(1), [...others, 'sft']],
    ['optimization.minibatchSize', agilerlMinibatch(1, 2), ['dpo']],
    ['steps', agilerlLength(8), groups],
    ['steps', agilerlLength(1), [...others, ...answering]],
    ['passes', agilerlPasses],
    ['evaluation.every', one('evaluation_interval', null, off(0, null))],
  ],
  [
    ['klCoefficient', agilerlKl(0.001), [...groups, 'reinforce', 'remax', 'reinforce-plus-plus', 'ppo']],
    ['klImportanceWeighting', one('use_bias_correction_kl', true), groups],
    ['klClamp', one('kl_clamp', 10), [...groups, 'ppo']],
    ['klAdvantageShaping', one('use_kl_advantage_shaping', false), groups],
    ['clipCoefficient', one('clip_coef', 0.2, ratioBounds), ['grpo', 'gspo']],
    ['clipCoefficient', one('clip_coef', 0.2, upperDistance), ['cispo']],
    ['clipCoefficient', one('clip_coef', 0.2), ['reinforce', 'reinforce-plus-plus', 'ppo']],
    ['offPolicyThreshold', agilerlOffPolicy, groups],
    [
      'importanceSamplingLevel',
      one(
        'importance_sampling_level',
        'token',
        words({ token: 'token', turn: 'turn', trajectory: 'trajectory' }),
      ),
      ['grpo', 'cispo', 'sapo'],
    ],
    ['importanceSamplingLevel', one('importance_sampling_level', 'token'), ['reinforce']],
    ['importanceSamplingLevel', one('importance_sampling_level', 'auto'), ['ppo']],
    [
      'advantageNorm',
      one('adv_norm', 'mean_only', words({ 'mean-std': 'mean_std', 'mean-only': 'mean_only' })),
      groups,
    ],
    ['advantageGranularity', one('advantage_granularity', 'auto'), [...groups, 'reinforce', 'ppo']],
    ['turnAdvantageFallback', one('turn_advantage_trajectory_fallback', true), groups],
    ['whitenAdvantages', one('whiten_advantages', false), groups],
    ['whitenAdvantages', one('whiten_advantages', true), ['ppo']],
    ['advantageClipRange', one('adv_clip_range', null), groups],
    ['filterZeroAdvantages', one('filter_zero_adv', false), groups],
    ['advantageFilterEpsilon', one('adv_filter_eps', 0), groups],
    [
      'lossNorm',
      one(
        'loss_norm',
        'accumulation_window',
        words(
          { 'trajectory-mean': 'micro_batch', 'token-mean': 'accumulation_window' },
          { episode: 'trajectory-mean' },
        ),
      ),
      ['grpo', 'gspo', 'cispo'],
    ],
    ['discount', one('gamma', 1), ['reinforce', 'ppo']],
    ['turnRatioPooling', one('turn_ratio_pooling', 'sum'), ['reinforce', 'ppo']],
    ['gaeLambda', one('gae_lambda', 0.95), ['ppo']],
    ['valueCoefficient', one('vf_coef', 0.5), ['ppo']],
    ['turnLevelClip', one('turn_level_clip', true), ['ppo']],
    [
      'turnValueReduction',
      one('turn_value_reduction', 'final_value', words({ 'final-value': 'final_value', mean: 'mean' })),
      ['ppo'],
    ],
    ['beta', one('beta', 0.001), ['dpo']],
    ['nllAlpha', one('nll_alpha', 1), ['dpo']],
  ],
)

const generates = [...groups, 'ppo', 'reinforce']

export const agilerlFixed: readonly FixedSetting[] = [
  ...fixed(false, reasons.machine)`use_liger_loss use_liger_kernel activation_offload use_sequence_packing`,
  ...fixed(true, reasons.machine)`gradient_checkpointing calc_position_embeddings cast_logprobs_to_fp32`,
  ...fixed(
    true,
    'the base itself is the reference with `reference.policy` base',
  )`use_separate_reference_adapter`,
  ...fixed(null, reasons.quantised)`quantization`,
  ...fixed(null, reasons.engine, generates)`vllm_config`,
  ...fixed(
    null,
    'Turnwise keeps single tokens far from their sampler',
    groups,
  )`off_policy_token_mask_bounds`.map((row) => ({ ...row, initial: [0.5, 5] })),
  ...fixed('trainer', 'Turnwise uses the learner’s log-probabilities', groups)`old_logprobs_source`,
  ...fixed(0.5, 'Turnwise’s cosine ends at half the rate')`cosine_lr_schedule_config.min_lr_ratio`,
  ...fixed(1, 'a run is one agent: start several runs for several agents')`pop_size`,
  ...unread(reasons.rewards)`reward_file_path reward_fn_name rubric_file_path rubric_name max_reward
    min_reward`,
  ...unread(
    'data.prompt says how rows become prompts',
  )`prompt_template columns response_column env_type objective dataset_path
    hf_dataset_id apply_chat_template max_turns`,
  ...unread(
    'the model’s own limit applies unless `contextLength` is smaller',
  )`max_context_length max_model_len`,
  ...unread('it is `adapter.rsLora`')`use_rslora`,
  ...unread(reasons.quantised)`quantization_config load_in_4bit load_in_8bit`,
  ...unread('it is `device.kind`, which finds the fastest device by itself')`device`,
  ...unread(
    'it has no meaning here: see “What has no meaning here” in docs/other-tools.md',
  )`wrap clone torch_compiler to_device evolvable_attributes get_lr_names`,
  ...unread(
    'the file describes no population: that takes `pop_size` of at least 2 and ranges of settings',
  )`evo_steps tournament_size elitism mutation_sd rand_seed hpo strategy
    eval_loop selection_strategy mutation`,
  ...unread(reasons.machine)`micro_batch_size_per_gpu data_batch_size_per_gpu reduce_memory_peak
    use_memory_efficient_params`,
  ...unread(reasons.engine)`use_vllm gpu_memory_utilization tensor_parallel_size max_num_seqs
    sleep_mode vllm_max_logprob_gap vllm_max_clip_fraction`,
  ...unread('it is implied by the algorithm')`algo loss_type task_type api_version`,
]
