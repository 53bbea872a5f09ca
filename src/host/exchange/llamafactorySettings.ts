/** LLaMA-Factory’s names of the settings here, its defaults, and its settings that do not exist here. */
import { evaluations, rowsPerUpdate, saves, trlInterval, trlLength, warmupOf } from './batches.ts'
import { heldOutOf, llamafactoryFiles, rowLength } from './dataLinks.ts'
import { off, one, tf32, unnamed, unset } from './links.ts'
import { answering, fixed, preferring, rowsOf, unread, type FixedSetting, reasons } from './settingRow.ts'
import { transformersSchedule } from './specialLinks.ts'
import {
  llamafactoryAdapter,
  llamafactoryAlpha,
  llamafactoryLoss,
  llamafactorySmoothing,
  llamafactoryTargets,
} from './trainerLinks.ts'

export const llamafactorySettings = rowsOf(
  [
    ['name', one('run_name', null, unset)],
    ['model', one('model_name_or_path', null, unnamed)],
    ['data.train', llamafactoryFiles('dataset')],
    ['data.heldOut', heldOutOf('val_size', llamafactoryFiles('eval_dataset'))],
    ['seed', one('seed', 42)],
    ['contextLength', rowLength('cutoff_len', 2048), answering],
    ['base.precision', tf32],
    ['adapter.rank', one('lora_rank', 8)],
    ['adapter.alpha', llamafactoryAlpha],
    ['adapter.rsLora', one('use_rslora', false)],
    ['adapter.targets', llamafactoryTargets],
    ['adapter.dropout', one('lora_dropout', 0)],
    ['adapter.initial', llamafactoryAdapter],
    ['rollout.promptsPerStep', rowsPerUpdate('per_device_train_batch_size', 8), answering],
    ['optimization.learningRate', one('learning_rate', 5e-5)],
    ['optimization.schedule', transformersSchedule('lr_scheduler_type', 'linear'), answering],
    ['optimization.warmupProportion', warmupOf(0), answering],
    ['optimization.beta1', one('adam_beta1', 0.9)],
    ['optimization.beta2', one('adam_beta2', 0.999)],
    ['optimization.epsilon', one('adam_epsilon', 1e-8)],
    ['optimization.weightDecay', one('weight_decay', 0)],
    ['optimization.maxGradNorm', one('max_grad_norm', 1, off(null, 0, null))],
    ['steps', trlLength(null), answering],
    ['passes', one('num_train_epochs', 3)],
    ['evaluation.every', trlInterval(evaluations, null), answering],
    ['checkpoints.every', trlInterval(saves, null), answering],
    ['checkpoints.keepLast', one('save_total_limit', null, unset)],
  ],
  [
    ['loss', llamafactoryLoss, ['dpo']],
    ['beta', one('pref_beta', 0.1), preferring],
    ['nllAlpha', one('pref_ftx', 0), ['dpo', 'simpo']],
    ['targetMargin', one('simpo_gamma', 0.5), ['simpo']],
    ['desirableWeight', one('kto_chosen_weight', 1), ['kto']],
    ['undesirableWeight', one('kto_rejected_weight', 1), ['kto']],
    ['labelSmoothing', llamafactorySmoothing, ['dpo']],
  ],
)

export const llamafactoryFixed: readonly FixedSetting[] = [
  ...fixed(true, reasons.display)`do_train plot_loss`,
  ...fixed(false, reasons.precision)`bf16 fp16 pure_bf16`,
  ...fixed(false, reasons.packing)`packing neat_packing`,
  ...fixed('adamw_torch', reasons.optimizer)`optim`,
  ...unread(reasons.code)`trust_remote_code`,
  ...unread(reasons.template)`template enable_thinking default_system`,
  ...unread(reasons.quantised)`quantization_bit quantization_method double_quantization`,
  ...unread(reasons.rows)`max_samples dataset_dir overwrite_cache preprocessing_num_workers
    mix_strategy tokenized_path`,
  ...fixed(false, reasons.answers)`train_on_prompt`,
  ...fixed(
    true,
    'Turnwise learns only the last answer of a conversation; those before it are its prompt',
  )`mask_history`,
  ...unread(
    'Turnwise trains a LoRA adapter',
  )`freeze_trainable_layers freeze_trainable_modules freeze_extra_modules`,
  ...unread(reasons.machine)`dataloader_num_workers ddp_timeout deepspeed fsdp fsdp_config
    flash_attn enable_liger_kernel per_device_eval_batch_size use_unsloth num_processes`,
  ...unread(reasons.results)`output_dir overwrite_output_dir save_only_model resume_from_checkpoint`,
  ...unread(reasons.display)`logging_steps report_to do_eval do_predict`,
  ...unread(reasons.oneWay)`use_dora loraplus_lr_ratio pissa_init pissa_iter pissa_convert
    use_galore use_apollo use_badam use_llama_pro neftune_noise_alpha additional_target ref_model
    pref_bco_weight`,
]
