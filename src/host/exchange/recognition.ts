/** Recognises whose settings a file holds, by names that one tool alone has, and says so in a sentence. */
import { invalidConfig } from '#shared/errors.ts'
import { toolIds, toolTitles, type ToolId } from '#shared/tools.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { stands, type AlgorithmFinding } from './evidence.ts'
import { requireOwnKind, requireOwnProgram } from './foreignFiles.ts'
import { fixedSettings, namesIn } from './settingsTable.ts'
import type { SettingsSource } from './settingsSource.ts'

export interface RecognisedTool {
  readonly tool: ToolId
  /** Names or sections that told; null: a person chose the tool. */
  readonly names: readonly string[] | null
}

interface ToolSign {
  readonly tool: ToolId
  readonly names: RegExp
  /** Number of different names required. */
  readonly needs: number
}

const toolSigns: readonly ToolSign[] = [
  {
    tool: 'areal',
    names:
      /^(gconfig\.|actor\.(path|optimizer|eps_clip|mb_spec|reward_norm|use_\w+)(\.|$)|train_dataset\.(path|type|batch_size)$)/,
    needs: 1,
  },
  {
    tool: 'llamafactory',
    names:
      /^(stage|finetuning_type|cutoff_len|lora_rank|lora_target|pref_beta|pref_loss|dataset_dir|neat_packing|freeze_trainable_layers|oft_target|template)$/,
    needs: 2,
  },
  {
    tool: 'axolotl',
    names:
      /^(base_model|micro_batch_size|sequence_len|num_epochs|adapter|val_set_size|lora_target_linear|dataset_prepared_path|sample_packing|rl_beta|rl|trl\.\w+|lr_scheduler|pretraining_dataset)$/,
    needs: 3,
  },
  {
    tool: 'agilerl',
    names:
      /^(INIT_HP\.|MUTATION_PARAMS\.|algorithm\.|network\.|lr_actor$|clip_coef$|update_epochs$|group_size$)/,
    needs: 1,
  },
]

/** Names of TRL’s table that other programs have too. */
const common =
  /^(seed|debug|project|temperature|top_[kp]|min_p|optim|bf16|fp16|tf32|dtype|beta|trainer|datasets|deepspeed|fsdp|use_cpu|model_revision|chat_template|gamma|use_cache|push_to_hub|log_level|num_processes|revision|delta|max_length|repetition_penalty|output_dir|loss_type)$/

/** Errors: AppError 'config/invalid' where the file is of another kind, or nothing tells whose it is. */
export function recognisedTool({ program }: SettingsSource, names: readonly string[]): RecognisedTool {
  requireOwnProgram(program)
  requireOwnKind(names)
  for (const { tool, names: sign, needs } of toolSigns) {
    const found = new Set(names.flatMap((name) => sign.exec(name)?.[0].replace(/\.$/, '') ?? []))
    if (found.size >= needs) return { tool, names: [...found] }
  }
  const known = knownNames('trl')
  const plain = names.map((name) => name.replaceAll('-', '_').replace(/^_+/, ''))
  const own = plain.filter((name) => known.has(name) && !common.test(name))
  if (own.length > 0 && program === null) requireMostly(plain, known)
  if (own.length > 0 || /^trl /.test(program ?? '') || names.includes('trainer'))
    return { tool: 'trl', names: own }
  throw invalidConfig(
    `The file has no setting that identifies ${listed(toolIds.map((id) => toolTitles[id]))}.`,
    `If it is for one of them, choose that tool; on the command line with --from ${toolIds.join(', ')}. Settings of other tools are not read: set the run up in New run.`,
  )
}

/** Least number of names: fewer may be a person’s own. */
const fewest = 4

/**
 * Refuses files that are hardly TRL's. Errors: AppError 'config/invalid' where most names are not TRL's: those it has
 * are then shared by every trainer.
 */
function requireMostly(names: readonly string[], known: ReadonlySet<string>): void {
  if (names.includes('trainer') || names.includes('model_name_or_path')) return
  // Names inside a value are as known as the value.
  const others = names.filter((name) => !known.has(name) && !known.has(name.replace(/\..*$/, '')))
  if (others.length < fewest || 2 * others.length <= names.length) return
  throw invalidConfig(
    `Most names in the file are none of TRL’s (${others.slice(0, 4).join(', ')}), and no other tool that is read here has them.`,
    'If it is for TRL after all, choose that tool; on the command line with --from trl. Settings of other tools are not read: set the run up in New run.',
  )
}

const listed = (words: readonly string[]): string =>
  `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`

const knownNames = (tool: ToolId): ReadonlySet<string> =>
  new Set([...namesIn(tool), ...fixedSettings[tool].map(({ name }) => name)])

export interface Reading {
  readonly recognised: RecognisedTool | null
  readonly finding: Pick<AlgorithmFinding, 'id' | 'because'>
  readonly form: string | null
  /** `sweep`, `population`; null: a single run. */
  readonly study: string | null
}

/** “Read as TRL’s DPO settings: beta and max_prompt_length are set, num_generations is not.” */
export function readingSentence({ recognised, finding, form, study }: Reading): string {
  const { title } = algorithmById(finding.id)
  const whose = recognised === null ? 'Turnwise’s own' : `${toolTitles[recognised.tool]}’s`
  const what = `${study === null ? '' : `a ${study} of `}${whose} ${title} settings${form === null ? '' : ` from ${form}`}`
  return `Read as ${what}: ${[toolEvidence(recognised), finding.because].filter(Boolean).join('; ')}.`
}

/** TRL’s algorithm is found by its names, which say enough. */
function toolEvidence(recognised: RecognisedTool | null): string {
  if (recognised === null) return ''
  const { tool, names } = recognised
  if (names === null) return `${toolTitles[tool]} was chosen`
  return tool === 'trl' || names.length === 0 ? '' : stands(names)
}
