/** Entries of the library, and their names in addresses and files. */
import { judgeFunction } from '#shared/config/judge.ts'
import { viewRoute, viewTitle } from '#shared/places.ts'
import type { GalleryEntry, Reward, RewardKind, RewardVersion } from './rewardTypes.ts'

export type ShelfId = 'rewards' | 'environments' | 'judges' | 'workflows' | 'losses'

export interface Shelf {
  /** Id of its view, and prefix of its settings. */
  readonly id: ShelfId
  readonly kind: RewardKind
  /** Label of the button and title of its dialog. */
  readonly newWords: string
  readonly newHelp: string
  readonly exampleName: string
  readonly listLabel: string
  readonly searchLabel: string
  readonly emptyTitle: string
  /** Title for an address that names nothing. */
  readonly missingTitle: string
  readonly emptyText: string
}

const rewardShelf: Shelf = {
  id: 'rewards',
  kind: 'reward',
  newWords: 'New reward',
  newHelp: 'Code that scores completions.',
  exampleName: 'Sums are right',
  listLabel: 'Reward library',
  searchLabel: 'Find a reward',
  emptyTitle: 'Define what a good completion is.',
  missingTitle: 'This reward no longer exists.',
  emptyText:
    'A few lines of code score each completion. Write your own, or open one from the gallery on the left and make a copy.',
}

const environmentShelf: Shelf = {
  id: 'environments',
  kind: 'environment',
  newWords: 'New environment',
  newHelp: 'Code that the policy acts in, for one or several turns, and that rewards what it did.',
  exampleName: 'Guess the number',
  listLabel: 'Environment library',
  searchLabel: 'Find an environment',
  emptyTitle: 'Let the policy act.',
  missingTitle: 'This environment no longer exists.',
  emptyText:
    'An environment answers the policy for one or several turns and rewards what it did. Begin with a short example, or open one from the gallery on the left, play it and make a copy.',
}

const lossShelf: Shelf = {
  id: 'losses',
  kind: 'loss',
  newWords: 'New loss',
  newHelp: 'What the optimizer makes smaller, from log-probabilities and advantages.',
  exampleName: 'Clip without a floor',
  listLabel: 'Loss library',
  searchLabel: 'Find a loss',
  emptyTitle: 'Define what the policy learns from its completions.',
  missingTitle: 'This loss no longer exists.',
  emptyText:
    'A loss is arithmetic on log-probabilities and advantages; its gradient is derived for you, and it is checked before training. Start with a short example, or open a built-in algorithm from the gallery on the left and make a copy.',
}

const workflowShelf: Shelf = {
  id: 'workflows',
  kind: 'workflow',
  newWords: 'New workflow',
  newHelp: 'How an episode goes: what the policy is asked, and which trajectories are learned from.',
  exampleName: 'Ask twice',
  listLabel: 'Workflow library',
  searchLabel: 'Find a workflow',
  emptyTitle: 'Say how an episode goes.',
  missingTitle: 'This workflow no longer exists.',
  emptyText:
    'A workflow asks the policy for completions, calls tools, and returns what is learned from. Begin with a short example, or open one of the gallery on the left, play it request by request and make a copy.',
}

const shelves: readonly Shelf[] = [rewardShelf, environmentShelf, workflowShelf, lossShelf]

/** Returns the shelf of a view; judges stand on none, as there is one for all. */
export const shelfWith = (id: ShelfId): Shelf => shelves.find((shelf) => shelf.id === id) ?? rewardShelf

export const judgeKey = `builtin.${judgeFunction}`

const shelfIdOf = (kind: RewardKind, key: string): ShelfId =>
  key === judgeKey ? 'judges' : (shelves.find((shelf) => shelf.kind === kind) ?? rewardShelf).id

/** Address of an entry: below the view of its kind. */
export function libraryRoute(kind: RewardKind, key: string): string {
  const route = viewRoute(shelfIdOf(kind, key))
  return key === judgeKey ? route : `${route}/${encodeURIComponent(key)}`
}

/** Title of the tab that lists a kind of code. */
export const shelfTitle = (kind: RewardKind): string => viewTitle(shelfIdOf(kind, ''))

/** Part of an address: built-in functions and gallery code may have the same id. */
export const galleryKey = ({ id, code }: Pick<GalleryEntry, 'id' | 'code'>): string =>
  `${code === null ? 'builtin' : 'gallery'}.${id}`

export const findGalleryEntry = (key: string, gallery: readonly GalleryEntry[]): GalleryEntry | undefined =>
  gallery.find((entry) => galleryKey(entry) === key)

/** Parsed path of a function's file: `…/rw_x/<hash>.ts#name`. */
export interface FileReference {
  readonly rewardId: string
  readonly hash: string
  /** One of several functions; null: its default, else all. */
  readonly part: string | null
}

const fileForm = /[\\/](?<rewardId>rw_[0-9a-f-]{36})[\\/](?<hash>[0-9a-f]{64})\.[jt]s(?:#(?<part>.+))?$/

/** Null for a built-in, and for a file that is no version of the library. */
export function fileReference(id: string): FileReference | null {
  const { rewardId, hash, part } = fileForm.exec(id)?.groups ?? {}
  return rewardId === undefined || hash === undefined ? null : { rewardId, hash, part: part ?? null }
}

/** Number from 1, oldest first; `versions`: newest first. */
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

/** Groups of the list on the left: custom code first, then the gallery. */
export function libraryGroups(
  rewards: readonly Reward[],
  gallery: readonly GalleryEntry[],
  filter: string,
): readonly LibraryGroup[] {
  const words = filter.trim().toLowerCase()
  const matches = ({ name, about }: LibraryItem): boolean => `${name} ${about}`.toLowerCase().includes(words)
  const own = rewards.map(({ id, name, kind, versions }): LibraryItem => ({
    key: id,
    name,
    kind,
    isBuiltIn: false,
    about: versions === 1 ? '1 version' : `${String(versions)} versions`,
  }))
  const builtIn = gallery
    .filter((entry) => galleryKey(entry) !== judgeKey)
    .map((entry): LibraryItem => ({
      key: galleryKey(entry),
      name: entry.title,
      kind: entry.kind,
      isBuiltIn: true,
      about: entry.description,
    }))
  const code = gallery.flatMap((entry) => (entry.code === null ? [] : [galleryKey(entry)]))
  const groups: readonly LibraryGroup[] = [
    { title: 'Yours', items: own },
    { title: 'Gallery: code to copy', items: builtIn.filter(({ key }) => code.includes(key)) },
    { title: 'Built-in functions', items: builtIn.filter(({ key }) => !code.includes(key)) },
  ]
  return groups
    .map(({ title, items }) => ({ title, items: items.filter(matches) }))
    .filter(({ items }) => items.length > 0)
}

/**
 * Sorts what of the gallery can be a reward of a run: built-in ones, code to copy that is not built in as well, and
 * those of the sample's exercises, which fit no other data.
 */
export function offeredRewards(gallery: readonly GalleryEntry[]) {
  const rewards = gallery.filter(({ kind }) => kind === 'reward')
  const known = rewards.filter(({ code }) => code === null)
  const isBuiltIn = ({ id, title }: GalleryEntry) =>
    known.some((each) => [id, title.toLowerCase().replaceAll(' ', '-')].includes(each.id))
  const isOfSample = ({ id }: GalleryEntry) => id.startsWith('starter-')
  return {
    builtIn: known.filter((entry) => !isOfSample(entry)),
    copies: rewards.filter((entry) => entry.code !== null && !isBuiltIn(entry)),
    ofSample: known.filter(isOfSample),
  }
}
