/**
 * The remaining settings of TRL and transformers, at the defaults of those versions. None has a counterpart in Turnwise;
 * a project writes them out so that other versions' defaults do not matter.
 */
import { groups as grouped } from './settingRow.ts'

/** Of transformers, for every trainer. */
const everywhere = {
  optim_args: null,
  optim_target_modules: null,
  average_tokens_across_devices: true,
  label_smoothing_factor: 0.0,
  bf16_full_eval: false,
  fp16_full_eval: false,
  torch_compile_backend: null,
  torch_compile_mode: null,
  liger_kernel_config: null,
  use_cache: false,
  torch_empty_cache_steps: null,
  log_on_each_node: true,
  logging_nan_inf_filter: true,
  include_num_input_tokens_seen: 'no',
  log_level: 'passive',
  log_level_replica: 'warning',
  disable_tqdm: null,
  project: 'huggingface',
  trackio_space_id: null,
  trackio_bucket_id: null,
  trackio_static_space_id: null,
  eval_delay: 0,
  prediction_loss_only: false,
  eval_on_start: false,
  eval_do_concat_batches: true,
  eval_use_gather_object: false,
  eval_accumulation_steps: null,
  include_for_metrics: [],
  batch_eval_metrics: false,
  save_only_model: false,
  save_on_each_node: false,
  enable_jit_checkpoint: false,
  hub_token: null,
  hub_private_repo: null,
  hub_model_id: null,
  hub_strategy: 'every_save',
  hub_always_push: false,
  hub_revision: null,
  metric_for_best_model: null,
  greater_is_better: null,
  ignore_data_skip: false,
  restore_callback_states_from_checkpoint: false,
  use_cpu: false,
  accelerator_config: null,
  parallelism_config: null,
  dataloader_pin_memory: true,
  dataloader_persistent_workers: false,
  dataloader_prefetch_factor: null,
  dataloader_multiprocessing_context: null,
  dataloader_in_order: true,
  label_names: null,
  length_column_name: 'length',
  ddp_find_unused_parameters: null,
  ddp_bucket_cap_mb: null,
  ddp_broadcast_buffers: null,
  ddp_static_graph: null,
  ddp_backend: null,
  ddp_timeout: 1800,
  fsdp: null,
  fsdp_config: null,
  deepspeed: null,
  skip_memory_metrics: true,
  do_train: false,
  do_eval: false,
  do_predict: false,
  router_aux_loss_coef: null,
  bnb_4bit_quant_type: 'nf4',
  use_bnb_nested_quant: false,
}

/** Of the trainers that generate. */
const generating = {
  train_sampling_strategy: 'random',
  disable_dropout: false,
  vllm_mode: 'colocate',
  vllm_model_impl: 'vllm',
  vllm_enable_sleep_mode: false,
  vllm_structured_outputs_regex: null,
  vllm_server_base_url: null,
  vllm_server_host: '0.0.0.0',
  vllm_server_port: 8000,
  vllm_server_timeout: 240.0,
  vllm_group_port: 51216,
  vllm_gpu_memory_utilization: 0.3,
  vllm_max_model_length: null,
  vllm_tensor_parallel_size: 1,
  log_multimodal: true,
  transformers_continuous_batching_config: null,
}

/** Of GRPOConfig alone. */
const groups = {
  cast_lm_head_to_fp32: false,
  sapo_temperature_neg: 1.05,
  sapo_temperature_pos: 1.0,
  vespo_k_pos: 2.0,
  vespo_lambda_pos: 3.0,
  vespo_k_neg: 3.0,
  vespo_lambda_neg: 2.0,
  entropy_coef_min: 0.0,
  entropy_coef_max: 1.0,
  entropy_coef_delta: 0.005,
  entropy_target: 0.2,
  max_tool_calling_iterations: null,
  log_completions_hub_repo: null,
}

/** Of DPOConfig. */
const preferences = {
  remove_unused_columns: true,
  disable_dropout: false,
  dataset_num_proc: null,
  precompute_ref_batch_size: null,
  f_alpha_divergence_coef: 0.5,
  discopop_tau: 0.05,
  pad_token: null,
}

/** Of SFTConfig. */
const demonstrations = {
  remove_unused_columns: true,
  chat_template_path: null,
  dataset_text_field: 'text',
  dataset_kwargs: null,
  dataset_num_proc: null,
  eos_token: null,
  packing_strategy: 'bfd',
  eval_packing: null,
  pad_token: null,
}

/** Names and values, and the algorithms whose trainer has them; absent: all. */
export const trlConstants: readonly {
  readonly values: Readonly<Record<string, unknown>>
  readonly for?: readonly string[]
}[] = [
  { values: everywhere },
  { values: generating, for: [...grouped, 'rloo'] },
  { values: groups, for: grouped },
  { values: preferences, for: ['dpo'] },
  { values: demonstrations, for: ['sft'] },
]
