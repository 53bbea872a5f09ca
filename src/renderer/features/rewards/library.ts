/** What there is to choose from, and how addresses and files name it. */
import type { GalleryEntry, Reward, RewardVersion } from './types.ts'

/** Part of an address: functions without code and code of the gallery may have the same id. */
export const galleryKey = ({ id, code }: Pick<GalleryEntry, 'id' | 'code'>): string =>
  `${code === null ? 'builtin' : 'gallery'}.${id}`

export const findGalleryEntry = (key: string, gallery: readonly GalleryEntry[]): GalleryEntry | undefined =>
  gallery.find((entry) => galleryKey(entry) === key)

/** What a function's file is called: `…/rw_x/<hash>.ts#name`. */
export interface FileReference {
  readonly rewardId: string
  readonly hash: string
  /** One of several functions; null: its default, else all. */
  readonly part: string | null
}

const fileForm = /[\\/](?<rewardId>rw_[0-9a-f-]{36})[\\/](?<hash>[0-9a-f]{64})\.[jt]s(?:#(?<part>.+))?$/

/** null for a built-in, and for a file that is no version of the library. */
export function fileReference(id: string): FileReference | null {
  const { rewardId, hash, part } = fileForm.exec(id)?.groups ?? {}
  return rewardId === undefined || hash === undefined ? null : { rewardId, hash, part: part ?? null }
}

/** Numbers from 1, oldest first; `versions` come newest first. */
export const versionNumber = (
  versions: readonly Pick<RewardVersion, 'hash'>[],
  hash: string,
): number | null => {
  const at = versions.findIndex((version) => version.hash === hash)
  return at === -1 ? null : versions.length - at
}

export interface LibraryGroup {
  readonly title: string
  readonly items: readonly LibraryItem[]
}

export interface LibraryItem {
  /** Part of the address. */
  readonly key: string
  readonly name: string
  readonly kind: Reward['kind']
  readonly isBuiltIn: boolean
  readonly about: string
}

/** The list on the left: one's own first, then what comes with the program. */
export function libraryGroups(
  rewards: readonly Reward[],
  gallery: readonly GalleryEntry[],
  filter: string,
): readonly LibraryGroup[] {
  const words = filter.trim().toLowerCase()
  const matches = ({ name, about }: LibraryItem): boolean => `${name} ${about}`.toLowerCase().includes(words)
  const own = rewards.map(({ id, name, kind, versions }): LibraryItem => ({
    ...{ key: id, name, kind, isBuiltIn: false },
    about: versions === 1 ? '1 version' : `${String(versions)} versions`,
  }))
  const builtIn = gallery.map((entry): LibraryItem => ({
    ...{ key: galleryKey(entry), name: entry.title, kind: entry.kind, isBuiltIn: true },
    about: entry.description,
  }))
  const code = gallery.flatMap((entry) => (entry.code === null ? [] : [galleryKey(entry)]))
  const groups: readonly LibraryGroup[] = [
    { title: 'Your rewards', items: own.filter(({ kind }) => kind === 'reward') },
    { title: 'Your environments', items: own.filter(({ kind }) => kind === 'environment') },
    { title: 'Gallery: code to copy', items: builtIn.filter(({ key }) => code.includes(key)) },
    { title: 'Built-in functions', items: builtIn.filter(({ key }) => !code.includes(key)) },
  ]
  return groups
    .map(({ title, items }) => ({ title, items: items.filter(matches) }))
    .filter(({ items }) => items.length > 0)
}
