/** Settings in a Python file or the code cells of a notebook: arguments of calls and dicts that are known by their names. */
import { invalidConfig } from '#shared/errors.ts'
import { isEqual, isObject, type JsonObject } from '#shared/config/paths.ts'
import { isFileFormat, namedFiles, type NamedFiles } from './dataLinks.ts'
import type { ImportNote } from './importNotes.ts'
import { asText } from './links.ts'
import type { PythonSource } from './pythonSource.ts'
import { computed } from './pythonTokens.ts'
import { PythonCall } from './pythonValues.ts'

export interface PythonSettingsFound {
  readonly settings: ReadonlyMap<string, unknown>
  readonly computed: readonly string[]
  /** True if settings may stand in a dict that cannot be read. */
  readonly hasUnread: boolean
  readonly notes: readonly ImportNote[]
  /** The dicts that describe a search. */
  readonly documents: readonly JsonObject[]
}

/** Calls whose keywords are settings, and what their names begin with here. */
const settingCalls: readonly { readonly method: RegExp; readonly prefix: string }[] = [
  { method: /^(Seq2Seq|Unsloth)?TrainingArguments$/, prefix: '' },
  { method: /^(GRPO|GSPO|CISPO|DPO|SFT|LLMPPO|LLMREINFORCE)$/, prefix: 'algorithm.' },
  { method: /^(finetune|train)_llm(_\w+)?$/, prefix: 'training.' },
]

/** Names of dicts of settings. */
const settingDicts = /^(init_?hp|mutation_?params|mut_?p|algo_kwargs)$/i

/** TRL's classes; what stands before is the trainer. */
const trlClass =
  /^(GRPO|RLOO|DPO|SFT|PPO|KTO|ORPO|CPO|BCO|Reward|OnlineDPO|GKD|XPO|NashMD|PRM|AsyncGRPO|Distillation|GOLD|MiniLLM|SDFT|SDPO|SSD|TPO)(Config|Trainer)$/

/** Arguments that trainers of earlier versions took beside their settings. */
const trainerKeywords = [
  'max_seq_length',
  'packing',
  'dataset_text_field',
  'dataset_num_proc',
  'max_length',
  'max_prompt_length',
  'beta',
]

/** Defaults of an adapter in PEFT and in unsloth. */
const peftDefaults: JsonObject = { lora_r: 8, lora_alpha: 8, lora_dropout: 0 }
const unslothDefaults: JsonObject = {
  lora_r: 16,
  lora_alpha: 16,
  lora_dropout: 0,
  lora_target_modules: 'all-linear',
}

/** Classes that wrap a model and adapt it (unsloth). */
const adaptedModels = /(^|\.)Fast\w*Model\.(from_pretrained|get_peft_model)$/

/**
 * `wanted`: the trainer whose settings count where the file trains several times. Errors: AppError 'config/invalid' where it
 * does and none is wanted.
 */
export function pythonSettings(
  { names, calls, returned }: PythonSource,
  wanted: string | null,
): PythonSettingsFound {
  const found = new Found()
  for (const [name, value] of names)
    if (settingDicts.test(name) && isObject(value))
      found.addAll(`${name.toUpperCase().replace(/^MUT_?P$/, 'MUTATION_PARAMS')}.`, value)
  const trainer = trainerOf(calls, wanted)
  const isOwn = ({ method }: PythonCall) => trainer !== null && trainerIn(method) === trainer
  for (const call of calls) if (!isOwn(call)) found.addOther(call, trainer)
  if (trainer !== null) found.addChangesOfRows(calls)
  if (trainer !== null) for (const call of byRank(calls.filter(isOwn))) found.addTrainer(call, trainer)
  const documents = [...names.values(), ...returned, ...calls.flatMap(({ args }) => args)]
  return {
    settings: found.settings,
    computed: found.unknown,
    notes: found.notes,
    hasUnread: found.hasUnread,
    documents: documents.filter(
      (value): value is JsonObject => isObject(value) && isObject(value['parameters']),
    ),
  }
}

const trainerIn = (method: string): string | null => trlClass.exec(method)?.[1]?.toLowerCase() ?? null

/** null: no class of TRL stands there. */
function trainerOf(calls: readonly PythonCall[], wanted: string | null): string | null {
  const trainers = [...new Set(calls.flatMap(({ method }) => trainerIn(method) ?? []))]
  const [first = null] = trainers
  if (first === null) return ownTrainer(calls, wanted)
  if (trainers.length < 2) return first
  if (wanted !== null && trainers.includes(wanted)) return wanted
  throw invalidConfig(
    `The file trains several times, with TRL’s trainers ${trainers.join(' and ')}, and each has settings of its own.`,
    `Choose the algorithm whose settings are meant: ${trainers.join(', ')}; on the command line with --algorithm.`,
  )
}

/**
 * The wanted one where the file uses transformers' own Trainer; null: it does not. Errors: AppError 'config/invalid' where it
 * does and none is wanted, since its rows are of the file's own making.
 */
function ownTrainer(calls: readonly PythonCall[], wanted: string | null): string | null {
  const found = calls.find(({ method }) => /^(Seq2Seq)?Trainer$/.test(method))
  if (found === undefined) return null
  if (wanted !== null) return wanted
  throw invalidConfig(
    `The file trains with transformers’ own ${found.method}, which learns whatever rows its code prepares, so nothing tells the algorithm.`,
    'If it learns answers to prompts, choose sft; on the command line with --algorithm sft.',
  )
}

/** The trainer's own arguments stand over the config that it is given, and that over others of the file. */
function byRank(calls: readonly PythonCall[]): PythonCall[] {
  const given = calls.flatMap(({ keywords, args }) => [keywords['args'], ...args])
  const isGiven = ({ target }: PythonCall) =>
    given.some((each) => each instanceof PythonCall && each.target === target)
  const rank = (call: PythonCall) => (call.method.endsWith('Trainer') ? 0 : isGiven(call) ? 1 : 2)
  return calls.toSorted((a, b) => rank(a) - rank(b))
}

class Found {
  readonly settings = new Map<string, unknown>()
  readonly notes: ImportNote[] = []
  hasUnread = false
  readonly #computed = new Set<string>()
  /** Setting → the call of a trainer that set it. */
  readonly #setters = new Map<string, string>()

  /** Names whose values only running the file would tell; a model may be named where it is loaded. */
  get unknown(): readonly string[] {
    return [...this.#computed].filter((name) => name !== 'model_name_or_path' || !this.settings.has(name))
  }

  addAll(prefix: string, values: JsonObject): void {
    for (const [name, value] of Object.entries(values)) this.#add(`${prefix}${name}`, value)
  }

  #add(name: string, value: unknown): void {
    if (isComputed(value)) this.#computed.add(name)
    else if (value instanceof PythonCall) return
    else if (isObject(value)) this.addAll(`${name}.`, value)
    else if (!this.settings.has(name)) this.settings.set(name, value)
  }

  addOther(call: PythonCall, trainer: string | null): void {
    if (trainerIn(call.method) !== null) return
    const { method, name, keywords } = call
    this.#addPrefixed(call)
    if (adaptedModels.test(name) || method === 'LoraConfig') this.#noteUnread(call)
    if (adaptedModels.test(name)) this.#addAdapted(call)
    else if (method === 'LoraConfig' && trainer !== null) this.#addAdapter(keywords, peftDefaults)
    else if (method === 'LoraConfig') this.addAll('lora_config.', keywords)
    else if (trainer !== null) this.#addLoaded(call)
  }

  #addPrefixed(call: PythonCall): void {
    const { method, keywords } = call
    const prefix = settingCalls.find((each) => each.method.test(method))?.prefix
    if (prefix === undefined) return
    this.#noteUnread(call)
    // Objects that a training is given are no settings of it.
    const known = Object.entries(keywords).filter(([, value]) => prefix !== 'training.' || !isComputed(value))
    this.addAll(prefix, Object.fromEntries(known))
    if (prefix === 'algorithm.') this.#add('algorithm.name', method)
  }

  /** Arguments of a call whose values only running the file would tell. */
  #noteUnread({ method, unread, keywords, conditional, target }: PythonCall): void {
    for (const name of unread) {
      this.hasUnread = true
      const text = `${name} in ${method}(…) was skipped: it is no dict of literals, so only running the file would tell which settings it has.`
      this.notes.push({ kind: 'left-out', name, text })
    }
    for (const [name, value] of Object.entries(conditional)) {
      const where = `${target ?? method}.${name}`
      const shown = isComputed(value) ? '' : ` (${asText(value)})`
      const kept = Object.hasOwn(keywords, name) ? `; what ${method}(…) sets otherwise was taken` : ''
      const text = `${where}${shown} was skipped: it is set under a condition, which was not evaluated${kept}.`
      this.notes.push({ kind: 'changed', name: where, text })
      if (!Object.hasOwn(keywords, name)) this.#computed.add(name)
    }
  }

  addTrainer(call: PythonCall, trainer: string): void {
    const { method, keywords, args } = call
    this.#add('trainer', trainer)
    this.#noteUnread(call)
    const isConfig = method.endsWith('Config')
    const own = isConfig ? keywords : pick(keywords, trainerKeywords)
    this.#noteOthers(call, own)
    this.addAll('', own)
    for (const name of Object.keys(own)) if (!this.#setters.has(name)) this.#setters.set(name, method)
    if (isConfig) return
    const model = keywords['model'] ?? args[0]
    // An object is what another call of the file loads.
    if (!(model instanceof PythonCall)) this.#addText('model_name_or_path', model)
  }

  /** Values that another call of the trainer sets already. */
  #noteOthers({ method }: PythonCall, own: JsonObject): void {
    for (const [name, value] of Object.entries(own)) {
      const setter = this.#setters.get(name)
      if (setter === undefined || isComputed(value) || isEqual(value, this.settings.get(name))) continue
      const which = setter === method ? `another ${setter}(…)` : `${setter}(…)`
      const text = `${name} (${asText(value)}) in ${method}(…) was skipped: ${which} sets it too.`
      this.notes.push({ kind: 'changed', name, text })
    }
  }

  /** unsloth's `FastLanguageModel`: the model, and its adapter. */
  #addAdapted(call: PythonCall): void {
    const { method, keywords } = call
    if (method === 'get_peft_model') {
      this.#addAdapter(keywords, unslothDefaults)
      return
    }
    this.#addText('model_name_or_path', call.argument(0, 'model_name'))
    this.addAll('', pick(keywords, ['max_seq_length', 'load_in_4bit', 'load_in_8bit']))
  }

  /** Adds PEFT's names as those of TRL's command line. */
  #addAdapter({ r, target_modules: modules, ...others }: JsonObject, defaults: JsonObject): void {
    this.#add('use_peft', true)
    if (r !== undefined) this.#add('lora_r', r)
    if (modules !== undefined) this.#add('lora_target_modules', modules)
    this.addAll(
      '',
      pick(others, [
        'lora_alpha',
        'lora_dropout',
        'use_rslora',
        'use_dora',
        'modules_to_save',
        'bias',
        'task_type',
      ]),
    )
    this.#fillIn(defaults)
  }

  #fillIn(defaults: JsonObject): void {
    if (this.hasUnread) return
    for (const [name, value] of Object.entries(defaults)) {
      if (this.settings.has(name) || this.#computed.has(name)) continue
      this.#add(name, value)
      const text = `${name} is ${asText(value)}: the call that makes the adapter does not set it, and that is its default.`
      this.notes.push({ kind: 'filled-in', name, text })
    }
  }

  /** The model and the rows that the script loads. */
  #addLoaded(call: PythonCall): void {
    const { name, method, keywords } = call
    if (/^AutoModelForCausalLM\.from_pretrained$/.test(name))
      this.#addText('model_name_or_path', call.argument(0, 'pretrained_model_name_or_path'))
    if (method !== 'load_dataset') return
    const source = call.argument(0, 'path')
    const isFormat = typeof source === 'string' && isFileFormat(source)
    const files = isFormat ? keywords['data_files'] : source
    if (isComputed(files)) this.#computed.add('dataset_name')
    else this.#addFiles(namedFiles(files, splitOf(keywords['split'])))
    if (!isFormat) this.#addPart(call)
  }

  /** The first data set of a file is that of the run. */
  #addFiles({ taken, left }: NamedFiles): void {
    const known = taken.filter((each) => each !== undefined)
    if (known.length === 0) return
    const files = known.length === 1 ? known[0] : known
    const note = (text: string) => this.notes.push({ kind: 'left-out', name: 'load_dataset', text })
    if (isComputed(files)) this.#computed.add('dataset_name')
    else if (!this.settings.has('dataset_name')) this.#add('dataset_name', files)
    else if (!isEqual(this.settings.get('dataset_name'), files))
      note(`load_dataset(…) also loads ${asText(files)}, which was skipped: the first data set was taken.`)
    if (left.length > 0) note(`data_files in load_dataset(…): left aside: ${left.join(', ')}.`)
  }

  /** Names the changes that the file makes to its rows, which are not run. */
  addChangesOfRows(calls: readonly PythonCall[]): void {
    const sets = new Set<string>()
    const changes = new Set<string>()
    for (const { name, method, target } of calls) {
      const isLoad = method === 'load_dataset'
      if (!isLoad && !/(^|\.)load_dataset\./.test(name) && !sets.has(name.replace(/\..*$/, ''))) continue
      if (target !== null) sets.add(target)
      if (rowChanges.test(method)) changes.add(`${method}(…)`)
    }
    if (changes.size === 0) return
    const text = `${[...changes].join(', ')} on the rows ${changes.size === 1 ? 'was' : 'were'} skipped: nothing in the file is run. Import the rows as the file leaves them, for example with \`turnwise dataset import file.py#function\`.`
    this.notes.push({ kind: 'left-out', name: 'load_dataset', text })
  }

  /** Configuration and split of a data set on a hub. */
  #addPart(call: PythonCall): void {
    const [config, split] = [call.argument(1, 'name'), call.keywords['split']]
    if (typeof config === 'string') this.#add('dataset_config', config)
    if (typeof split !== 'string') return
    const isTest = /test|val|eval/i.test(`${split} ${call.target ?? ''}`)
    this.#add(isTest ? 'dataset_test_split' : 'dataset_train_split', split)
  }

  #addText(name: string, value: unknown): void {
    if (typeof value === 'string') this.#add(name, value)
    else if (isComputed(value)) this.#computed.add(name)
  }
}

/** Methods of a data set that change which rows or columns it has, or what they hold. */
const rowChanges =
  /^(map|filter|select|select_columns|remove_columns|rename_columns?|add_column|cast(_column)?|flatten|shard|take|skip|train_test_split)$/

/** A split without the part of it that is meant. */
const splitOf = (split: unknown): string => (typeof split === 'string' ? split.replace(/\[.*$/, '') : 'train')

const pick = (values: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)))

/** Ranges of a search are calls too, but none that would have to be run. */
const isComputed = (value: unknown): boolean =>
  value === computed ||
  (Array.isArray(value) && value.some(isComputed)) ||
  (value instanceof PythonCall && value.method !== 'RLParameter')

interface NotebookCell {
  readonly cell_type?: unknown
  readonly source?: unknown
}

/** Returns the code cells of a notebook, without commands for its shell; null where the text is not a notebook. */
export function notebookCode(text: string): string | null {
  if (!/^\s*\{/.test(text) || !/"cells"\s*:/.test(text)) return null
  let notebook: unknown
  try {
    notebook = JSON.parse(text)
  } catch {
    return null
  }
  const cells = isObject(notebook) ? notebook['cells'] : null
  if (!Array.isArray(cells)) return null
  const code = (cells as NotebookCell[]).filter((cell) => isObject(cell) && cell.cell_type === 'code')
  const lines = code.flatMap(({ source }) =>
    [source]
      .flat()
      .filter((part) => typeof part === 'string')
      .join('')
      .split('\n'),
  )
  return lines.map((line) => (/^\s*[!%]/.test(line) ? '' : line)).join('\n')
}
