/** Settings of TRL that are none here, with the reason or the value that a run here has. */
import { answering, fixed, unread, type FixedSetting, groups, preferring, reasons } from './settingRow.ts'

/** Algorithms of its trainers that generate. */
const generating = [...groups, 'rloo']

/** Algorithms with a reference. */
const referring = ['dpo', 'kto']

const none = 'it has no counterpart'

const constants = (values: Readonly<Record<string, unknown>>, only?: readonly string[]) =>
  Object.entries(values).map(([name, value]) => ({
    name,
    value,
    because: none,
    ...(only === undefined ? {} : { for: only }),
  }))

/** Setting that is noted whatever its value, also with the value that a project writes. */
const plainText: FixedSetting = {
  name: 'dataset_text_field',
  unless: 'completion_only_loss',
  because:
    'TRL learns every token of that column as plain text; Turnwise learns answers to prompts, so the rows need a prompt and a completion, or a conversation',
}

export const trlFixed: readonly FixedSetting[] = [
  ...fixed(true, reasons.allWeights('TRL'))`use_peft`.map((row) => ({ ...row, initial: false })),
  ...fixed('float32', 'parameters are 32-bit floats in Turnwise')`dtype`,
  ...fixed(false, reasons.precision)`bf16 fp16`,
  ...fixed(false, reasons.quantised)`load_in_4bit load_in_8bit`,
  ...fixed(false, reasons.oneWay)`use_dora use_liger_kernel auto_find_batch_size torch_compile`,
  ...fixed('adamw_torch', reasons.optimizer)`optim`,
  ...fixed(null, reasons.oneWay)`neftune_noise_alpha lora_modules_to_save lora_target_parameters`,
  ...fixed('CAUSAL_LM', reasons.oneWay)`lora_task_type`,
  ...fixed('main', 'models are folders in Turnwise')`model_revision`,
  ...fixed(null, reasons.machine)`attn_implementation`,
  ...fixed(false, reasons.code)`trust_remote_code`,
  ...fixed(true, reasons.machine)`gradient_checkpointing`,
  ...fixed(0, reasons.machine)`dataloader_num_workers`,
  ...fixed(false, reasons.oneWay)`dataloader_drop_last push_to_hub load_best_model_at_end
    full_determinism`,
  ...fixed(false, 'the run needs the columns of its rows', generating)`remove_unused_columns`,
  ...fixed(1, reasons.display)`logging_steps`,
  ...fixed('steps', reasons.display)`logging_strategy`,
  ...fixed(true, reasons.display)`logging_first_step`,
  ...fixed('none', reasons.display)`report_to`,
  ...fixed(true, reasons.display, generating)`log_completions`,
  ...fixed(0, reasons.display, generating)`num_completions_to_print`,
  ...fixed(false, reasons.display, generating)`log_unique_prompts`,
  ...fixed(null, 'a project starts afresh')`resume_from_checkpoint data_seed`,
  ...fixed('sequence', 'in this algorithm a whole completion shares one ratio', [
    'gspo',
  ])`importance_sampling_level`,
  ...fixed(false, reasons.oneWay, groups)`use_adaptive_entropy`,
  ...fixed(false, reasons.engine, generating)`use_vllm use_transformers_continuous_batching`,
  ...fixed(null, 'the weight has only an upper limit', groups)`vllm_importance_sampling_clip_min`,
  ...fixed(null, reasons.machine, generating)`cache_implementation chat_template_kwargs`,
  ...fixed(true, reasons.machine, generating)`ds3_gather_for_generation`,
  ...fixed(null, reasons.machine)`pad_to_multiple_of`,
  ...fixed(1, 'Turnwise answers each validation prompt once, greedily', generating)`num_generations_eval`,
  ...fixed(false, 'in Turnwise a reference moves by reference.refreshSteps, which needs a separate adapter', [
    ...generating,
    ...referring,
  ])`sync_ref_model`,
  ...fixed(0.6, reasons.oneWay, [...generating, ...referring])`ref_model_mixup_alpha`,
  ...fixed(512, reasons.oneWay, [...generating, ...referring])`ref_model_sync_steps`,
  ...fixed(false, reasons.oneWay, referring)`precompute_ref_log_probs`,
  ...fixed(false, reasons.oneWay, ['dpo'])`use_weighting`,
  ...fixed(0, reasons.oneWay, ['simpo'])`label_smoothing`,
  ...fixed('reverse_kl', reasons.oneWay, ['dpo'])`f_divergence_type`,
  ...fixed(null, reasons.oneWay, ['dpo'])`ld_alpha`,
  ...unread('Turnwise’s DPO always compares with a reference')`reference_free`,
  ...unread(
    'the reference in Turnwise is the model itself, at the start or without its adapter',
  )`ref_model_name_or_path`,
  ...fixed(false, reasons.machine, answering)`activation_offloading padding_free`,
  ...fixed('keep_start', 'Turnwise leaves out rows that are too long', answering)`truncation_mode`,
  ...fixed(true, reasons.answers, ['sft'])`completion_only_loss`,
  ...fixed(false, reasons.packing, ['sft'])`packing`,
  ...fixed(false, 'conversations are split into prompts and answers when they are imported', [
    'sft',
  ])`assistant_only_loss`,
  ...fixed('nll', reasons.oneWay, ['sft'])`loss_type`,
  ...fixed(false, 'the sampler chooses the order of rows', ['sft'])`shuffle_dataset`,
  ...unread(reasons.rewards)`reward_funcs reward_model_name_or_path reward_weights`,
  ...unread(reasons.results)`output_dir overwrite_output_dir hub_model_id hub_token`,
  ...unread('Turnwise leaves out rows that are too long for the model')`max_length max_seq_length`,
  ...unread('a command’s launcher says it')`num_processes`,
  ...unread(
    'it says which rows are meant, and they are chosen when the data set is imported',
  )`dataset_config dataset_configs dataset_splits dataset_columns
    dataset_train_split dataset_test_split datasets dataset_streaming`,
  ...unread('a completion ends at texts, which are `rollout.stopStrings`')`generation_kwargs.stop_token_ids`,
  ...unread(reasons.display)`eval_on_start do_eval do_train save_only_model project`,
  ...unread(reasons.machine)`per_device_eval_batch_size ddp_timeout deepspeed fsdp dataset_num_proc
    gradient_checkpointing_kwargs use_cpu`,
  ...unread(reasons.engine)`vllm_mode vllm_gpu_memory_utilization vllm_tensor_parallel_size
    vllm_max_model_length vllm_server_host vllm_server_port vllm_server_timeout vllm_enable_sleep_mode`,
  ...unread(
    'only the scripts of an exported project use it',
  )`trainer project_model train_file eval_file starting_adapter
    prompts_are_marked_up trajectories_per_update reward_names reward_settings`,
  // The remaining settings at their defaults, which a project writes out so that those of other versions do not matter.
  // Settings of transformers, for every trainer.
  ...fixed(null, none)`optim_args optim_target_modules torch_compile_backend
    torch_compile_mode liger_kernel_config torch_empty_cache_steps disable_tqdm trackio_space_id
    trackio_bucket_id trackio_static_space_id eval_accumulation_steps hub_token hub_private_repo
    hub_model_id hub_revision metric_for_best_model greater_is_better accelerator_config
    parallelism_config dataloader_prefetch_factor dataloader_multiprocessing_context label_names
    ddp_find_unused_parameters ddp_bucket_cap_mb ddp_broadcast_buffers ddp_static_graph ddp_backend
    fsdp fsdp_config deepspeed router_aux_loss_coef`,
  ...fixed(true, none)`average_tokens_across_devices log_on_each_node logging_nan_inf_filter
    eval_do_concat_batches dataloader_pin_memory dataloader_in_order skip_memory_metrics`,
  ...fixed(false, none)`bf16_full_eval fp16_full_eval use_cache prediction_loss_only
    eval_on_start eval_use_gather_object batch_eval_metrics save_only_model save_on_each_node
    enable_jit_checkpoint hub_always_push ignore_data_skip restore_callback_states_from_checkpoint
    use_cpu dataloader_persistent_workers do_train do_eval do_predict use_bnb_nested_quant`,
  ...constants({
    label_smoothing_factor: 0.0,
    include_num_input_tokens_seen: 'no',
    log_level: 'passive',
    log_level_replica: 'warning',
    project: 'huggingface',
    eval_delay: 0,
    include_for_metrics: [],
    hub_strategy: 'every_save',
    length_column_name: 'length',
    ddp_timeout: 1800,
    bnb_4bit_quant_type: 'nf4',
  }),
  // Settings of the trainers that generate.
  ...fixed(false, none, generating)`disable_dropout vllm_enable_sleep_mode`,
  ...fixed(null, none, generating)`vllm_structured_outputs_regex vllm_server_base_url
    vllm_max_model_length transformers_continuous_batching_config`,
  ...fixed(true, none, generating)`log_multimodal`,
  ...constants(
    {
      train_sampling_strategy: 'random',
      vllm_mode: 'colocate',
      vllm_model_impl: 'vllm',
      vllm_server_host: '0.0.0.0',
      vllm_server_port: 8000,
      vllm_server_timeout: 240.0,
      vllm_group_port: 51216,
      vllm_gpu_memory_utilization: 0.3,
      vllm_tensor_parallel_size: 1,
    },
    generating,
  ),
  // Settings of GRPOConfig alone.
  ...fixed(false, none, groups)`cast_lm_head_to_fp32`,
  ...fixed(null, none, groups)`max_tool_calling_iterations log_completions_hub_repo`,
  ...constants(
    {
      sapo_temperature_neg: 1.05,
      sapo_temperature_pos: 1.0,
      entropy_coef_max: 1.0,
      vespo_k_pos: 2.0,
      vespo_lambda_neg: 2.0,
      vespo_lambda_pos: 3.0,
      vespo_k_neg: 3.0,
      entropy_coef_min: 0.0,
      entropy_coef_delta: 0.005,
      entropy_target: 0.2,
    },
    groups,
  ),
  // Settings of DPOConfig, and of those of ORPO, CPO and KTO.
  ...fixed(true, none, preferring)`remove_unused_columns`,
  ...fixed(false, none, preferring)`disable_dropout generate_during_eval`,
  ...fixed(null, none, preferring)`dataset_num_proc precompute_ref_batch_size pad_token
    padding_value max_completion_length is_encoder_decoder`,
  ...constants({ f_alpha_divergence_coef: 0.5, discopop_tau: 0.05 }, ['dpo']),
  // Settings of SFTConfig.
  ...fixed(true, none, ['sft'])`remove_unused_columns`,
  ...fixed(null, none, ['sft'])`chat_template_path dataset_kwargs dataset_num_proc eos_token
    eval_packing pad_token`,
  ...constants({ dataset_text_field: 'text', packing_strategy: 'bfd' }, ['sft']),
  plainText,
]
