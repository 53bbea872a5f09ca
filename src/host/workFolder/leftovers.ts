/**
 * Finds the leftovers of processes that were killed while they copied, fetched or deleted: hidden names that nobody
 * will ever finish. They are cleared when a host starts, those of living processes never.
 */
import { lstatSync, readdirSync, rmSync, statSync, type Dirent } from 'node:fs'
import path from 'node:path'
import { attempt } from '#shared/attempt.ts'
import { isAlive } from '#host/files/living.ts'
import { isRunFolder } from './runFolder.ts'
import { dataFolders } from '#host/dataDirectory.ts'

/** Files and folders under temporary names tell the number of the process that writes them. */
const owned = [/^\..+\.(\d+)\.\d+\.partial$/, /^.+\.(\d+)\.partial$/, /^\.import\.(\d+)\.\d+$/]
/** A folder gets such a name when there is nothing left to do but to remove it. */
const removed = /^\..+\.removed$/
/** Holds the address of a host for the browser to open; the page of a host that lives is gone in a minute. */
const redirect = /^open-[0-9a-f-]{36}\.html$/
/** Time without changes after which the folder of a run is abandoned: earlier versions filled it in its place. */
const abandonedMs = 10 * 60_000

/** Lists all leftovers of that kind in a data directory. */
export function findLeftovers(dataDirectory: string): string[] {
  const places = dataFolders(dataDirectory)
  // What a link leads to is not ours to clear.
  const areas = Object.values(places).filter(isNoLink)
  const { runs, datasets, rewards, conversations, studies, cache } = places
  const runFolders = [runs].filter(isNoLink).flatMap(entriesOf).filter(isVisibleFolder).map(pathOf)
  const inner = [cache, rewards, datasets, conversations, studies].filter(isNoLink).flatMap(entriesOf)
  const folders = [
    ...[dataDirectory, ...areas],
    ...runFolders.flatMap((run) => [run, ...entriesOf(run).filter(isOfCheckpoints).map(pathOf)]),
    ...inner.filter(isVisibleFolder).map(pathOf),
  ]
  const unfinished = folders.flatMap((folder) => entriesOf(folder).filter(isLeftover).map(pathOf))
  return [...unfinished, ...runFolders.filter(isAbandonedRun)]
}

export interface Cleared {
  readonly count: number
  readonly bytes: number
}

/** Clears leftovers; what cannot be removed stays for the next start. */
export function clearLeftovers(dataDirectory: string): Cleared {
  const found = findLeftovers(dataDirectory).flatMap((place) => {
    const bytes = bytesOf(place)
    return attempt(() => {
      rmSync(place, { recursive: true, force: true })
      return [bytes]
    }, [])
  })
  return { count: found.length, bytes: found.reduce((sum, bytes) => sum + bytes, 0) }
}

/** Size of a file, or of all in a folder; 0 for a link, and for what is not there, or is gone meanwhile. */
export function bytesOf(place: string): number {
  const status = lstatSync(place, { throwIfNoEntry: false })
  if (status?.isDirectory() === true)
    return entriesOf(place).reduce((sum, entry) => sum + bytesOf(pathOf(entry)), 0)
  return status?.isSymbolicLink() === false ? status.size : 0
}

function isLeftover(entry: Dirent): boolean {
  const { name } = entry
  if (removed.test(name)) return true
  if (redirect.test(name)) return isOlder(pathOf(entry), abandonedMs)
  const pid = owned.map((pattern) => pattern.exec(name)?.[1]).find((found) => found !== undefined)
  return pid !== undefined && !isAlive(Number(pid))
}

const ownNames = new Set(['checkpoints', 'config.json', 'origin', 'rewards'])

function isAbandonedRun(run: string): boolean {
  if (!path.basename(run).startsWith('run_') || isRunFolder(run)) return false
  const entries = entriesOf(run)
  const isOurs = entries.every(({ name }) => ownNames.has(name) || /^\..+\.partial$/.test(name))
  return isOurs && [run, ...entries.map(pathOf)].every((place) => isOlder(place, abandonedMs))
}

function isOlder(place: string, ms: number): boolean {
  const status = statSync(place, { throwIfNoEntry: false })
  return status !== undefined && Date.now() - status.mtimeMs > ms
}

const isNoLink = (place: string): boolean =>
  lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() !== true

/** A folder, not a link to another one. */
const isOfCheckpoints = (entry: Dirent): boolean => entry.isDirectory() && entry.name === 'checkpoints'
const isVisibleFolder = (entry: Dirent): boolean => entry.isDirectory() && !entry.name.startsWith('.')
const pathOf = ({ parentPath, name }: Dirent): string => path.join(parentPath, name)

const entriesOf = (folder: string): Dirent[] =>
  attempt(() => readdirSync(folder, { withFileTypes: true }), [])
