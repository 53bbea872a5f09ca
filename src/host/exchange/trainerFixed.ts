/** Settings of LLaMA-Factory and axolotl that are none here, with the reason. */
import type { FixedSetting } from './settingRow.ts'

const unread = (because: string, names: readonly string[]): FixedSetting[] =>
  names.map((name) => ({ name, because }))
const only = (value: unknown, because: string, names: readonly string[]): FixedSetting[] =>
  names.map((name) => ({ name, value, because }))

const machine = 'it affects only memory and speed, which Turnwise chooses for the machine'
const results = 'Turnwise chooses where to write results'
const display = 'it changes what is shown, not what is learned'
const rows = 'rows are prepared when they are imported with `turnwise dataset import`'
const quantised = 'a base in 8 or 4 bits is `base.precision`, rounded in Turnwise’s own way'
const code = 'code that comes with a model is never run'
const precision = 'parameters and gradients are 32-bit floats in Turnwise'
const template = 'Turnwise uses the chat template of the model itself'
const packing = 'Turnwise does not concatenate rows'
const oneWay = 'Turnwise has no such variant'

export const llamafactory: readonly FixedSetting[] = [
  ...only(true, display, ['do_train', 'plot_loss']),
  ...only(false, precision, ['bf16', 'fp16', 'pure_bf16']),
  ...only(false, packing, ['packing', 'neat_packing']),
  ...only('adamw_torch', 'Turnwise’s optimizer is AdamW', ['optim']),
  ...unread(code, ['trust_remote_code']),
  ...unread(template, ['template', 'enable_thinking', 'default_system']),
  ...unread(quantised, ['quantization_bit', 'quantization_method', 'double_quantization']),
  ...unread(rows, [
    'max_samples',
    'dataset_dir',
    'overwrite_cache',
    'preprocessing_num_workers',
    'mix_strategy',
    'tokenized_path',
  ]),
  ...only(false, 'Turnwise learns only the answer', ['train_on_prompt']),
  ...only(true, 'Turnwise learns only the last answer of a conversation; those before it are its prompt', [
    'mask_history',
  ]),
  ...unread('Turnwise trains a LoRA adapter', [
    'freeze_trainable_layers',
    'freeze_trainable_modules',
    'freeze_extra_modules',
  ]),
  ...unread(machine, [
    'dataloader_num_workers',
    'ddp_timeout',
    'deepspeed',
    'fsdp',
    'fsdp_config',
    'flash_attn',
    'enable_liger_kernel',
    'per_device_eval_batch_size',
    'use_unsloth',
    'num_processes',
  ]),
  ...unread(results, ['output_dir', 'overwrite_output_dir', 'save_only_model', 'resume_from_checkpoint']),
  ...unread(display, ['logging_steps', 'report_to', 'do_eval', 'do_predict']),
  ...unread(oneWay, [
    'use_dora',
    'loraplus_lr_ratio',
    'pissa_init',
    'pissa_iter',
    'pissa_convert',
    'use_galore',
    'use_apollo',
    'use_badam',
    'use_llama_pro',
    'neftune_noise_alpha',
    'additional_target',
    'ref_model',
    'pref_bco_weight',
    'simpo_gamma',
  ]),
]

const adapter: FixedSetting = {
  ...{ name: 'adapter', value: 'lora', initial: null },
  because:
    'axolotl trains all weights without an adapter, and with qlora on a base in 4 bits (`base.precision`); Turnwise trains a LoRA adapter, by default of all linear layers',
}

export const axolotl: readonly FixedSetting[] = [
  adapter,
  ...only(false, quantised, ['load_in_4bit', 'load_in_8bit']),
  ...only(false, packing, ['sample_packing', 'eval_sample_packing']),
  ...only(false, code, ['trust_remote_code']),
  ...only('adamw_torch', 'Turnwise’s optimizer is AdamW', ['optimizer']),
  ...only(false, 'Turnwise learns only the answer', ['train_on_inputs']),
  ...unread(precision, ['bf16', 'fp16', 'float16', 'bfloat16']),
  ...unread(template, [
    'chat_template',
    'special_tokens',
    'tokens',
    'eot_tokens',
    'tokenizer_type',
    'model_type',
    'processor_type',
    'tokenizer_config',
  ]),
  ...unread(rows, [
    'dataset_prepared_path',
    'shuffle_merged_datasets',
    'skip_prepare_dataset',
    'remove_unused_columns',
    'push_dataset_to_hub',
  ]),
  ...unread(machine, [
    'gradient_checkpointing',
    'gradient_checkpointing_kwargs',
    'attn_implementation',
    'flash_attention',
    'sdp_attention',
    'xformers_attention',
    'deepspeed',
    'fsdp',
    'fsdp_config',
    'fsdp_version',
    'pad_to_sequence_len',
    'group_by_length',
    'activation_offloading',
    'plugins',
    'eval_batch_size',
    'lora_mlp_kernel',
    'lora_qkv_kernel',
    'lora_o_kernel',
    'torch_compile',
    'num_processes',
  ]),
  ...unread(results, [
    'output_dir',
    'hub_model_id',
    'lora_model_dir',
    'resume_from_checkpoint',
    'save_only_model',
    'save_strategy',
    'eval_strategy',
  ]),
  ...unread(display, [
    'wandb_project',
    'wandb_entity',
    'wandb_watch',
    'wandb_name',
    'wandb_run_id',
    'wandb_log_model',
    'logging_steps',
    'debug',
    'strict',
  ]),
  ...unread(oneWay, [
    'peft_use_dora',
    'lora_modules_to_save',
    'lora_target_parameters',
    'lora_fan_in_fan_out',
    'unfrozen_parameters',
    'early_stopping_patience',
    'loss_watchdog_threshold',
    'loss_watchdog_patience',
    'cosine_min_lr_ratio',
    'cosine_constant_lr_ratio',
  ]),
]
