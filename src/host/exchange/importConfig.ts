/**
 * Settings between this program and others. Reading guide:
 *
 *   importConfig.ts   (here) a file of TRL, AgileRL, verl or AReaL as a run config, with a note on all that was not taken over
 *   settingsSource.ts YAML, JSON, words of a command and Python (pythonSource.ts) as a flat list
 *   importStudy.ts    a search in such a file (agilerlSearch.ts; W&B and Optuna: sweepFiles.ts) as the section of a study
 *   exportConfig.ts   a run config as the settings of TRL or AgileRL, with a note on all that has no name there, and
 *                     what the tool does otherwise although the names are the same
 *   settingsTable.ts  the table both read: our settings, the names and the defaults there
 *   links.ts, batches.ts, specialLinks.ts, preferenceLinks.ts   units and conversions of its entries
 *   fixedSettings.ts  what is a setting there and none here
 *   toolAlgorithms.ts which algorithm a file means; tools.ts the tools and what each can do
 *   project/          a run as a folder that the other tool starts from
 */
import { AppError } from '#shared/errors.ts'
import { parseSettings } from '#shared/config/settings.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { toolIds, toolTitles, type ToolId } from '#shared/tools.ts'
import { algorithmById, algorithms } from '#rl/algorithms/registry.ts'
import { isEqual, valueAt, withValue, type JsonObject } from '#shared/config/paths.ts'
import { fixedSettings, type FixedSetting } from './fixedSettings.ts'
import { areOurs, foundSearch, importStudy, type FoundSearch } from './importStudy.ts'
import { asText, entryOf, type Given, type Link } from './links.ts'
import { rowsFor, settingsTable } from './settingsTable.ts'
import { readSource, type FlatSettings, type ImportNote, type TakenSetting } from './settingsSource.ts'
import { algorithmOf } from './toolAlgorithms.ts'

export interface ImportedConfig {
  /** Whose names the settings have; null: Turnwise's own, in the file of a search. */
  readonly tool: ToolId | null
  readonly config: RunConfig
  /** What else the file of a study has: `{ population }` or `{ sweep }`; null: the file describes a single run. */
  readonly study: JsonObject | null
  readonly taken: readonly TakenSetting[]
  readonly notes: readonly ImportNote[]
}

/** A row without a file; the person chooses one. */
const unnamedModel = 'model'
const unnamedData = 'train.jsonl'

/** Errors: AppError 'config/invalid' where the file cannot be read, or means something that does not exist here. */
export function importConfig(text: string, tool: ToolId | null = null): ImportedConfig {
  const source = readSource(text)
  const search = foundSearch(source)
  const settings = search?.fixed ?? source.settings
  const searched = search?.parameters.flatMap(({ names }) => names) ?? []
  const from = tool ?? toolOf(search, settings, searched)
  const names = namesOf(from, settings)
  const given: Given = (name) => names.get(name)?.value
  const { draft, taken, notes } = from === null ? ownRun(settings) : takenRun(from, names, given)
  const left = source.computed.filter((name) => !searched.some((each) => name.endsWith(each)))
  notes.push(...left.map(computedNote))
  const config = finished(draft, notes, given)
  if (search === null) return { tool: from, config, study: null, taken, notes }
  const commonNameOf = (written: string) => (from === null ? written : commonName(from, written))
  const space = { tool: from, algorithm: config.algorithm.id, commonName: commonNameOf, given }
  const study = importStudy(search, config, space)
  // What is searched has no default.
  const others = notes.filter(
    ({ kind, name }) => kind !== 'filled-in' || !study.taken.some(({ ours }) => ours === name),
  )
  return {
    ...{ tool: from, study: study.section, notes: [...others, ...study.notes] },
    taken: [...taken, ...study.taken],
    config: search.from === 'agilerl' ? withStarts(config, study.taken) : named(config, search.name),
  }
}

const named = (config: RunConfig, name: string | null): RunConfig =>
  name === null ? config : { ...config, name }

const computedNote = (name: string): ImportNote => ({
  ...{ kind: 'left-out', name },
  text: `${name} was skipped: only running the file would tell its value.`,
})

/** null where the names of a sweep are settings of ours. Errors: AppError 'config/invalid' where nothing tells. */
function toolOf(
  search: FoundSearch | null,
  settings: FlatSettings,
  searched: readonly string[],
): ToolId | null {
  if (search?.from === 'agilerl') return 'agilerl'
  const algorithm = settings.get('algorithm.id')
  const own = initialConfig(algorithms.some(({ id }) => id === algorithm) ? String(algorithm) : 'grpo')
  if (search !== null && areOurs([...settings.keys(), ...searched], own)) return null
  return detectTool([...settings.keys(), ...searched])
}

interface TakenRun {
  readonly draft: JsonObject
  readonly taken: readonly TakenSetting[]
  readonly notes: ImportNote[]
}

function takenRun(tool: ToolId, names: ReadonlyMap<string, NamedValue>, given: Given): TakenRun {
  const algorithm = algorithmOf(tool, given)
  const taking = new Taking(tool, algorithm.id, names)
  taking.takeAll()
  taking.noteRest([...algorithm.names])
  return taking
}

/** Settings of ours that a sweep sets for every trial. */
function ownRun(settings: FlatSettings): TakenRun {
  const all = [...settings]
  return {
    draft: all.reduce((draft: JsonObject, [key, value]) => withValue(draft, key, value), unnamedRun),
    taken: all.map(([ours, value]) => ({ ours, value, theirs: [ours] })),
    notes: [],
  }
}

const unnamedRun: JsonObject = { model: unnamedModel, data: { train: unnamedData } }

/** What mutates begins with a number, also where the algorithm would choose it. */
const withStarts = (config: RunConfig, mutated: readonly TakenSetting[]): RunConfig =>
  mutated.reduce((next: RunConfig, { ours }) => {
    const start = valueAt(next, ours) ?? valueAt(initialConfig(config.algorithm.id), ours)
    return withValue(next, ours, start) as RunConfig
  }, config)

interface NamedValue {
  readonly written: string
  readonly value: unknown
}

/** AgileRL has sections, or capitals, or neither; the last part of a name tells. */
function namesOf(tool: ToolId | null, source: FlatSettings): ReadonlyMap<string, NamedValue> {
  const named = [...source].map(
    ([written, value]) => [tool === null ? written : commonName(tool, written), { written, value }] as const,
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
  return entryOf(agilerlAliases, last) ?? last
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
function detectTool(names: readonly string[]): ToolId {
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
    this.draft = { ...unnamedRun, algorithm: { id: algorithm } }
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

function finished(draft: JsonObject, notes: ImportNote[], given: Given): RunConfig {
  const missing = (name: string, text: string) => notes.push({ kind: 'filled-in', name, text })
  if (valueAt(draft, 'model') === unnamedModel)
    missing('model', 'The file does not name a model: choose one.')
  if (valueAt(draft, 'data.train') === unnamedData)
    missing('data.train', 'The file does not name training data: choose some.')
  const config = parseRunConfig(draft)
  const algorithm = algorithmById(config.algorithm.id)
  if (
    algorithm.experience === 'rollout' &&
    config.rewards.length === 0 &&
    given('reward_names') === undefined
  )
    missing('rewards', 'Reward code is not imported: write the rewards as functions for Turnwise.')
  algorithm.configure(config.algorithm.settings)
  return config
}

const shown = (value: unknown): string => {
  const text = asText(value)
  return text.length > 60 ? `${text.slice(0, 59)}…` : text
}
