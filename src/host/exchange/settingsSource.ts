/**
 * The settings of another tool as a flat list: YAML, JSON, a command with `key=value` words (Hydra), or what stands in a Python file
 * (pythonSource.ts). Nothing in the text is run, and variables of a shell are not filled in.
 */
import { parseAllDocuments } from 'yaml'
import { AppError } from '#shared/errors.ts'
import { isObject, leaves, type JsonObject } from '#shared/config/paths.ts'
import { parseYaml, YamlFault } from '#host/files/yaml.ts'
import { isPython, PythonCall, readPython, type PythonSource } from './pythonSource.ts'
import { computed } from './pythonTokens.ts'

export type ImportNote = {
  /** left-out: in the file and not taken over; filled-in: the other tool's default; changed: taken over, but not quite the same. */
  readonly kind: 'left-out' | 'filled-in' | 'changed'
  /** As it is called there, or, where it was filled in, here. */
  readonly name: string
  readonly text: string
}

/** A setting of ours and the names in the file that it was made of. */
export interface TakenSetting {
  readonly ours: string
  readonly value: unknown
  readonly theirs: readonly string[]
}

/** Dotted name, as written there, → value: text, number, flag, null or a list. */
export type FlatSettings = ReadonlyMap<string, unknown>

export interface SettingsSource {
  readonly settings: FlatSettings
  /** The whole of a document; of a Python file the dicts that describe a search. */
  readonly documents: readonly JsonObject[]
  /** Of a Python file. */
  readonly calls: readonly PythonCall[]
  /** Settings of a Python file whose values only running it would tell. */
  readonly computed: readonly string[]
}

const maxCharacters = 1_000_000
const maxSettings = 5_000

/** Errors: AppError 'config/invalid'. */
export function readSource(text: string): SettingsSource {
  if (text.length > maxCharacters) {
    throw new AppError('config/invalid', 'The file is too large to be a settings file.')
  }
  const source = sourceOf(text)
  if (source.settings.size + source.documents.length + source.calls.length > 0) return source
  throw new AppError(
    'config/invalid',
    'The file holds no settings.',
    'Expected YAML, JSON or Python with named values, or a command with key=value arguments.',
  )
}

function sourceOf(text: string): SettingsSource {
  const nothing = { documents: [], calls: [], computed: [] }
  if (isPython(text)) return fromPython(readPython(text))
  const words = hydraWords(text)
  if (words.length > 0) return { ...nothing, settings: fromWords(words) }
  const document = fromDocument(text)
  return { ...nothing, settings: flatSettings(document), documents: isObject(document) ? [document] : [] }
}

/** Calls whose keywords are settings, and what their names begin with here. */
const settingCalls: readonly { readonly method: RegExp; readonly prefix: string }[] = [
  { method: /^(GRPO|RLOO|DPO|SFT|PPO)Config$|^(Seq2Seq)?TrainingArguments$/, prefix: '' },
  { method: /^(GRPO|GSPO|CISPO|DPO|SFT|LLMPPO|LLMREINFORCE)$/, prefix: 'algorithm.' },
  { method: /^(finetune|train)_llm(_\w+)?$/, prefix: 'training.' },
]

/** Names of dicts of settings. */
const settingDicts = /^(init_?hp|mutation_?params|algo_kwargs)$/i

function fromPython({ names, calls, returned }: PythonSource): SettingsSource {
  const found = new PythonSettings()
  for (const [name, value] of names)
    if (settingDicts.test(name) && isObject(value)) found.addAll(`${name.toUpperCase()}.`, value)
  const isTrl = calls.some(({ method }) => trlClasses.test(method))
  for (const call of calls) found.addCall(call, isTrl)
  const documents = [...names.values(), ...returned, ...calls.flatMap(({ args }) => args)]
  return {
    ...{ settings: found.settings, computed: found.computed, calls },
    documents: documents.filter(
      (value): value is JsonObject => isObject(value) && isObject(value['parameters']),
    ),
  }
}

const trlClasses = /^(GRPO|RLOO|DPO|SFT|PPO)(Config|Trainer)$/

class PythonSettings {
  readonly settings = new Map<string, unknown>()
  readonly computed: string[] = []

  addAll(prefix: string, values: JsonObject): void {
    for (const [name, value] of Object.entries(values)) this.#add(`${prefix}${name}`, value)
  }

  #add(name: string, value: unknown): void {
    if (isComputed(value)) this.computed.push(name)
    else if (value instanceof PythonCall) return
    else if (isObject(value)) this.addAll(`${name}.`, value)
    else if (!this.settings.has(name)) this.settings.set(name, value)
  }

  addCall({ method, keywords, args }: PythonCall, isTrl: boolean): void {
    const prefix = settingCalls.find((each) => each.method.test(method))?.prefix
    // Objects that a training is given are no settings of it.
    const known = Object.entries(keywords).filter(([, value]) => prefix !== 'training.' || !isComputed(value))
    if (prefix !== undefined) this.addAll(prefix, Object.fromEntries(known))
    if (prefix === 'algorithm.') this.#add('algorithm.name', method)
    if (method === 'LoraConfig')
      this.addAll(isTrl ? '' : 'lora_config.', isTrl ? loraOfTrl(keywords) : keywords)
    if (isTrl && method.endsWith('Trainer')) this.#addTrainer(method, keywords['model'] ?? args[0])
  }

  #addTrainer(method: string, model: unknown): void {
    this.#add('trainer', method)
    if (typeof model === 'string') this.#add('model_name_or_path', model)
  }
}

/** Ranges of a search are calls too, but none that would have to be run. */
const isComputed = (value: unknown): boolean =>
  value === computed ||
  (Array.isArray(value) && value.some(isComputed)) ||
  (value instanceof PythonCall && !isRange(value))

const isRange = ({ method }: PythonCall): boolean => /^(suggest_\w+|RLParameter)$/.test(method)

/** PEFT's names as those of TRL's command line. */
const loraOfTrl = ({ r, target_modules: modules, ...others }: JsonObject): JsonObject => ({
  ...(r === undefined ? {} : { lora_r: r }),
  ...(modules === undefined ? {} : { lora_target_modules: modules }),
  ...others,
})

/** Words like `data.train_batch_size=128`, also behind a command that spans lines; empty where the text is a document. */
function hydraWords(text: string): string[] {
  const code = text
    .split(/\r?\n/)
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
  const words = code.match(/(?:[^\s'"\\]|\\.|'[^']*'|"[^"]*")+/g) ?? []
  const pairs = words.filter((word) => /^\+{0,2}[A-Za-z_][\w.]*=/.test(word))
  return /^\s*[\w.-]+\s*:/m.test(code) && pairs.length < 3
    ? []
    : pairs.filter((word) => word.includes('.') || pairs.length > 2)
}

function fromWords(words: readonly string[]): FlatSettings {
  const settings = new Map<string, unknown>()
  for (const word of words) {
    const at = word.indexOf('=')
    const name = word.slice(0, at).replace(/^\+{1,2}/, '')
    settings.set(name, scalar(word.slice(at + 1)))
  }
  return settings
}

/** A value as Hydra reads it; what stands in a variable of the shell stays as it is written. */
function scalar(written: string): unknown {
  const bare = /^(['"])(.*)\1$/s.exec(written)?.[2] ?? written
  if (bare.includes('$')) return bare
  return parsedValue(bare)
}

function parsedValue(text: string): unknown {
  const [document] = parseAllDocuments(text, { ...strict, schema: 'core' })
  if (document === undefined || !('contents' in document) || document.errors.length > 0) return text
  return pythonNumber(document.toJS({ maxAliasCount: 0 }))
}

const strict = { uniqueKeys: true, prettyErrors: true, version: '1.2' } as const

function fromDocument(text: string): unknown {
  try {
    return parseYaml(text, { ...strict, maxAliasCount: 50 })
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error
    throw new AppError('config/invalid', `The file cannot be read as YAML or JSON: ${error.message}.`)
  }
}

function flatSettings(json: unknown): FlatSettings {
  const settings = new Map<string, unknown>()
  for (const [name, value] of leaves(json)) {
    if (settings.size > maxSettings)
      throw new AppError('config/invalid', `The file has more than ${maxSettings} settings.`)
    if (name !== '') settings.set(name, pythonNumber(value))
  }
  return settings
}

/** 1e-6 and 1_000 are texts to some readers of YAML and numbers to Python. */
function pythonNumber(value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (/^(None|null|~)$/.test(value)) return null
  if (/^(True|False)$/.test(value)) return value === 'True'
  const isNumber = /^[+-]?(\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value)
  return isNumber ? Number(value.replaceAll('_', '')) : value
}
