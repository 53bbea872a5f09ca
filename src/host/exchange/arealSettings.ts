/** AReaL’s names of the settings here, its defaults, and its settings that do not exist here. */
import { arealMinibatch } from './batches.ts'
import { contextOf, filesOf } from './dataLinks.ts'
import { always, clipOffsets, off, offBeyond, one, targetModules, unnamed, unset, words } from './links.ts'
import {
  answering,
  fixed,
  generating,
  groups,
  rowsOf,
  unread,
  type FixedSetting,
  reasons,
} from './settingRow.ts'
import { arealAdvantageNorm, arealCap, arealKl, decoupled } from './specialLinks.ts'

export const arealSettings = rowsOf(
  [
    ['name', one('experiment_name', null, unset)],
    ['model', one('actor.path', null, unnamed)],
    ['data.train', filesOf('train_dataset.path')],
    ['data.heldOut', filesOf('valid_dataset.path')],
    ['data.maxPromptTokens', one('train_dataset.max_length', null), generating],
    ['data.shuffle', one('train_dataset.shuffle', true), generating],
    ['seed', one('seed', 1)],
    ['contextLength', contextOf('train_dataset.max_length'), answering],
    ['adapter.rank', one('actor.lora_rank', 32)],
    ['adapter.alpha', one('actor.lora_alpha', 16)],
    ['adapter.targets', one('actor.target_modules', 'all-linear', targetModules)],
    ['rollout.groupSize', one('gconfig.n_samples', 1), generating],
    ['rollout.promptsPerStep', one('train_dataset.batch_size', 1)],
    ['rollout.temperature', one('gconfig.temperature', 1), generating],
    ['rollout.topK', one('gconfig.top_k', 1e8, offBeyond(1e8)), generating],
    ['rollout.topP', one('gconfig.top_p', 1), generating],
    ['rollout.minNewTokens', one('gconfig.min_new_tokens', 0), generating],
    ['rollout.maxNewTokens', one('gconfig.max_new_tokens', 16_384), generating],
    ['rollout.stopStrings', one('gconfig.stop', null, off([], null)), generating],
    ['rollout.mismatchCorrection', decoupled, groups],
    [
      'rollout.mismatchMode',
      one('actor.rejection_sampling.action', 'mask', words({ truncate: 'clamp', mask: 'mask' })),
      groups,
    ],
    ['rollout.mismatchCap', arealCap, groups],
    ['optimization.learningRate', one('actor.optimizer.lr', 1e-3)],
    ['optimization.criticLearningRate', one('critic.optimizer.lr', 1e-3), ['ppo']],
    [
      'optimization.schedule',
      one(
        'actor.optimizer.lr_scheduler_type',
        'constant',
        words({ constant: 'constant', linear: 'linear', cosine: 'cosine' }),
      ),
    ],
    ['optimization.warmupProportion', one('actor.optimizer.warmup_steps_proportion', 0.001)],
    ['optimization.beta1', one('actor.optimizer.beta1', 0.9)],
    ['optimization.beta2', one('actor.optimizer.beta2', 0.999)],
    ['optimization.epsilon', one('actor.optimizer.eps', 1e-8)],
    ['optimization.weightDecay', one('actor.optimizer.weight_decay', 0.01)],
    ['optimization.maxGradNorm', one('actor.optimizer.gradient_clipping', 1, off(null, 0))],
    ['optimization.minibatchSize', arealMinibatch, generating],
    ['steps', one('total_train_steps', null)],
    ['passes', one('total_train_epochs', 1)],
    ['evaluation.every', one('evaluator.freq_steps', null, off(0, null))],
    ['checkpoints.every', one('saver.freq_steps', null, off(0, null))],
  ],
  [
    ['klCoefficient', arealKl, generating],
    ['klImportanceWeighting', always(false), groups],
    ['klClamp', always(null), [...groups, 'ppo']],
    ['clipCoefficient', clipOffsets('actor.eps_clip', 'actor.eps_clip_higher', 0.2), ['grpo', 'gspo']],
    ['clipCoefficient', one('actor.eps_clip', 0.2), ['rloo', 'reinforce', 'reinforce-plus-plus', 'ppo']],
    ['ratioLimit', one('actor.c_clip', null), ['grpo', 'gspo', 'ppo']],
    ['positiveTemperature', one('actor.sapo_tau_pos', 1), ['sapo']],
    ['negativeTemperature', one('actor.sapo_tau_neg', 1.05), ['sapo']],
    [
      'importanceSamplingLevel',
      one(
        'actor.importance_sampling_level',
        'token',
        words({ token: 'token', trajectory: 'sequence', turn: 'sequence' }),
      ),
      ['grpo', 'cispo', 'sapo'],
    ],
    ['advantageNorm', arealAdvantageNorm, groups],
    ['lossNorm', one('actor.loss_norm', 'token', words({ 'token-mean': 'token' })), ['grpo', 'gspo', 'sapo']],
    ['overlongBuffer', one('actor.overlong_tokens', null, off(0, null)), [...groups, 'rloo']],
    ['overlongPenalty', one('actor.overlong_penalty_factor', null, off(1, null)), [...groups, 'rloo']],
    ['dynamicSampling', one('dynamic_bs', false), [...groups, 'rloo', 'reinforce-plus-plus']],
    ['discount', one('actor.discount', 1), ['reinforce', 'ppo']],
    ['gaeLambda', one('actor.gae_lambda', 1), ['ppo']],
    ['valueClipCoefficient', one('critic.value_eps_clip', 0.2), ['ppo']],
    ['beta', one('actor.beta', 0.1), ['dpo']],
  ],
)

export const arealFixed: readonly FixedSetting[] = [
  { name: 'actor.use_lora', value: true, initial: false, because: reasons.allWeights('AReaL') },
  ...fixed(true, 'the policy generates with the adapter that it learns')`rollout.use_lora`,
  ...unread(
    'rewards are functions in Turnwise, and are not rescaled',
  )`actor.reward_scaling actor.reward_bias actor.reward_clip
    actor.overlong_reward_penalty`,
  ...unread(
    'in Turnwise the algorithm standardises advantages',
  )`actor.adv_norm.mean_level actor.adv_norm.std_level
    actor.reward_norm.group_size`,
  ...unread(
    'rollouts run while the policy learns only on a rollout server, with rollout.maxStaleness',
  )`rollout.max_head_offpolicyness`,
  ...unread(
    'it is `rollout.mismatchCap`, which this algorithm does not read from it',
  )`actor.behav_imp_weight_cap actor.behave_imp_weight_cap`,
  ...unread(
    'it is `rollout.mismatchMode`, which actor.rejection_sampling.action says',
  )`actor.behav_imp_weight_mode`,
  ...unread(
    'a step learns from completions of the same parameters',
  )`actor.recompute_logprob actor.prox_logp_method
    rollout.consumer_batch_size rollout.max_concurrent_rollouts`,
  ...unread('generation and learning share one temperature')`actor.temperature`,
  ...unread('completion length has one setting')`actor.max_new_tokens gconfig.max_tokens`,
  ...unread(reasons.machine)`actor.mb_spec.max_tokens_per_mb actor.gradient_checkpointing
    actor.dtype actor.disable_dropout actor.backend allocation_mode`,
  ...unread(
    'Turnwise uses one machine',
  )`cluster.n_nodes cluster.n_gpus_per_node scheduler.type cluster.fileroot`,
  ...unread('the optimizer is AdamW')`actor.optimizer.type`,
  ...unread('the reference is the policy at the start, or the base')`ref.path`,
]
