/** Config entries for rewards and environments, as in the JSON. */
import { codeReference } from '#shared/config/codeReference.ts'
import { fileReference } from './rewardLibrary.ts'
import type { GalleryEntry, Reward, RewardVersion, SettingValues } from './rewardTypes.ts'

/** Entry of `config.rewards`. */
export interface RewardChoice {
  readonly function: string
  readonly weight?: number
  readonly name?: string
  readonly settings?: SettingValues
}

/** `config.environment`; other keys are kept as they are. */
export interface EnvironmentChoice {
  readonly function: string
  readonly settings?: SettingValues
  readonly [other: string]: unknown
}

/** Name of a reward on charts: its own, else that of its function. */
export const choiceName = ({ function: id, name }: Pick<RewardChoice, 'function' | 'name'>): string =>
  name ??
  /\.(?:[cm]?[jt]s|py)#(.+)$/.exec(id)?.[1] ??
  id.replace(/^.*[\\/]/, '').replace(/\.(?:[cm]?[jt]s|py)$/, '')

/** True for Python files, and packages that stand for code, which only run with permission. */
export const isPython = (id: string): boolean => codeReference(id)?.language === 'py'

/** True for files of MCP servers, which only start with permission. */
export const isServers = (id: string): boolean => codeReference(id)?.language === 'json'

/** Name under which a run's config has a library reward; null if it cannot be determined. */
export function nameInRun(config: string, rewardId: string): string | null {
  const rewards = (JSON.parse(config) as { readonly rewards?: readonly RewardChoice[] }).rewards ?? []
  const entry = rewards.find(({ function: id }) => id.includes(rewardId))
  return entry === undefined ? null : choiceName(entry)
}

/** Makes a name for charts: unique and without slashes. */
export function chartName(wanted: string, taken: readonly string[]): string {
  const base =
    wanted
      .trim()
      .toLowerCase()
      .replaceAll(/[\s/\\]+/g, '-') || 'reward'
  if (!taken.includes(base)) return base
  for (let number = 2; ; number++) {
    const name = `${base}-${String(number)}`
    if (!taken.includes(name)) return name
  }
}

/** Origin of an entry, for its line in the picker. */
export type ChoiceSource =
  | { readonly kind: 'own'; readonly reward: Reward; readonly hash: string; readonly part: string | null }
  | { readonly kind: 'builtin'; readonly entry: GalleryEntry }
  | { readonly kind: 'file'; readonly path: string }

export function sourceOfChoice(
  id: string,
  rewards: readonly Reward[],
  gallery: readonly GalleryEntry[],
): ChoiceSource {
  const reference = fileReference(id)
  const reward = rewards.find((each) => each.id === reference?.rewardId)
  if (reference !== null && reward !== undefined)
    return { kind: 'own', reward, hash: reference.hash, part: reference.part }
  const entry = gallery.find((each) => each.code === null && each.id === id)
  return entry === undefined ? { kind: 'file', path: id } : { kind: 'builtin', entry }
}

/** Returns the path by which a config names a version; `part`: one of several functions. */
export const choiceOfVersion = ({ file }: Pick<RewardVersion, 'file'>, part: string | null): string =>
  part === null ? file : `${file}#${part}`

export function moved<Item>(items: readonly Item[], index: number, by: -1 | 1): readonly Item[] {
  const to = index + by
  const item = items[index]
  if (item === undefined || to < 0 || to >= items.length) return items
  return items.toSpliced(index, 1).toSpliced(to, 0, item)
}
