/** axolotl’s names of the settings here, its defaults, and its settings that do not exist here. */
import { rowsPerUpdate, trlLength, warmupOf } from './batches.ts'
import {
  axolotlCompletion,
  axolotlFiles,
  axolotlPairAnswer,
  axolotlPairPrompt,
  axolotlPrompt,
} from './axolotlData.ts'
import { heldOutOf, rowLength } from './dataLinks.ts'
import { off, one, orElse, tf32, unnamed, unset } from './links.ts'
import {
  answering,
  fixed,
  pairing,
  preferring,
  rowsOf,
  unread,
  type FixedSetting,
  reasons,
} from './settingRow.ts'
import { transformersSchedule } from './specialLinks.ts'
import {
  axolotlBeta,
  axolotlInterval,
  axolotlLoss,
  axolotlSmoothing,
  axolotlTargets,
} from './trainerLinks.ts'

export const axolotlSettings = rowsOf(
  [
    ['model', one('base_model', null, unnamed)],
    ['data.train', axolotlFiles('datasets')],
    ['data.heldOut', heldOutOf('val_set_size', axolotlFiles('test_datasets'))],
    ['data.prompt', axolotlPrompt, ['sft']],
    ['data.prompt', axolotlPairPrompt, pairing],
    ['data.completion', axolotlCompletion, ['sft']],
    ['data.chosen', axolotlPairAnswer('field_chosen'), pairing],
    ['data.rejected', axolotlPairAnswer('field_rejected'), pairing],
    ['seed', orElse('seed', 42)],
    ['contextLength', rowLength('sequence_len', 512), answering],
    ['base.precision', tf32],
    ['adapter.rank', one('lora_r', null, unset)],
    ['adapter.alpha', one('lora_alpha', null, unset)],
    ['adapter.rsLora', one('peft_use_rslora', null, off(false, null))],
    ['adapter.targets', axolotlTargets],
    ['adapter.dropout', one('lora_dropout', null, off(0, null))],
    ['adapter.initial', one('lora_model_dir', null)],
    ['rollout.promptsPerStep', rowsPerUpdate('micro_batch_size', 1), answering],
    ['optimization.learningRate', one('learning_rate', null, unset)],
    ['optimization.schedule', transformersSchedule('lr_scheduler', 'cosine'), answering],
    ['optimization.warmupProportion', warmupOf(0.03), answering],
    ['optimization.beta1', orElse('adam_beta1', 0.9)],
    ['optimization.beta2', orElse('adam_beta2', 0.999)],
    ['optimization.epsilon', orElse('adam_epsilon', 1e-8)],
    ['optimization.weightDecay', orElse('weight_decay', 0)],
    [
      'optimization.maxGradNorm',
      one('max_grad_norm', 1, {
        read: (value) => (value === 0 ? null : (value ?? 1)),
        write: (value) => value,
      }),
    ],
    ['steps', trlLength(null), answering],
    ['passes', one('num_epochs', 1)],
    ['evaluation.every', axolotlInterval('eval_steps', 'evals_per_epoch'), answering],
    ['checkpoints.every', axolotlInterval('save_steps', 'saves_per_epoch'), answering],
    ['checkpoints.keepLast', one('save_total_limit', null, unset)],
  ],
  [
    ['loss', axolotlLoss, ['dpo']],
    ['beta', orElse('orpo_alpha', 0.1), ['orpo']],
    ['beta', axolotlBeta, preferring],
    ['nllAlpha', orElse('rpo_alpha', 0), ['dpo']],
    ['nllAlpha', orElse('cpo_alpha', 1), ['simpo']],
    ['targetMargin', orElse('simpo_gamma', 0.5), ['simpo']],
    ['desirableWeight', orElse('kto_desirable_weight', 1), ['kto']],
    ['undesirableWeight', orElse('kto_undesirable_weight', 1), ['kto']],
    ['labelSmoothing', axolotlSmoothing, ['dpo']],
  ],
)

const adapter: FixedSetting = {
  name: 'adapter',
  value: 'lora',
  initial: null,
  because:
    'axolotl trains all weights without an adapter, and with qlora on a base in 4 bits (`base.precision`); Turnwise trains a LoRA adapter, by default of all linear layers',
}

export const axolotlFixed: readonly FixedSetting[] = [
  adapter,
  ...fixed(false, reasons.quantised)`load_in_4bit load_in_8bit`,
  ...fixed(false, reasons.packing)`sample_packing eval_sample_packing`,
  ...fixed(false, reasons.code)`trust_remote_code`,
  ...fixed('adamw_torch', reasons.optimizer)`optimizer`,
  ...fixed(false, reasons.answers)`train_on_inputs`,
  ...unread(reasons.precision)`bf16 fp16 float16 bfloat16`,
  ...unread(reasons.template)`chat_template special_tokens tokens eot_tokens tokenizer_type
    model_type processor_type tokenizer_config default_system_message chat_template_jinja`,
  ...unread(reasons.rows)`dataset_prepared_path shuffle_merged_datasets skip_prepare_dataset
    remove_unused_columns push_dataset_to_hub`,
  ...unread(reasons.machine)`gradient_checkpointing gradient_checkpointing_kwargs
    attn_implementation flash_attention sdp_attention xformers_attention deepspeed fsdp fsdp_config
    fsdp_version pad_to_sequence_len group_by_length activation_offloading plugins eval_batch_size
    lora_mlp_kernel lora_qkv_kernel lora_o_kernel torch_compile num_processes`,
  ...unread(
    'earlier versions of axolotl accumulated batch_size ÷ micro_batch_size micro-batches, newer ones do not; gradient_accumulation_steps says it in both',
  )`batch_size`,
  ...unread(reasons.results)`output_dir hub_model_id resume_from_checkpoint
    save_only_model save_strategy eval_strategy`,
  ...unread(reasons.display)`wandb_project wandb_entity wandb_watch wandb_name wandb_run_id
    wandb_log_model logging_steps debug strict`,
  ...unread(reasons.oneWay)`peft_use_dora lora_modules_to_save lora_target_parameters
    lora_fan_in_fan_out unfrozen_parameters early_stopping_patience loss_watchdog_threshold
    loss_watchdog_patience lora_layers_to_transform loraplus_lr_ratio cosine_min_lr_ratio cosine_constant_lr_ratio`,
]
