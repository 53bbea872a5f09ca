/** A data set on a hub: which parts it has, and one of them fetched. Loading scripts are never run, nor fetched. */
import path from 'node:path'
import { existsSync } from 'node:fs'
import { z } from 'zod'
import { AppError } from '#shared/errors.ts'
import { writeFileAtomic } from '#host/files/atomic.ts'
import type { DataFiles } from '#host/data/dataFiles.ts'
import { readJsonObject } from '#host/files/strictJson.ts'
import {
  type HubPlace,
  asked,
  invalid,
  listCommit,
  openCommit,
  openFile,
  type HubAccess,
  type HubCommit,
  type HubFile,
} from './hub.ts'
import { fetchFiles, type HubProgress } from './fetchFiles.ts'
import { dataConfigs, type DataConfig, type DataSplit } from './splits.ts'

export interface HubData {
  readonly commit: HubCommit
  readonly configs: readonly DataConfig[]
  /** By path. */
  readonly files: ReadonlyMap<string, HubFile>
}

const maxReadmeBytes = 1 << 20

/** Errors: those of asking the hub; AppError 'data/invalid' where no file of it can be read. */
export async function openHubData(place: HubPlace, access: HubAccess): Promise<HubData> {
  const commit = await openCommit(place, access)
  const listed = await listCommit(commit, true)
  const paths = listed.map((file) => file.path)
  const configs = dataConfigs(paths, paths.includes('README.md') ? await readmeOf(commit) : '')
  if (configs.length === 0) throw unreadable(place, paths)
  return { commit, configs, files: new Map(listed.map((file) => [file.path, file])) }
}

async function readmeOf(commit: HubCommit): Promise<string> {
  const blob = await openFile(commit, 'README.md')
  return asked(commit.place, () => blob.slice(0, maxReadmeBytes).text())
}

function unreadable(place: HubPlace, paths: readonly string[]): AppError {
  const { repo } = place
  const script =
    paths.find((file) => file === `${path.basename(repo)}.py`) ??
    paths.find((file) => /^[^/]+\.py$/.test(file))
  const readable = 'Turnwise reads parquet, jsonl, json, csv and tsv.'
  if (script !== undefined) {
    return invalid(
      place,
      `${repo} is made by a program, ${script}, and nothing that comes from a hub is run.`,
      `The hub may have its rows as Parquet as well: give ${repo}@refs/convert/parquet. ${readable}`,
    )
  }
  const other = paths.filter((file) => !/(?:^|\/)(?:\.|README|LICENSE)|\.json$/.test(file))
  const found =
    other.length === 0 ? '' : `; it has ${other.slice(0, 3).join(', ')}${other.length > 3 ? ' …' : ''}`
  return invalid(place, `${repo} has no file with rows that can be read${found}.`, readable)
}

export interface SplitChoice {
  /** undefined: the only one, or the usual one. */
  readonly config?: string | undefined
  readonly split?: string | undefined
}

export interface ChosenSplit {
  readonly config: string
  readonly split: DataSplit
}

/** Without a config its first one; without a split `train`, or the only one. Errors: AppError 'usage/invalid', naming what there is. */
export function chooseSplit(
  { commit: { place }, configs }: HubData,
  { config, split }: SplitChoice,
): ChosenSplit {
  const names = configs.map(({ name }) => name)
  const chosen = configs.find(({ name }) => name === (config ?? names[0]))
  if (chosen === undefined) {
    throw new AppError(
      'usage/invalid',
      `${place.repo} has no config “${config ?? ''}”.`,
      `It has ${listing(names)}.`,
    )
  }
  const { splits } = chosen
  const usual = splits.find(({ name }) => name === 'train') ?? splits[0]
  const found = split === undefined ? usual : splits.find(({ name }) => name === split)
  if (found !== undefined) return { config: chosen.name, split: found }
  throw new AppError(
    'usage/invalid',
    `${place.repo} has no split “${split ?? ''}”${names.length > 1 ? ` in ${chosen.name}` : ''}.`,
    `It has ${listing(splits.map(({ name }) => name))}.`,
  )
}

const listing = (names: readonly string[]): string =>
  names.length > 20 ? `${names.slice(0, 20).join(', ')} and ${names.length - 20} more` : names.join(', ')

/** What the rows of a split are known by: `owner/name (main, train) at c0ffee…`. */
export const originOf = ({ commit: { place, commit } }: HubData, { config, split }: ChosenSplit): string =>
  `${place.repo} (${config}, ${split.name}) at ${commit}`

/** Yields how far it is. Errors: as `fetchFiles`. */
export async function* fetchSplit(
  { commit, files }: HubData,
  { split }: ChosenSplit,
  folder: string,
): AsyncGenerator<HubProgress> {
  yield* fetchFiles(
    commit,
    split.files.flatMap((name) => files.get(name) ?? []),
    folder,
  )
}

/* What a folder says that was fetched whole: which of its files are the rows, in which order, and where they come from. */

/** Begins with a dot, as no file that is fetched or sent does. */
const noteName = '.fetched.json'

const note = z.strictObject({ origin: z.string(), files: z.tuple([z.string()], z.string()) })

interface FetchedData {
  /** In words. */
  readonly origin: string
  /** Paths in the folder. */
  readonly files: DataFiles
}

export function writeFetched(folder: string, origin: string, files: readonly string[]): void {
  writeFileAtomic(path.join(folder, noteName), `${JSON.stringify({ origin, files })}\n`)
}

/** null where nothing was fetched into the folder as a data set. Errors: AppError 'data/invalid', 'file/unreadable'. */
export function readFetched(folder: string): FetchedData | null {
  const file = path.join(folder, noteName)
  if (!existsSync(file)) return null
  const { success, data } = note.safeParse(readJsonObject(file, 'data/invalid'))
  if (!success) throw new AppError('data/invalid', `${file} is damaged.`, 'Fetch the data set again.')
  const [first, ...others] = data.files
  const inside = (name: string) => path.join(folder, name)
  return { origin: data.origin, files: [inside(first), ...others.map(inside)] }
}
