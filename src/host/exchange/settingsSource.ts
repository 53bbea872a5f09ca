/**
 * The settings of another tool as a flat list: YAML, JSON, a command (commandSettings.ts), or what stands in a Python file or a
 * notebook (pythonSettings.ts). Nothing in the text is run.
 */
import { type AppError, invalidConfig } from '#shared/errors.ts'
import { isObject, leaves, type JsonObject } from '#shared/config/paths.ts'
import { pythonYaml } from '#host/files/pythonYaml.ts'
import { parseYaml, YamlFault } from '#host/files/yaml.ts'
import { commandSettings, isScript } from './commandSettings.ts'
import { requireSettingsText } from './foreignFiles.ts'
import type { ImportNote } from './importNotes.ts'
import { interpolated } from './interpolation.ts'
import { isPython, readPython } from './pythonSource.ts'
import { notebookCode, pythonSettings } from './pythonSettings.ts'
import type { PythonCall } from './pythonValues.ts'
import { pythonNumber } from './scalars.ts'

/** Dotted name, as written there, → value: text, number, flag, null or a list. */
export type FlatSettings = ReadonlyMap<string, unknown>

export interface SettingsSource {
  readonly settings: FlatSettings
  /** The whole of a document; of a Python file the dicts that describe a search. */
  readonly documents: readonly JsonObject[]
  readonly calls: readonly PythonCall[]
  /** Settings of a Python file whose values only running it would tell. */
  readonly computed: readonly string[]
  /** True if settings may stand in a dict of a Python file that cannot be read, so that none is known to be unset. */
  readonly hasUnread: boolean
  /** Notes on values that could not be read or were guessed. */
  readonly notes: readonly ImportNote[]
  /** The program that a command starts: `trl dpo`, `scripts/dpo.py`; null: no command. */
  readonly program: string | null
  /** The kind of source, to follow “from”; null: a settings file. */
  readonly form: string | null
}

export interface ReadingChoices {
  /** Trainer whose settings count where a script trains several times. */
  readonly trainer: string | null
  /** Folder that `$HOME` stands for. */
  readonly home: string
}

const maxCharacters = 1_000_000
const maxSettings = 5_000

/** Errors: AppError 'config/invalid'. */
export function readSource(text: string, choices: ReadingChoices): SettingsSource {
  if (text.length > maxCharacters) {
    throw invalidConfig('The file is too large to be a settings file.')
  }
  requireSettingsText(text)
  const source = sourceOf(text.replace(/^\uFEFF/, ''), choices)
  if (source.settings.size + source.documents.length + source.calls.length > 0) return source
  throw invalidConfig(
    'The file holds no settings.',
    'Expected YAML, JSON or Python with named values, or a command with --flags or key=value arguments.',
  )
}

const nothing = {
  documents: [],
  calls: [],
  computed: [],
  hasUnread: false,
  notes: [],
  program: null,
  form: null,
}

function sourceOf(text: string, { trainer, home }: ReadingChoices): SettingsSource {
  const cells = notebookCode(text)
  if (cells !== null) return fromPython(cells, trainer, 'the code cells of a notebook, which were not run')
  if (isPython(text) && !/^#!.*sh\b/.test(text))
    return fromPython(text, trainer, 'a Python file, which was not run')
  const command = commandSettings(text, home, trainer)
  if (command !== null)
    return {
      ...nothing,
      ...command,
      form: command.program === null ? null : `the command of ${command.program}`,
    }
  const { document, notes } = interpolated(fromDocument(text))
  const record = recordOf(document)
  return {
    ...nothing,
    notes,
    settings: flatSettings(record ?? document),
    documents: isObject(document) ? [document] : [],
    form: record === null ? null : 'W&B’s record of a run',
  }
}

function fromPython(code: string, trainer: string | null, form: string): SettingsSource {
  const python = readPython(code)
  return { ...nothing, ...pythonSettings(python, trainer), calls: python.calls, form }
}

function fromDocument(text: string): unknown {
  try {
    return parseYaml(text, { ...pythonYaml, uniqueKeys: true, prettyErrors: true, maxAliasCount: 50 })
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error
    if (text.trim() !== '' && isScript(text)) throw silentScript()
    throw invalidConfig(`The file cannot be read as YAML or JSON: ${error.message}.`)
  }
}

const silentScript = (): AppError =>
  invalidConfig(
    'The file is a script that starts no training with settings of its own.',
    'Import the settings file or the command that it starts the training with.',
  )

/** Reads the settings of a run as W&B stores them, `{ name: { value } }`; null for any other document. */
function recordOf(document: unknown): JsonObject | null {
  if (!isObject(document)) return null
  const entries = Object.entries(document).filter(([name]) => !['_wandb', 'wandb_version'].includes(name))
  const isEntry = (value: unknown) =>
    isObject(value) &&
    Object.hasOwn(value, 'value') &&
    Object.keys(value).every((key) => ['value', 'desc'].includes(key))
  if (entries.length < 2 || !entries.every(([, value]) => isEntry(value))) return null
  return Object.fromEntries(entries.map(([name, value]) => [name, (value as JsonObject)['value']]))
}

function flatSettings(json: unknown): FlatSettings {
  const settings = new Map<string, unknown>()
  for (const [name, value] of leaves(json)) {
    if (settings.size > maxSettings) throw invalidConfig(`The file has more than ${maxSettings} settings.`)
    if (name !== '') settings.set(name, pythonNumber(value))
  }
  return settings
}
