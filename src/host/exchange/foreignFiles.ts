/**
 * Recognises files that are not training settings which can be imported, by names that only they have: each kind is
 * refused by its name.
 */
import { type AppError, invalidConfig } from '#shared/errors.ts'

interface Foreign {
  /** Continuation of “The file is”. */
  readonly what: string
  /** Patterns, each of which matches a name of the file, whole or its beginning. */
  readonly signs: readonly RegExp[]
  /** Name with which it is not of this kind after all. */
  readonly unless?: RegExp
  readonly hint: string
}

const training = 'Give the file with the settings of the training itself.'
const otherTool =
  'Turnwise imports settings of TRL, AgileRL, AReaL, LLaMA-Factory and axolotl. Set the run up in New run.'
const modelPart = 'It belongs to a model: open its folder as a model instead.'

const verlNames =
  'Set the run up in New run: actor_rollout_ref.model.path is model there, data.train_files data.train, data.train_batch_size rollout.promptsPerStep, actor_rollout_ref.rollout.n rollout.groupSize, data.max_response_length rollout.maxNewTokens, actor_rollout_ref.actor.optim.lr optimization.learningRate.'

const foreign: readonly Foreign[] = [
  {
    what: 'accelerate’s: it says on which devices a training runs',
    signs: [/^distributed_type$/, /^(compute_environment|num_processes|mixed_precision)$/],
    hint: training,
  },
  {
    what: 'DeepSpeed’s: it says how memory is divided among devices',
    signs: [/^(zero_optimization|train_micro_batch_size_per_gpu|zero_allow_untested_optimizer)(\.|$)/],
    hint: training,
  },
  {
    what: 'SkyPilot’s: it says on which machines a command runs',
    signs: [/^resources\./, /^(run|setup|file_mounts|num_nodes)(\.|$)/],
    hint: 'Give the settings that its command starts the training with.',
  },
  { what: 'Docker Compose’s: it starts containers', signs: [/^services\./], hint: training },
  { what: 'a Kubernetes manifest: it starts containers', signs: [/^apiVersion$/, /^kind$/], hint: training },
  { what: 'a GitHub Actions workflow', signs: [/^jobs\./, /^(on|true|name)(\.|$)/], hint: training },
  { what: 'pre-commit’s', signs: [/^repos$/], hint: training },
  {
    what: 'the adapter_config.json of a PEFT adapter',
    signs: [
      /^(peft_type|base_model_name_or_path)$/,
      /^(r|lora_alpha|target_modules|task_type|inference_mode)$/,
    ],
    hint: 'Open the adapter’s folder as an adapter instead; the settings that it was trained with are not in it.',
  },
  {
    what: 'the config.json of a model',
    signs: [
      /^(architectures|model_type)$/,
      /^(hidden_size|num_hidden_layers|vocab_size|n_embd|text_config)(\.|$)/,
    ],
    hint: modelPart,
  },
  {
    what: 'the generation_config.json of a model',
    signs: [
      /^(bos_token_id|eos_token_id|pad_token_id)$/,
      /^(transformers_version|_from_model_config|do_sample)$/,
    ],
    hint: modelPart,
  },
  {
    what: 'the tokenizer_config.json of a model',
    signs: [/^(tokenizer_class|added_tokens_decoder)(\.|$)/],
    hint: modelPart,
  },
  { what: 'the tokenizer.json of a model', signs: [/^model\.(vocab|merges)(\.|$)/], hint: modelPart },
  {
    what: 'the trainer_state.json of a checkpoint',
    signs: [/^log_history$/, /^global_step$/],
    hint: training,
  },
  { what: 'mergekit’s: it merges models', signs: [/^merge_method$/], hint: training },
  {
    what: 'one of NeMo RL’s (grpo, policy, loss_fn), whose settings are not read',
    signs: [/^(grpo|dpo|sft|distillation|rm)\./, /^policy\./],
    hint: 'Set the run up in New run: policy.model_name is model there, grpo.num_prompts_per_step rollout.promptsPerStep, grpo.num_generations_per_prompt rollout.groupSize, policy.max_total_sequence_length contextLength, policy.optimizer.kwargs.lr optimization.learningRate.',
  },
  {
    what: 'one of verl’s, whose settings are not read',
    signs: [
      /^(actor_rollout_ref|algorithm\.adv_estimator|trainer\.total_epochs|model\.partial_pretrain)(\.|$)/,
    ],
    hint: verlNames,
  },
  {
    what: 'one of DeepSpeed-Chat’s, whose settings are not read',
    signs: [/^(actor_model_name_or_path|data_path)$/, /^(critic_model_name_or_path|data_split|zero_stage)$/],
    hint: otherTool,
  },
  {
    what: 'one of slime’s, whose settings are not read',
    signs: [/^hf_checkpoint$/, /^(advantage_estimator|rollout_batch_size|prompt_data)$/],
    hint: otherTool,
  },
  {
    what: 'one of OpenRLHF’s, whose settings are not read',
    signs: [/^(pretrain|actor_num_nodes)$/, /^(prompt_data|n_samples_per_prompt|micro_train_batch_size)$/],
    hint: otherTool,
  },
  {
    what: 'one of ms-swift’s, whose settings are not read',
    signs: [/^(train_type|tuner_type|rlhf_type)$/, /^(model|dataset|lora_rank)$/],
    hint: otherTool,
  },
  {
    what: 'one of MLX-LM’s, whose settings are not read',
    signs: [/^(fine_tune_type|lora_parameters)(\.|$)/, /^(iters|num_layers|lora_layers|data)$/],
    hint: otherTool,
  },
  {
    what: 'one of Oumi’s, whose settings are not read',
    signs: [/^training\.trainer_type$/, /^model\.model_name$/],
    hint: otherTool,
  },
  {
    what: 'a job of OpenAI’s fine-tuning, whose settings are not read',
    signs: [/^training_file$/, /^(model|method\.type|hyperparameters(\.\w+)?)$/],
    hint: otherTool,
  },
  { what: 'torchtune’s', signs: [/(^|\.)_component_$/], hint: otherTool },
  {
    what: 'one of LLaMA-Factory’s for merging an adapter or exporting a model, which trains nothing',
    signs: [/^export_dir$/, /^model_name_or_path$/],
    hint: training,
  },
  {
    what: 'one of LLaMA-Factory’s for generating predictions, which trains nothing',
    signs: [/^do_predict$/, /^finetuning_type$/],
    unless: /^do_train$/,
    hint: training,
  },
  {
    what: 'one of LLaMA-Factory’s for chatting with a model, which trains nothing',
    signs: [/^infer_backend$/],
    hint: training,
  },
  {
    what: 'one of LLaMA-Factory’s version 1, whose settings are not read',
    signs: [
      /^model_class$/,
      /^(train_dataset|micro_batch_size|dist_config\.name|kernel_config\.name|quant_config\.name)$/,
    ],
    hint: 'Write it with the names of its stable version (stage, finetuning_type), or set the run up in New run.',
  },
  {
    what: 'LLaMA-Factory’s list of data sets',
    signs: [/\.(hf_hub_url|ms_hub_url|file_name)$/],
    hint: 'Import the data sets themselves with `turnwise dataset import`.',
  },
  {
    what: 'open-r1’s for filtering rows by how often a model solves them',
    signs: [/^pass_rate_(min|max)$/],
    hint: training,
  },
  {
    what: 'a run config of Turnwise already',
    signs: [/^algorithm\.id$/, /^data\.train(\.|$)/],
    hint: 'Open it in New run, or start it with `turnwise train`.',
  },
]

/**
 * Refuses files of another kind. Errors: AppError 'config/invalid' where the names are those of another kind of file.
 */
export function requireOwnKind(names: readonly string[]): void {
  const stands = (sign: RegExp) => names.some((name) => sign.test(name))
  const found = foreign.find(
    ({ signs, unless }) => signs.every(stands) && (unless === undefined || !stands(unless)),
  )
  if (found !== undefined) throw refusal(found)
}

const refusal = ({ what, hint }: Pick<Foreign, 'what' | 'hint'>): AppError =>
  invalidConfig(`The file is ${what}; nothing was changed.`, hint)

const foreignTexts: readonly { readonly what: string; readonly sign: RegExp; readonly hint: string }[] = [
  {
    what: 'an Ollama Modelfile',
    sign: /^[ \t]*FROM[ \t]+\S+[ \t]*$[\s\S]*?^\s*(PARAMETER|TEMPLATE|SYSTEM|ADAPTER|MESSAGE|LICENSE)\s/im,
    hint: 'Open the model that it names as a model instead.',
  },
  {
    what: 'a search of Optuna’s, whose ranges are not read',
    sign: /^[^#\n]*\.suggest_(float|int|categorical|(log|discrete_)?uniform)\s*\(|"name\\?":\s*\\?"\w+Distribution\\?",\s*\\?"attributes\\?":/m,
    hint: 'Write it as a sweep: `method` and `parameters` with ranges or values, as in “Populations, sweeps and seeds” of docs/reference.md. Sweeps of W&B are read.',
  },
  { what: 'a Dockerfile', sign: /^FROM\s+\S[\s\S]*?^(RUN|COPY|CMD|ENTRYPOINT)\s/m, hint: training },
  {
    what: 'a pointer of Git LFS, not the file itself',
    sign: /^version https:\/\/git-lfs\./,
    hint: 'Fetch the file with `git lfs pull`.',
  },
  {
    what: 'a page of HTML',
    sign: /^\s*<(!doctype html|html)/i,
    hint: 'Save the file itself, not the page that shows it.',
  },
]

/** Errors: AppError 'config/invalid' where the text itself is another kind of file. */
export function requireSettingsText(text: string): void {
  const start = text.slice(0, 20_000)
  const found = foreignTexts.find(({ sign }) => sign.test(start))
  if (found !== undefined) throw refusal(found)
  if (isToml(start.split('\n')))
    throw refusal({ what: 'TOML, which none of the tools that are read here uses', hint: otherTool })
}

/** A section in brackets, with an assignment below it and nothing but assignments above. */
function isToml(lines: readonly string[]): boolean {
  const meant = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'))
  const section = meant.findIndex((line) => /^\[{1,2}[\w."-]+\]{1,2}$/.test(line))
  const isAssignment = (line: string) => /^[\w."-]+ *= *["'[{\dtf+-]/.test(line)
  return (
    section !== -1 && isAssignment(meant[section + 1] ?? '') && meant.slice(0, section).every(isAssignment)
  )
}

const foreignPrograms: readonly {
  readonly sign: RegExp
  readonly title: string
  readonly hint?: string
}[] = [
  { sign: /^verl\./, title: 'verl', hint: verlNames },
  { sign: /^swift /, title: 'ms-swift' },
  { sign: /^tune /, title: 'torchtune' },
  { sign: /^openrlhf\./, title: 'OpenRLHF' },
  { sign: /^axolotl (?!train)/, title: 'axolotl, which trains nothing here' },
]

/** Errors: AppError 'config/invalid' where the command is one of another tool. */
export function requireOwnProgram(program: string | null): void {
  const found = foreignPrograms.find(({ sign }) => program !== null && sign.test(program))
  if (found !== undefined)
    throw invalidConfig(
      `The command ${program} is one of ${found.title}, whose settings are not imported; nothing was changed.`,
      found.hint ?? otherTool,
    )
}
