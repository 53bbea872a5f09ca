/** Import of another tool's settings into the run being set up. */
import { invalidConfig } from '#shared/errors.ts'
import type { Answer } from '#renderer/client/api.tsx'
import { algorithmTitle } from '#renderer/client/runSettings.ts'
import { plural } from '#renderer/client/format.ts'
import { toolTitles } from '#shared/tools.ts'
import { pruned } from './draft.ts'
import type { SettingField } from '#shared/config/fields.ts'
import { isObject, valueAt, withValue, type JsonObject } from '#shared/config/paths.ts'

export type ImportedConfig = Answer<'runs.importConfig'>
export type ImportNote = ImportedConfig['notes'][number]

export const sourceTitle = ({ tool }: ImportedConfig): string =>
  tool === null ? 'The sweep' : toolTitles[tool]

export const readWords = (imported: ImportedConfig, algorithms: Parameters<typeof algorithmTitle>[1]) => ({
  tool: `, here ${sourceTitle(imported)}`,
  algorithm: `, here ${algorithmTitle(imported.config.algorithm.id, algorithms)}`,
})

/** Kind of a file that describes more than a run: `sweep`, `population`. */
export const studyWord = ({ study }: ImportedConfig): string | null => Object.keys(study ?? {})[0] ?? null

const largest = 1_000_000

/** Errors: AppError 'config/invalid' if the file cannot be read, or is not something a person wrote. */
export async function readSettingsFile(file: File): Promise<string> {
  if (file.size <= largest) return file.text()
  throw invalidConfig(
    `${file.name} is too large to hold the settings of a run.`,
    'Choose the file that the training was started with; nothing was changed.',
  )
}

/** Settings a file may leave open, the placeholder values it then contains, and the draft's setting that fills them. */
const open: readonly {
  readonly name: string
  readonly unmeant: readonly string[]
  readonly kept: readonly string[]
}[] = [
  { name: 'model', unmeant: ['model'], kept: ['model'] },
  { name: 'data.train', unmeant: ['data.train', 'data.heldOut', 'data.prompt'], kept: ['data'] },
  { name: 'rewards', unmeant: ['rewards'], kept: ['rewards', 'environment'] },
]

/** Keys about this machine and this run only, which no other tool sets. */
const ownKeys = ['name', 'device']

/** Merges the file's settings and search into the draft; rows, model and rewards stay unless the file names them. */
export function takenOver(
  now: JsonObject,
  { config, notes, study }: Pick<ImportedConfig, 'config' | 'notes' | 'study'>,
  fields: readonly SettingField[],
): JsonObject {
  // Defaults of an algorithm's settings depend on the algorithm, which may differ from the draft's.
  const common = fields.filter(({ key }) => !key.startsWith('algorithm.settings.'))
  const filledIn = notes.filter(({ kind }) => kind === 'filled-in').map(({ name }) => name)
  const answered = open.filter(({ name }) => filledIn.includes(name))
  const said = answered
    .flatMap(({ unmeant }) => unmeant)
    .reduce((next, key) => withValue(next, key, undefined), pruned(config as unknown as JsonObject, common))
  const kept = [...ownKeys, ...answered.flatMap(({ kept: keys }) => keys)]
  return { ...kept.reduce((next, key) => withOwn(next, key, valueAt(now, key)), said), ...study }
}

/** Merges a section of the file over the draft's. */
function withOwn(config: JsonObject, key: string, own: unknown): JsonObject {
  const said = config[key]
  if (own === undefined) return config
  if (isObject(said) && isObject(own)) return { ...config, [key]: { ...own, ...said } }
  return said === undefined ? { ...config, [key]: own } : config
}

const headings: readonly (readonly [ImportNote['kind'], string])[] = [
  ['left-out', 'Not taken over'],
  ['changed', 'Applied, but not exactly the same'],
  ['filled-in', 'Filled in'],
]

export interface NoteGroup {
  readonly kind: ImportNote['kind']
  readonly title: string
  readonly notes: readonly ImportNote[]
}

/** Groups notes, the most important first. */
export const noteGroups = (notes: readonly ImportNote[]): readonly NoteGroup[] =>
  headings.flatMap(([kind, title]) => {
    const own = notes.filter((note) => note.kind === kind)
    return own.length === 0 ? [] : [{ kind, title: `${title}: ${plural(own.length, 'setting')}`, notes: own }]
  })
