/**
 * Settings of other tools that Turnwise does not have, because it supports only one value or because they depend on the
 * machine. An exported project writes the value the run had; an imported file with another value gets a note.
 */
import type { ToolId } from '#shared/tools.ts'
import { groups, type FixedSetting } from './settingRow.ts'
import { axolotl, llamafactory } from './trainerFixed.ts'
import { trlConstants } from './trlConstants.ts'

const generating = [...groups, 'rloo']
const machine = 'it affects only memory and speed, which Turnwise chooses for the machine'
const engine = 'the run generates itself unless `rollout.server` names a server'
const quantised = 'a base in 8 or 4 bits is `base.precision`, rounded in Turnwise’s own way'
const oneWay = 'Turnwise has no such variant'
const display = 'it changes what is shown, not what is learned'
const allWeights = (tool: string) =>
  `${tool} would train all weights; Turnwise trains a LoRA adapter, by default of all linear layers`

const fixed = (
  value: unknown,
  because: string,
  names: readonly string[],
  only?: readonly string[],
): FixedSetting[] =>
  names.map((name) => ({ name, value, because, ...(only === undefined ? {} : { for: only }) }))

const unread = (because: string, names: readonly string[]): FixedSetting[] =>
  names.map((name) => ({ name, because }))

const trl: readonly FixedSetting[] = [
  ...fixed(true, allWeights('TRL'), ['use_peft']).map((row) => ({ ...row, initial: false })),
  ...fixed('float32', 'parameters are 32-bit floats in Turnwise', ['dtype']),
  ...fixed(false, 'parameters and gradients are 32-bit floats in Turnwise', ['bf16', 'fp16']),
  ...fixed(false, quantised, ['load_in_4bit', 'load_in_8bit']),
  ...fixed(false, oneWay, ['use_dora', 'use_liger_kernel', 'auto_find_batch_size', 'torch_compile']),
  ...fixed('adamw_torch', 'Turnwise’s optimizer is AdamW', ['optim']),
  ...fixed(null, oneWay, ['neftune_noise_alpha', 'lora_modules_to_save', 'lora_target_parameters']),
  ...fixed('CAUSAL_LM', oneWay, ['lora_task_type']),
  ...fixed('main', 'models are folders in Turnwise', ['model_revision']),
  ...fixed(null, machine, ['attn_implementation']),
  ...fixed(false, 'code that comes with a model is never run', ['trust_remote_code']),
  ...fixed(true, machine, ['gradient_checkpointing']),
  ...fixed(0, machine, ['dataloader_num_workers']),
  ...fixed(false, oneWay, [
    'dataloader_drop_last',
    'push_to_hub',
    'load_best_model_at_end',
    'full_determinism',
  ]),
  ...fixed(false, 'the run needs the columns of its rows', ['remove_unused_columns'], generating),
  ...fixed(1, display, ['logging_steps']),
  ...fixed('steps', display, ['logging_strategy']),
  ...fixed(true, display, ['logging_first_step']),
  ...fixed('none', display, ['report_to']),
  ...fixed(true, display, ['log_completions'], generating),
  ...fixed(0, display, ['num_completions_to_print'], generating),
  ...fixed(false, display, ['log_unique_prompts'], generating),
  ...fixed(null, 'a project starts afresh', ['resume_from_checkpoint', 'data_seed']),
  ...fixed(
    'sequence',
    'in this algorithm a whole completion shares one ratio',
    ['importance_sampling_level'],
    ['gspo'],
  ),
  ...fixed('sum_then_normalize', oneWay, ['multi_objective_aggregation'], groups),
  ...fixed(false, oneWay, ['use_adaptive_entropy'], groups),
  ...fixed(false, engine, ['use_vllm', 'use_transformers_continuous_batching'], generating),
  ...fixed(null, 'the weight has only an upper limit', ['vllm_importance_sampling_clip_min'], groups),
  ...fixed(null, machine, ['cache_implementation', 'chat_template_kwargs'], generating),
  ...fixed(true, machine, ['ds3_gather_for_generation'], generating),
  ...fixed(null, machine, ['pad_to_multiple_of']),
  ...fixed(1, 'Turnwise answers each validation prompt once, greedily', ['num_generations_eval'], generating),
  ...fixed(
    false,
    'in Turnwise a reference moves by reference.refreshSteps, which needs a separate adapter',
    ['sync_ref_model'],
    [...generating, 'dpo'],
  ),
  ...fixed(0.6, oneWay, ['ref_model_mixup_alpha'], [...generating, 'dpo']),
  ...fixed(512, oneWay, ['ref_model_sync_steps'], [...generating, 'dpo']),
  ...fixed(false, oneWay, ['precompute_ref_log_probs', 'use_weighting'], ['dpo']),
  ...fixed('reverse_kl', oneWay, ['f_divergence_type'], ['dpo']),
  ...fixed(null, oneWay, ['ld_alpha'], ['dpo']),
  ...unread('Turnwise’s DPO always compares with a reference', ['reference_free']),
  ...unread('the reference in Turnwise is the model itself, at the start or without its adapter', [
    'ref_model_name_or_path',
  ]),
  ...fixed(false, machine, ['activation_offloading', 'padding_free'], ['dpo', 'sft']),
  ...fixed('keep_start', 'Turnwise leaves out rows that are too long', ['truncation_mode'], ['dpo', 'sft']),
  ...fixed(true, 'Turnwise learns only the answer', ['completion_only_loss'], ['sft']),
  ...fixed(false, 'Turnwise does not concatenate rows', ['packing'], ['sft']),
  ...fixed(
    false,
    'conversations are split into prompts and answers when they are imported',
    ['assistant_only_loss'],
    ['sft'],
  ),
  ...fixed('nll', oneWay, ['loss_type'], ['sft']),
  ...fixed(false, 'the sampler chooses the order of rows', ['shuffle_dataset'], ['sft']),
  ...unread('rewards are functions in Turnwise: set them in `rewards`', [
    'reward_funcs',
    'reward_model_name_or_path',
    'reward_weights',
  ]),
  ...unread('Turnwise chooses where to write results', [
    'output_dir',
    'overwrite_output_dir',
    'hub_model_id',
    'hub_token',
  ]),
  ...unread('Turnwise leaves out rows that are too long for the model', ['max_length', 'max_seq_length']),
  ...unread('a command’s launcher says it', ['num_processes']),
  ...unread('it says which rows are meant, and they are chosen when the data set is imported', [
    'dataset_config',
    'dataset_configs',
    'dataset_splits',
    'dataset_columns',
    'dataset_train_split',
    'dataset_test_split',
    'datasets',
    'dataset_streaming',
  ]),
  ...unread('a completion ends at texts, which are `rollout.stopStrings`', [
    'generation_kwargs.stop_token_ids',
  ]),
  ...unread(display, ['eval_on_start', 'do_eval', 'do_train', 'save_only_model', 'project']),
  ...unread(machine, [
    'per_device_eval_batch_size',
    'ddp_timeout',
    'deepspeed',
    'fsdp',
    'dataset_num_proc',
    'gradient_checkpointing_kwargs',
    'use_cpu',
  ]),
  ...unread(engine, [
    'vllm_mode',
    'vllm_gpu_memory_utilization',
    'vllm_tensor_parallel_size',
    'vllm_max_model_length',
    'vllm_server_host',
    'vllm_server_port',
    'vllm_server_timeout',
    'vllm_enable_sleep_mode',
  ]),
  ...unread('only the scripts of an exported project use it', [
    'trainer',
    'project_model',
    'train_file',
    'eval_file',
    'starting_adapter',
    'prompts_are_marked_up',
    'trajectories_per_update',
    'reward_names',
    'reward_settings',
  ]),
]

const trlRest: readonly FixedSetting[] = trlConstants.flatMap(({ values, for: only }) =>
  Object.entries(values).flatMap(([name, value]) => fixed(value, 'it has no counterpart', [name], only)),
)

const agilerlGenerating = [...groups, 'ppo', 'reinforce']

const agilerl: readonly FixedSetting[] = [
  ...fixed(false, machine, [
    'use_liger_loss',
    'use_liger_kernel',
    'activation_offload',
    'use_sequence_packing',
  ]),
  ...fixed(true, machine, ['gradient_checkpointing', 'calc_position_embeddings', 'cast_logprobs_to_fp32']),
  ...fixed(true, 'the base itself is the reference with `reference.policy` base', [
    'use_separate_reference_adapter',
  ]),
  ...fixed(null, quantised, ['quantization']),
  ...fixed(null, engine, ['vllm_config'], agilerlGenerating),
  ...fixed(
    null,
    'Turnwise keeps single tokens far from their sampler',
    ['off_policy_token_mask_bounds'],
    groups,
  ).map((row) => ({ ...row, initial: [0.5, 5] })),
  ...fixed('trainer', 'Turnwise uses the learner’s log-probabilities', ['old_logprobs_source'], groups),
  ...fixed(0.5, 'Turnwise’s cosine ends at half the rate', ['cosine_lr_schedule_config.min_lr_ratio']),
  ...fixed(1, 'a run is one agent: start several runs for several agents', ['pop_size']),
  ...unread('rewards are functions in Turnwise: set them in `rewards`', [
    'reward_file_path',
    'reward_fn_name',
    'rubric_file_path',
    'rubric_name',
    'max_reward',
    'min_reward',
  ]),
  ...unread('data.prompt says how rows become prompts', [
    'prompt_template',
    'columns',
    'response_column',
    'env_type',
    'objective',
    'dataset_path',
    'hf_dataset_id',
    'apply_chat_template',
    'max_turns',
  ]),
  ...unread('the model’s own limit applies unless `contextLength` is smaller', [
    'max_context_length',
    'max_model_len',
  ]),
  ...unread('it is `adapter.rsLora`', ['use_rslora']),
  ...unread(quantised, ['quantization_config', 'load_in_4bit', 'load_in_8bit']),
  ...unread('it is `device.kind`, which finds the fastest device by itself', ['device']),
  ...unread('it has no meaning here: see “What has no meaning here” in docs/other-tools.md', [
    ...['wrap', 'clone', 'torch_compiler', 'to_device', 'evolvable_attributes', 'get_lr_names'],
  ]),
  ...unread('the file describes no population: that takes `pop_size` of at least 2 and ranges of settings', [
    'evo_steps',
    'tournament_size',
    'elitism',
    'mutation_sd',
    'rand_seed',
    'hpo',
    'strategy',
    'eval_loop',
    'selection_strategy',
    'mutation',
  ]),
  ...unread(machine, [
    'micro_batch_size_per_gpu',
    'data_batch_size_per_gpu',
    'reduce_memory_peak',
    'use_memory_efficient_params',
  ]),
  ...unread(engine, [
    'use_vllm',
    'gpu_memory_utilization',
    'tensor_parallel_size',
    'max_num_seqs',
    'sleep_mode',
    'vllm_max_logprob_gap',
    'vllm_max_clip_fraction',
  ]),
  ...unread('it is implied by the algorithm', ['algo', 'loss_type', 'task_type', 'api_version']),
]

const areal: readonly FixedSetting[] = [
  { name: 'actor.use_lora', value: true, initial: false, because: allWeights('AReaL') },
  ...fixed(true, 'the policy generates with the adapter that it learns', ['rollout.use_lora']),
  ...unread('rewards are functions in Turnwise, and are not rescaled', [
    'actor.reward_scaling',
    'actor.reward_bias',
    'actor.reward_clip',
    'actor.overlong_reward_penalty',
  ]),
  ...unread('in Turnwise the algorithm standardises advantages', [
    'actor.adv_norm.mean_level',
    'actor.adv_norm.std_level',
    'actor.reward_norm.group_size',
  ]),
  ...unread('rollouts run while the policy learns only on a rollout server, with rollout.maxStaleness', [
    'rollout.max_head_offpolicyness',
  ]),
  ...unread('it is `rollout.mismatchCorrection` with `rollout.mismatchCap`', [
    'actor.behav_imp_weight_cap',
    'actor.behave_imp_weight_cap',
    'actor.behav_imp_weight_mode',
  ]),
  ...unread('a step learns from completions of the same parameters', [
    'actor.recompute_logprob',
    'actor.prox_logp_method',
    'rollout.consumer_batch_size',
    'rollout.max_concurrent_rollouts',
  ]),
  ...unread('generation and learning share one temperature', ['actor.temperature']),
  ...unread('completion length has one setting', ['actor.max_new_tokens', 'gconfig.max_tokens']),
  ...unread(machine, [
    'actor.mb_spec.max_tokens_per_mb',
    'actor.gradient_checkpointing',
    'actor.dtype',
    'actor.disable_dropout',
    'actor.backend',
    'allocation_mode',
  ]),
  ...unread('Turnwise uses one machine', [
    'cluster.n_nodes',
    'cluster.n_gpus_per_node',
    'scheduler.type',
    'cluster.fileroot',
  ]),
  ...unread('the optimizer is AdamW', ['actor.optimizer.type']),
  ...unread('the reference is the policy at the start, or the base', ['ref.path']),
]

/** Said whatever its value is, also that with which a project writes it. */
const plainText = unread(
  'TRL learns every token of that column as plain text; Turnwise learns answers to prompts, so the rows need a prompt and a completion, or a conversation',
  ['dataset_text_field'],
).map((row) => ({ ...row, unless: 'completion_only_loss' }))

export const fixedSettings: Readonly<Record<ToolId, readonly FixedSetting[]>> = {
  trl: [...trl, ...trlRest, ...plainText],
  agilerl,
  areal,
  llamafactory,
  axolotl,
}
