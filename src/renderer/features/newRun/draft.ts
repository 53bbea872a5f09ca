/** The run being set up: a config as in a file, and its origin. */
import type { SettingField } from '#shared/config/fields.ts'
import { isEqual, isObject, valueAt, withValue, type JsonObject } from '#shared/config/paths.ts'
import { invalidConfig } from '#shared/errors.ts'

export interface ForkPoint {
  readonly runId: string
  readonly step: number
  /** All settings of the forked run. */
  readonly parent: JsonObject
}

export interface Draft {
  readonly config: JsonObject
  /** Checkpoint to continue from; null: not a fork. */
  readonly fork: ForkPoint | null
}

export const emptyDraft: Draft = { config: {}, fork: null }

export const isEmptyDraft = ({ config, fork }: Draft): boolean =>
  fork === null && Object.keys(config).length === 0

export function effectiveValue(config: JsonObject, field: Pick<SettingField, 'key' | 'default'>): unknown {
  const said = valueAt(config, field.key)
  return said === undefined ? field.default : said
}

/** Returns the unchanged value: the parent's in a fork, else the default. */
export const baseValue = ({ fork }: Draft, field: Pick<SettingField, 'key' | 'default'>): unknown =>
  fork === null ? field.default : effectiveValue(fork.parent, field)

export const isChanged = (draft: Draft, field: Pick<SettingField, 'key' | 'default'>): boolean =>
  !isEqual(effectiveValue(draft.config, field), baseValue(draft, field))

export const changedFields = (draft: Draft, fields: readonly SettingField[]): SettingField[] =>
  fields.filter((field) => isChanged(draft, field))

/** Sets a value; defaults are omitted from the config. */
export function withSetting(draft: Draft, field: SettingField, value: unknown): Draft {
  const isDefault = draft.fork === null && isEqual(value, field.default)
  return { ...draft, config: withValue(draft.config, field.key, isDefault ? undefined : value) }
}

export function withReset(draft: Draft, field: SettingField): Draft {
  const parent = draft.fork === null ? undefined : valueAt(draft.fork.parent, field.key)
  return { ...draft, config: withValue(draft.config, field.key, parent) }
}

/** Removes values equal to their defaults, to shorten another run's config. */
export const pruned = (config: JsonObject, fields: readonly SettingField[]): JsonObject =>
  fields.reduce(
    (shorter, field) =>
      isEqual(valueAt(shorter, field.key), field.default)
        ? withValue(shorter, field.key, undefined)
        : shorter,
    withoutEmpty(config),
  )

/** Removes empty lists of rewards and stages, and an empty environment. */
function withoutEmpty(config: JsonObject): JsonObject {
  const entries = Object.entries(config).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  )
  return Object.fromEntries(entries)
}

/** Keys replaced as a whole, since a mixture with another value would make no sense. */
const whole: ReadonlySet<string> = new Set([
  'data.train',
  'data.heldOut',
  'data.prompt',
  'environment',
  'algorithm.settings',
])

/** Returns the fork's changes from its parent, by dotted name. */
export function forkChanges({ config, fork }: Draft): JsonObject {
  return fork === null ? {} : Object.fromEntries(differences(fork.parent, config, ''))
}

function differences(before: unknown, after: unknown, key: string): [string, unknown][] {
  if (isEqual(before, after)) return []
  if (!isObject(before) || !isObject(after) || whole.has(key)) return [[key, after ?? null]]
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names.flatMap((name) => {
    // Omitted keys stay as they are.
    if (after[name] === undefined && key !== '') return []
    if (after[name] === undefined) return before[name] === undefined ? [] : missing(name, before[name])
    return differences(before[name], after[name], key === '' ? name : `${key}.${name}`)
  })
}

/** Resets a removed list or environment; other keys have a value in every config. */
function missing(name: string, before: unknown): [string, unknown][] {
  if (Array.isArray(before)) return before.length === 0 ? [] : [[name, []]]
  return name === 'environment' && before !== null ? [[name, null]] : []
}

/** Returns the config without keys that do not affect the check, such as the name. */
export const checkedPart = (draft: Draft): string => {
  const { name: _, ...rest } = draft.config
  return JSON.stringify([rest, draft.fork?.runId ?? null, draft.fork?.step ?? null])
}

// The config as text: saved, opened and edited by hand.

export const configText = (config: JsonObject): string => `${JSON.stringify(config, null, 2)}\n`

/** Parses JSON only; the host validates the settings. Errors: AppError 'config/invalid'. */
export function parseConfigText(text: string): JsonObject {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw invalidConfig(`This is not JSON. ${sentence(error)}`, 'Correct the text; nothing was changed.')
  }
  if (isObject(json)) return json
  throw invalidConfig('A config file is one JSON object.', 'Nothing was changed.')
}

const sentence = (error: unknown): string =>
  error instanceof Error ? `${error.message}.`.replace(/\.\.$/, '.') : ''
