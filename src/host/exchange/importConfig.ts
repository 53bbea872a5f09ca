/**
 * Settings between this program and others. Reading guide:
 *
 *   importConfig.ts   (here) a file of another tool as a run config, with a note on all that was not taken over
 *   settingsSource.ts the file as a flat list: YAML and JSON (interpolation.ts), commands (commandSettings.ts, shellSource.ts), Python
 *                     and notebooks (pythonSettings.ts, pythonSource.ts, pythonValues.ts)
 *   recognition.ts    whose settings they are, by names that one tool alone has; foreignFiles.ts what is no settings file
 *   toolAlgorithms.ts which algorithm a file means, and why (trlAlgorithm.ts that of TRL's files); evidence.ts the words for it
 *   toolNames.ts      its names as the table has them; taking.ts goes through the table with a file
 *   importStudy.ts    a search in such a file (agilerlSearch.ts; of W&B: wandbSweep.ts) as the section of a study
 *   exportConfig.ts   a run config as the settings of TRL or AgileRL, with a note on all that has no name there, and
 *                     what the tool does otherwise although the names are the same
 *   settingsTable.ts  the table that import and export read: our settings; by tool their names and defaults there, and what is a
 *                     setting there and none here (trlSettings.ts with trlFixed.ts, agilerlSettings.ts and so on)
 *   links.ts, batches.ts, dataLinks.ts, axolotlData.ts, trainerLinks.ts, specialLinks.ts   units and conversions of its entries
 *   tools.ts          the tools and what each can do
 *   project/          a run as a folder that the other tool starts from
 */
import { homedir } from 'node:os'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { AppError, invalidConfig } from '#shared/errors.ts'
import { parseSettings } from '#shared/config/settings.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import type { ToolId } from '#shared/tools.ts'
import { algorithmById } from '#rl/algorithms/registry.ts'
import { valueAt, withValue, type JsonObject } from '#shared/config/paths.ts'
import type { AlgorithmFinding } from './evidence.ts'
import { FileNames } from './toolNames.ts'
import type { ImportNote, TakenSetting } from './importNotes.ts'
import { areOurs, foundSearch, importStudy, type FoundSearch } from './importStudy.ts'
import type { Given } from './links.ts'
import { hubPart, type HubPart } from './dataLinks.ts'
import { readingSentence, recognisedTool, type RecognisedTool } from './recognition.ts'
import { settingsOf } from './settingsTable.ts'
import { readSource, type FlatSettings, type SettingsSource } from './settingsSource.ts'
import { Taking, unnamedData, unnamedModel, unnamedRun } from './taking.ts'
import { algorithmIds, algorithmOf } from './toolAlgorithms.ts'

export type ImportedConfig = Omit<OutputOf<Api, 'runs.importConfig'>, 'config'> & {
  readonly config: RunConfig
}

export interface ImportChoices {
  /** The algorithm that a person says the settings are for; null: the file tells. */
  readonly algorithm?: string | null
  /** Folder that `$HOME` stands for. */
  readonly home?: string
  /** True if an NVIDIA card has passed its check on this machine. */
  readonly hasCard?: boolean
}

/**
 * Errors: AppError 'config/invalid' where the file cannot be read, is of another kind, means something that does not exist here,
 * or does not tell whose settings they are or for which algorithm.
 */
export function importConfig(
  text: string,
  tool: ToolId | null = null,
  { algorithm = null, home = homedir(), hasCard = false }: ImportChoices = {},
): ImportedConfig {
  requireAlgorithm(algorithm)
  const source = readSource(text, { trainer: trainerOf(algorithm), home })
  const search = foundSearch(source)
  const found = { tool, search, settings: search?.fixed ?? source.settings, searched: searchedIn(search) }
  const recognised = recognise(source, found)
  const names = new FileNames(recognised?.tool ?? null, found, source)
  return imported({ source, found, recognised, names, algorithm, hasCard })
}

const searchedIn = (search: FoundSearch | null): readonly string[] =>
  search?.parameters.map(({ name }) => name) ?? []

interface Recognised {
  readonly source: SettingsSource
  readonly found: Searched
  readonly recognised: RecognisedTool | null
  readonly names: FileNames
  readonly algorithm: string | null
  readonly hasCard: boolean
}

function imported({ source, found, recognised, names, algorithm, hasCard }: Recognised): ImportedConfig {
  const { search, searched, settings } = found
  const tool = recognised?.tool ?? null
  const finding = tool === null ? ownAlgorithm(settings) : algorithmOf(tool, names, algorithm)
  const taken = tool === null ? ownRun(settings) : takenRun(tool, finding, names)
  const run = tool === null || hasCard ? taken : withoutCard(taken)
  const left = source.computed.filter((name) => !searched.some((each) => name.endsWith(each)))
  run.notes.push(...names.notes, ...source.notes, ...left.map(computedNote), ...scriptNotes(source, tool))
  const config = finished(run, names.given, isLeftOpen(tool, names))
  const reading = readingSentence({ recognised, finding, form: source.form, study: studyWord(search) })
  if (search === null) return { reading, tool, config, study: null, taken: run.taken, notes: run.notes }
  const space = { tool, algorithm: config.algorithm.id, commonName: names.common, given: names.given }
  return { reading, ...withStudy(search, run, { config, space }) }
}

const studyWord = (search: FoundSearch | null): string | null =>
  search === null ? null : search.from === 'agilerl' ? 'population' : 'sweep'

function requireAlgorithm(id: string | null): void {
  if (id === null || algorithmIds.includes(id)) return
  const known = algorithmIds.join(', ')
  throw invalidConfig(`There is no algorithm “${id}”.`, `Choose one of ${known}.`)
}

/** Variants of GRPO are one trainer of TRL. */
const trainerOf = (algorithm: string | null): string | null =>
  algorithm !== null && ['gspo', 'cispo', 'sapo'].includes(algorithm) ? 'grpo' : algorithm

interface Searched {
  readonly search: FoundSearch | null
  readonly settings: FlatSettings
  readonly searched: readonly string[]
  readonly tool: ToolId | null
}

/**
 * Recognises the tool; null where the names of a sweep are settings of ours. Errors: AppError 'config/invalid' where
 * nothing tells.
 */
function recognise(
  source: SettingsSource,
  { search, settings, searched, tool }: Searched,
): RecognisedTool | null {
  if (tool !== null) return { tool, names: null }
  const names = [...settings.keys(), ...searched]
  if (search?.from === 'agilerl') return { tool: 'agilerl', names: ['pop_size'] }
  if (search !== null && areOurs(names, initialConfig(ownAlgorithm(settings).id))) return null
  return recognisedTool(source, names)
}

function ownAlgorithm(settings: FlatSettings): AlgorithmFinding {
  const id = settings.get('algorithm.id')
  const isKnown = algorithmIds.includes(String(id))
  return isKnown
    ? { id: String(id), names: [], because: `algorithm.id is ${String(id)}` }
    : {
        id: 'grpo',
        names: [],
        because: 'its names are Turnwise settings, and algorithm.id is not set, so it is grpo, the default',
      }
}

interface TakenRun {
  readonly draft: JsonObject
  readonly taken: readonly TakenSetting[]
  readonly notes: ImportNote[]
}

function takenRun(
  tool: ToolId,
  { id, names: decided }: AlgorithmFinding,
  { values: settings, withoutValue: unknown, hasUnread }: FileNames,
): TakenRun {
  const initial = initialConfig(id)
  const taking = new Taking({ tool, algorithm: id, settings, unknown, hasUnread, initial })
  taking.takeAll()
  taking.noteRest([...decided])
  return taking
}

/** Removes TF32, with which no run would start here. */
function withoutCard(run: TakenRun): TakenRun {
  if (valueAt(run.draft, precision) !== 'tf32') return run
  const text =
    'tf32 (true) was skipped: it is base.precision “tf32”, which needs a card of NVIDIA that has passed its check on this machine. The base is in f32, whose products are exact.'
  return {
    draft: withValue(run.draft, precision, undefined),
    taken: run.taken.filter(({ ours }) => ours !== precision),
    notes: [...run.notes, { kind: 'left-out', name: 'tf32', text }],
  }
}

const precision = 'base.precision'

/** Returns the settings of ours that a sweep sets for every trial. */
function ownRun(settings: FlatSettings): TakenRun {
  const all = [...settings]
  return {
    draft: all.reduce((draft: JsonObject, [key, value]) => withValue(draft, key, value), unnamedRun),
    taken: all.map(([ours, value]) => ({ ours, value, theirs: [ours] })),
    notes: [],
  }
}

function withStudy(
  search: FoundSearch,
  { taken, notes }: TakenRun,
  { config, space }: { readonly config: RunConfig; readonly space: Parameters<typeof importStudy>[2] },
): Omit<ImportedConfig, 'reading'> {
  const study = importStudy(search, config, space)
  // Searched settings have no default.
  const others = notes.filter(
    ({ kind, name }) => kind !== 'filled-in' || !study.taken.some(({ ours }) => ours === name),
  )
  return {
    tool: space.tool,
    study: study.section,
    notes: [...others, ...study.notes],
    taken: [...taken, ...study.taken],
    config: search.from === 'agilerl' ? withStarts(config, study.taken) : named(config, search.name),
  }
}

const named = (config: RunConfig, name: string | null): RunConfig =>
  name === null ? config : { ...config, name }

/** Gives mutated settings a number to begin with, also where the algorithm would choose it. */
const withStarts = (config: RunConfig, mutated: readonly TakenSetting[]): RunConfig =>
  mutated.reduce((next: RunConfig, { ours }) => {
    const start = valueAt(next, ours) ?? valueAt(initialConfig(config.algorithm.id), ours)
    return withValue(next, ours, start) as RunConfig
  }, config)

const computedNote = (name: string): ImportNote => ({
  kind: 'left-out',
  name,
  text: `${name} was skipped: only running the file would tell its value.`,
})

/** A script with a trainer of TRL in it has defaults and values of its own, which its command does not tell. */
function scriptNotes({ program }: SettingsSource, tool: ToolId | null): ImportNote[] {
  const isOwn = tool === 'trl' && program !== null && /\.py$/.test(program)
  if (!isOwn || /(?:^|\/)(?:trl|examples)\/scripts\/\w+\.py$/.test(program)) return []
  const text = `${program} itself was not read: what it sets, or has as the default of an option that the command leaves out, is not known. Where nothing was known, TRL’s defaults were taken.`
  return [{ kind: 'left-out', name: program, text }]
}

/** Our settings where the file says nothing. */
export function initialConfig(algorithm: string): RunConfig {
  const { settings, groupSize } = algorithmById(algorithm)
  const config = parseRunConfig({
    model: unnamedModel,
    data: { train: unnamedData },
    algorithm: { id: algorithm, settings: parseSettings(settings, {}, 'algorithm.settings') },
  })
  return { ...config, rollout: { ...config.rollout, groupSize: groupSize.default } }
}

/** Settings that name something: with a variable in it they name nothing. */
const naming: readonly (readonly [ours: string, unnamed: string | undefined])[] = [
  ['model', unnamedModel],
  ['data.train', unnamedData],
  ['data.heldOut', undefined],
  ['name', undefined],
]

/** Returns true if a file sets one of our settings by an expression that can only be evaluated by running it. */
const isLeftOpen =
  (tool: ToolId | null, { unknown }: FileNames) =>
  (ours: string): boolean =>
    tool !== null &&
    settingsOf[tool].some(
      (row) => row.ours === ours && Object.keys(row.link.keys).some((name) => unknown.has(name)),
    )

function finished(
  { draft: written, notes, taken }: TakenRun,
  given: Given,
  isOpen: (ours: string) => boolean,
): RunConfig {
  const draft = naming.reduce((next: JsonObject, [ours, unnamed]) => {
    const value = valueAt(next, ours)
    if (typeof value !== 'string' || !/\$[{(A-Za-z_]/.test(value)) return next
    notes.push({
      kind: 'left-out',
      name: ours,
      text: `${ours} is not known: ${value} names a variable that the file does not set.`,
    })
    return withValue(next, ours, unnamed)
  }, written)
  const missing = (name: string, text: string) => notes.push({ kind: 'filled-in', name, text })
  const choose = (ours: string, what: string, which: string) =>
    missing(
      ours,
      isOpen(ours)
        ? `The file does not tell which ${what} it uses: choose ${which}.`
        : `The file does not name ${what === 'model' ? 'a model' : what}: choose ${which}.`,
    )
  if (valueAt(draft, 'model') === unnamedModel) choose('model', 'model', 'one')
  if (valueAt(draft, 'data.train') === unnamedData) choose('data.train', 'training data', 'some')
  const config = noteHub(
    inTheirNames(taken, () => parseRunConfig(draft)),
    notes,
    hubPart(given),
  )
  const algorithm = algorithmById(config.algorithm.id)
  if (
    algorithm.experience === 'rollout' &&
    config.rewards.length === 0 &&
    given('reward_names') === undefined
  )
    missing('rewards', 'Reward code is not imported: write the rewards as functions for Turnwise.')
  inTheirNames(taken, () => algorithm.configure(config.algorithm.settings))
  return config
}

/** Names a setting as the file does, beside our own name, where its value has a problem. */
function inTheirNames<Result>(taken: readonly TakenSetting[], read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new AppError(error.code, withTheirNames(error.message, taken), error.hint)
  }
}

const withTheirNames = (text: string, taken: readonly TakenSetting[]): string =>
  taken.reduce(
    (next, { ours, theirs }) =>
      theirs.length === 0 || ours === 'model' || ours === 'name'
        ? next
        : next.replace(
            new RegExp(`(?<![\\w.])${ours.replaceAll('.', '\\.')}(?![\\w]|\\.\\w)`),
            `${ours} (${theirs.join(', ')} in the file)`,
          ),
    text,
  )

const isHubName = (name: unknown): name is string =>
  typeof name === 'string' &&
  /^[\w-][\w.-]*\/[\w.-]+$/.test(name) &&
  !/\.(jsonl?|csv|tsv|parquet)$/i.test(name)

/** Names that a shell takes as they are. */
const isPlain = (name: string | null): name is string => name !== null && /^[\w.@/-]+$/.test(name)

const withoutSlice = (split: string | null): string | null => split?.replace(/\[.*\]$/, '') ?? null

function hubCommand(data: string, config: string | null, split: string | null): string {
  const whole = withoutSlice(split)
  const options = [isPlain(config) ? ` --config ${config}` : '', isPlain(whole) ? ` --split ${whole}` : '']
  return `turnwise dataset import ${data}${options.join('')}`
}

const sliceWords = (split: string | null): string =>
  split === null || split === withoutSlice(split)
    ? ''
    : ` The file takes ${split} of it, a part that the command cannot name.`

/** A run reads files and folders; a data set of a hub has to be fetched first, and each of its splits is rows of its own. */
function noteHub(config: RunConfig, notes: ImportNote[], part: HubPart): RunConfig {
  const { train, heldOut } = config.data
  if (!isHubName(train)) return config
  const change = (name: string, text: string) => notes.push({ kind: 'changed', name, text })
  change(
    'data.train',
    `data.train is ${train}, a name on a hub: \`${hubCommand(train, part.config, part.split)}\` fetches its rows; then choose what it imported.${sliceWords(part.split)}`,
  )
  if (part.test !== null)
    change(
      'data.heldOut',
      `The file validates on ${part.test}: \`${hubCommand(train, part.config, part.test)}\` fetches that split; then choose it as data.heldOut.${sliceWords(part.test)}`,
    )
  if (heldOut !== train) return config
  change(
    'data.heldOut',
    `data.heldOut is empty: the file validates on another split of ${train}, which has to be imported too.`,
  )
  return { ...config, data: { ...config.data, heldOut: null } }
}
