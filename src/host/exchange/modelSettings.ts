/** The part of the table about model, rows and adapter. */
import {
  agilerlPrompt,
  agilerlSplit,
  axolotlCompletion,
  axolotlFiles,
  axolotlPrompt,
  filesOf,
  heldOutOf,
  llamafactoryFiles,
  trlFiles,
  trlPrompt,
} from './dataLinks.ts'
import {
  asNumber,
  asText,
  flagWords,
  off,
  one,
  onlyRead,
  targetModules,
  trlTargets,
  type Link,
} from './links.ts'
import { templateSwitches } from './specialLinks.ts'
import { answering, generating, type SettingRow } from './settingRow.ts'
import { axolotlTargets, llamafactoryAlpha, llamafactoryTargets, orElse } from './trainerLinks.ts'

const unnamed = off(undefined, null, '')

/** Tokens of a whole row; longer ones are cut there and left out here. */
const contextOf = (...names: readonly [string, ...string[]]): Link => ({
  keys: Object.fromEntries(names.map((name) => [name, null])),
  read(given, remark) {
    const name = names.find((each) => asNumber(given(each)) !== null)
    if (name === undefined) return undefined
    remark(`${name} truncates longer rows; Turnwise skips them.`)
    return given(name)
  },
})

const rowLength = (name: string, initial: number): Link => ({ ...contextOf(name), keys: { [name]: initial } })

/** A flag beside the precision of the weights, which stay in 32 bits. */
const tf32: Link = {
  keys: { tf32: null },
  read(given, remark) {
    const value = given('tf32')
    if (typeof value !== 'boolean' && value !== null) remark(`“${asText(value)}” has no equivalent.`)
    return value === true ? 'tf32' : undefined
  },
  write: (value) => ({ tf32: { f32: false, tf32: true }[String(value)] }),
}

const identity: readonly SettingRow[] = [
  {
    ours: 'name',
    isCarried: true,
    trl: onlyRead(one('run_name', null, off(undefined, null))),
    llamafactory: onlyRead(one('run_name', null, off(undefined, null))),
    areal: onlyRead(one('experiment_name', null, off(undefined, null))),
  },
  {
    ours: 'model',
    trl: one('model_name_or_path', null, unnamed),
    llamafactory: onlyRead(one('model_name_or_path', null, unnamed)),
    axolotl: onlyRead(one('base_model', null, unnamed)),
    agilerl: one('pretrained_model_name_or_path', null, unnamed),
    areal: one('actor.path', null, unnamed),
  },
  {
    ours: 'data.train',
    isCarried: true,
    trl: onlyRead(trlFiles),
    agilerl: onlyRead(filesOf('dataset')),
    llamafactory: llamafactoryFiles('dataset'),
    axolotl: axolotlFiles('datasets'),
    areal: onlyRead(filesOf('train_dataset.path')),
  },
  {
    ours: 'data.heldOut',
    isCarried: true,
    trl: onlyRead(heldOutOf('dataset_mixture.test_split_size')),
    agilerl: agilerlSplit,
    llamafactory: heldOutOf('val_size', llamafactoryFiles('eval_dataset')),
    axolotl: heldOutOf('val_set_size', axolotlFiles('test_datasets')),
    areal: onlyRead(filesOf('valid_dataset.path')),
  },
  {
    ours: 'data.prompt',
    isCarried: true,
    for: generating,
    trl: trlPrompt,
    agilerl: agilerlPrompt,
  },
  {
    ours: 'data.prompt',
    isCarried: true,
    for: answering,
    agilerl: agilerlPrompt,
    axolotl: axolotlPrompt,
  },
  {
    ours: 'data.completion',
    isCarried: true,
    for: ['sft'],
    agilerl: one('response_column', null, off(undefined, null)),
    axolotl: axolotlCompletion,
  },
  { ours: 'data.templateVariables', isCarried: true, for: generating, trl: templateSwitches },
  {
    ours: 'data.maxPromptTokens',
    isCarried: true,
    for: generating,
    trl: onlyRead(one('max_prompt_length', null)),
    areal: onlyRead(one('train_dataset.max_length', null)),
  },
  {
    ours: 'data.maxPromptTokens',
    isCarried: true,
    for: answering,
    trl: onlyRead(one('max_prompt_length', null)),
  },
  {
    ours: 'data.shuffle',
    for: generating,
    trl: one('shuffle_dataset', true),
    areal: one('train_dataset.shuffle', true),
  },
  {
    ours: 'data.shuffle',
    for: answering,
    trl: one('train_sampling_strategy', 'random', flagWords('random', 'sequential')),
  },
  {
    ours: 'seed',
    trl: one('seed', 42),
    llamafactory: one('seed', 42),
    axolotl: orElse('seed', 42),
    agilerl: one('seed', 42),
    areal: one('seed', 1),
  },
]

const adapter: readonly SettingRow[] = [
  {
    ours: 'contextLength',
    isCarried: true,
    for: generating,
    trl: contextOf('max_seq_length'),
    agilerl: contextOf('max_context_length'),
  },
  {
    ours: 'contextLength',
    isCarried: true,
    for: answering,
    trl: contextOf('max_length', 'max_seq_length'),
    agilerl: contextOf('max_context_length'),
    areal: contextOf('train_dataset.max_length'),
    llamafactory: rowLength('cutoff_len', 2048),
    axolotl: rowLength('sequence_len', 512),
  },
  {
    ours: 'base.precision',
    off: 'f32',
    trl: tf32,
    llamafactory: onlyRead(tf32),
    axolotl: onlyRead(tf32),
  },
  { ours: 'base.products', isCarried: true },
  {
    ours: 'adapter.rank',
    trl: one('lora_r', 16),
    llamafactory: one('lora_rank', 8),
    axolotl: one('lora_r', null, off(undefined, null)),
    agilerl: one('lora_r', 16),
    areal: one('actor.lora_rank', 32),
  },
  {
    ours: 'adapter.alpha',
    trl: one('lora_alpha', 32),
    llamafactory: llamafactoryAlpha,
    axolotl: one('lora_alpha', null, off(undefined, null)),
    agilerl: one('lora_alpha', 32),
    areal: one('actor.lora_alpha', 16),
  },
  {
    ours: 'adapter.rsLora',
    off: false,
    trl: one('use_rslora', false),
    llamafactory: one('use_rslora', false),
    axolotl: one('peft_use_rslora', null, off(false, null)),
  },
  {
    ours: 'adapter.targets',
    trl: trlTargets,
    llamafactory: llamafactoryTargets,
    axolotl: axolotlTargets,
    agilerl: one('target_modules', 'all-linear', targetModules),
    areal: one('actor.target_modules', 'all-linear', targetModules),
  },
  {
    ours: 'adapter.dropout',
    off: 0,
    trl: one('lora_dropout', 0.05),
    agilerl: one('lora_dropout', 0.05),
    llamafactory: one('lora_dropout', 0),
    axolotl: one('lora_dropout', null, off(0, null)),
  },
  {
    ours: 'adapter.initial',
    isCarried: true,
    llamafactory: onlyRead(one('adapter_name_or_path', null)),
  },
]

export const modelSettings: readonly SettingRow[] = [...identity, ...adapter]
