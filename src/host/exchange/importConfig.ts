/**
 * Settings between this program and others. Reading guide:
 *
 *   importConfig.ts   (here) a file of TRL, AgileRL, verl or AReaL as a run config, with a note on all that was not taken over;
 *                     at the end YAML, JSON and words of a command as a flat list
 *   exportConfig.ts   a run config as the settings of TRL or AgileRL, with a note on all that has no name there, and
 *                     what the tool does otherwise although the names are the same
 *   settingsTable.ts  the table both read: our settings, the names and the defaults there
 *   links.ts, batches.ts, specialLinks.ts, preferenceLinks.ts   units and conversions of its entries
 *   fixedSettings.ts  what is a setting there and none here
 *   toolAlgorithms.ts which algorithm a file means; tools.ts the tools and what each can do
 *   project/          a run as a folder that the other tool starts from
 */
import { parseAllDocuments } from 'yaml'
import { AppError } from '#shared/errors.ts'
import { parseSettings } from '#shared/config/settings.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { toolIds, toolTitles, type ToolId } from '#shared/tools.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { isEqual, leaves, valueAt, withValue } from '#shared/config/paths.ts'
import { fixedSettings, type FixedSetting } from './fixedSettings.ts'
import { asText, type Given, type Link } from './links.ts'
import { rowsFor, settingsTable } from './settingsTable.ts'
import { algorithmOf } from './toolAlgorithms.ts'

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

export interface ImportedConfig {
  readonly tool: ToolId
  readonly config: RunConfig
  readonly taken: readonly TakenSetting[]
  readonly notes: readonly ImportNote[]
}

/** A row without a file; the person chooses one. */
const unnamedModel = 'model'
const unnamedData = 'train.jsonl'

/** Errors: AppError 'config/invalid' where the file cannot be read, or means something that does not exist here. */
export function importConfig(text: string, tool: ToolId | null = null): ImportedConfig {
  const source = readSource(text)
  const from = tool ?? detectTool(source)
  const settings = namesOf(from, source)
  const given: Given = (name) => settings.get(name)?.value
  const algorithm = algorithmOf(from, given)
  const taking = new Taking(from, algorithm.id, settings)
  taking.takeAll()
  taking.noteRest([...algorithm.names])
  return { tool: from, config: finished(taking, given), taken: taking.taken, notes: taking.notes }
}

interface NamedValue {
  readonly written: string
  readonly value: unknown
}

/** AgileRL has sections, or capitals, or neither; the last part of a name tells. */
function namesOf(tool: ToolId, source: FlatSettings): ReadonlyMap<string, NamedValue> {
  const named = [...source].map(
    ([written, value]) => [commonName(tool, written), { written, value }] as const,
  )
  return new Map(named)
}

function commonName(tool: ToolId, written: string): string {
  if (tool !== 'agilerl') return tool === 'trl' ? written.replaceAll('-', '_').replace(/^_+/, '') : written
  const lower = written.toLowerCase()
  if (/^(algorithm|init_hp)\.(name|algo)$/.test(lower)) return 'algo'
  if (lower.includes('cosine_lr_schedule_config.')) return lower.slice(lower.indexOf('cosine_lr'))
  if (lower.endsWith('lora_config.r')) return 'lora_r'
  const last = lower.slice(lower.lastIndexOf('.') + 1)
  return agilerlAliases[last] ?? last
}

/** Names of earlier versions, and of its classes where manifests have others. */
const agilerlAliases: Readonly<Record<string, string>> = {
  adv_whitening: 'whiten_advantages',
  action_granularity: 'advantage_granularity',
  model_name: 'pretrained_model_name_or_path',
  vllm_is_cap: 'vllm_importance_sampling_cap',
  eval_interval: 'evaluation_interval',
}

/** By names that only one of the tools has. Errors: AppError 'config/invalid'. */
function detectTool(source: FlatSettings): ToolId {
  const names = [...source.keys()]
  const has = (pattern: RegExp) => names.some((name) => pattern.test(name))
  if (has(/^(actor_rollout_ref|algorithm\.adv_estimator|trainer\.total_epochs)(\.|$)/)) return 'verl'
  if (has(/^(gconfig|actor\.(path|optimizer|eps_clip|mb_spec)|train_dataset)(\.|$)/)) return 'areal'
  if (
    has(/^(INIT_HP|MUTATION_PARAMS|algorithm|network)\./) ||
    has(/^(lr_actor|clip_coef|update_epochs|group_size)$/)
  )
    return 'agilerl'
  const known = knownNames('trl')
  if (names.some((name) => known.has(name))) return 'trl'
  throw new AppError(
    'config/invalid',
    'The file has no setting that identifies TRL, AgileRL, verl or AReaL.',
    `Choose the tool they are for: ${toolIds.map((id) => toolTitles[id]).join(', ')}; on the command line with --from.`,
  )
}

function knownNames(tool: ToolId): ReadonlySet<string> {
  const mapped = settingsTable.flatMap((row) => Object.keys(row[tool]?.keys ?? {}))
  return new Set([...mapped, ...fixedSettings[tool].map(({ name }) => name)])
}

/** Goes through the table and keeps a draft of our config. */
class Taking {
  readonly notes: ImportNote[] = []
  readonly taken: TakenSetting[] = []
  draft: Record<string, unknown>
  readonly #tool: ToolId
  readonly #algorithm: string
  readonly #settings: ReadonlyMap<string, NamedValue>
  readonly #taken = new Set<string>()
  readonly #initial: RunConfig

  constructor(tool: ToolId, algorithm: string, settings: ReadonlyMap<string, NamedValue>) {
    this.#tool = tool
    this.#algorithm = algorithm
    this.#settings = settings
    this.#initial = initialConfig(algorithm)
    this.draft = { model: unnamedModel, data: { train: unnamedData }, algorithm: { id: algorithm } }
  }

  takeAll(): void {
    for (const row of rowsFor(this.#algorithm)) {
      const link = row[this.#tool]
      if (link?.read !== undefined) this.#take(row.ours, link, link.read)
    }
  }

  #take(ours: string, link: Link, read: NonNullable<Link['read']>): void {
    const names = Object.keys(link.keys)
    const told = names.filter((name) => this.#settings.has(name))
    const remark = (text: string) =>
      this.notes.push({ kind: 'changed', name: this.#written(told[0] ?? names[0] ?? ours), text })
    const value = read(
      (name) => (this.#settings.has(name) ? this.#settings.get(name)?.value : link.keys[name]) ?? null,
      told.length > 0 ? remark : () => undefined,
    )
    for (const name of told) this.#taken.add(name)
    this.#noteUnread(told, value, link)
    // A number of steps outweighs a number of passes, there as here.
    if (ours === 'passes' && typeof this.draft['steps'] === 'number') return
    if (told.length > 0 && value !== undefined)
      this.taken.push({ ours, value, theirs: told.map(this.#written) })
    if (value === undefined || isEqual(value, valueAt(this.#initial, ours))) return
    this.draft = withValue(this.draft, ours, value)
    if (told.length === 0) this.#noteFilled(ours, value, link)
  }

  /** A word where the tool has a number. */
  #noteUnread(told: readonly string[], value: unknown, { keys }: Link): void {
    if (value !== undefined) return
    for (const name of told) {
      const setting = this.#settings.get(name)
      if (setting === undefined || setting.value === null) continue
      if (typeof keys[name] !== 'number' || typeof setting.value === 'number') continue
      const text = `${setting.written} (${shown(setting.value)}) was skipped: it is a number in ${toolTitles[this.#tool]}.`
      this.notes.push({ kind: 'left-out', name: setting.written, text })
    }
  }

  #noteFilled(ours: string, value: unknown, { keys }: Link): void {
    const [name, initial] = Object.entries(keys)[0] ?? [ours, value]
    if (Object.keys(keys).length === 0) {
      const text = `${ours} is ${shown(value)}, as always in ${toolTitles[this.#tool]} (Turnwise’s default is ${shown(valueAt(this.#initial, ours))}).`
      this.notes.push({ kind: 'filled-in', name: ours, text })
      return
    }
    const text = `${ours} is ${shown(value)}: the file does not set ${name}, whose default in ${toolTitles[this.#tool]} is ${shown(initial)} (Turnwise’s default is ${shown(valueAt(this.#initial, ours))}).`
    this.notes.push({ kind: 'filled-in', name: ours, text })
  }

  readonly #written = (name: string): string => this.#settings.get(name)?.written ?? name

  /** What nothing was made of. `decided` chose the algorithm. */
  noteRest(decided: readonly string[]): void {
    const fixed = new Map(fixedFor(this.#tool, this.#algorithm).map((row) => [row.name, row]))
    for (const [name, setting] of this.#settings) {
      if (!decided.includes(name) && !this.#isTaken(name)) this.#noteLeft(setting, fixed.get(name))
    }
    for (const { name, value, initial, because } of fixed.values()) {
      if (initial === undefined || this.#settings.has(name) || isEqual(initial, value)) continue
      const text = `The file does not set ${name}, whose default in ${toolTitles[this.#tool]} is ${shown(initial)}: ${because}.`
      this.notes.push({ kind: 'left-out', name, text })
    }
  }

  /** Also a section of which a part was. */
  #isTaken(name: string): boolean {
    const isPart = (other: string) => other.startsWith(`${name}.`) || name.startsWith(`${other}.`)
    return this.#taken.has(name) || [...this.#taken].some(isPart)
  }

  #noteLeft({ written, value }: NamedValue, fixed: FixedSetting | undefined): void {
    if (fixed !== undefined && 'value' in fixed && isEqual(fixed.value, value)) return
    const because = fixed?.because ?? `${this.#algorithm} has no such setting in Turnwise`
    const text = `${written} (${shown(value)}) was skipped: ${because}.`
    this.notes.push({ kind: 'left-out', name: written, text })
  }
}

export const fixedFor = (tool: ToolId, algorithm: string) =>
  fixedSettings[tool].filter((row) => row.for === undefined || row.for.includes(algorithm))

/** What our settings are where nothing is said. */
export function initialConfig(algorithm: string): RunConfig {
  const { settings, groupSize } = algorithmById(algorithm)
  const config = parseRunConfig({
    model: unnamedModel,
    data: { train: unnamedData },
    algorithm: { id: algorithm, settings: parseSettings(settings, {}, 'algorithm.settings') },
  })
  return { ...config, rollout: { ...config.rollout, groupSize: groupSize.default } }
}

function finished(taking: Taking, given: Given): RunConfig {
  const missing = (name: string, text: string) => taking.notes.push({ kind: 'filled-in', name, text })
  const { experience } = algorithmById(String(valueAt(taking.draft, 'algorithm.id')))
  if (valueAt(taking.draft, 'model') === unnamedModel)
    missing('model', 'The file does not name a model: choose one.')
  if (valueAt(taking.draft, 'data.train') === unnamedData)
    missing('data.train', 'The file does not name training data: choose some.')
  if (experience === 'rollout' && given('reward_names') === undefined)
    missing('rewards', 'Reward code is not imported: write the rewards as functions for Turnwise.')
  const config = parseRunConfig(taking.draft)
  algorithmById(config.algorithm.id).configure(config.algorithm.settings)
  return config
}

const shown = (value: unknown): string => {
  const text = asText(value)
  return text.length > 60 ? `${text.slice(0, 59)}…` : text
}

/* Settings of another tool as a flat list: YAML, JSON, or a command with `key=value` words (Hydra). Nothing in the text
 * is run, and variables of a shell are not filled in. */

/** Dotted name, as written there, → value: text, number, flag, null or a list. */
type FlatSettings = ReadonlyMap<string, unknown>

const maxCharacters = 1_000_000
const maxSettings = 5_000

/** Errors: AppError 'config/invalid'. */
function readSource(text: string): FlatSettings {
  if (text.length > maxCharacters) {
    throw new AppError('config/invalid', 'The file is too large to be a settings file.')
  }
  const words = hydraWords(text)
  const settings = words.length > 0 ? fromWords(words) : fromDocument(text)
  if (settings.size === 0) {
    throw new AppError(
      'config/invalid',
      'The file holds no settings.',
      'Expected YAML or JSON with named values, or a command with key=value arguments.',
    )
  }
  return settings
}

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

function fromDocument(text: string): FlatSettings {
  const documents = parseAllDocuments(text, strict)
  const [document, second] = Array.isArray(documents) ? documents : []
  const problem = document?.errors[0]?.message.split('\n')[0]?.replace(/:$/, '')
  if (document === undefined || problem !== undefined || second !== undefined) {
    const why = problem ?? (second === undefined ? 'it is empty' : 'it contains more than one document')
    throw new AppError('config/invalid', `The file cannot be read as YAML or JSON: ${why}.`)
  }
  return flatSettings(plain(document))
}

/** A few anchors are ordinary; a document that unfolds into millions of values is not. */
function plain(document: { toJS(options: { maxAliasCount: number }): unknown }): unknown {
  try {
    return document.toJS({ maxAliasCount: 50 })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new AppError('config/invalid', `The file cannot be read as YAML or JSON: ${why}.`)
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
