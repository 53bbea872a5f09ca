/**
 * Finds the configs (several tables in one repository) and splits (train, test … of one table) of a data set from its
 * files. The README's front matter declares them if it has `configs`, as the hub documents it; otherwise the names of
 * the files do.
 */
import path from 'node:path'
import { formatNamed } from '#host/data/table.ts'
import { isJsonObject, type JsonObject } from '#host/files/strictJson.ts'

export interface DataSplit {
  /** Such as `train`. */
  readonly name: string
  /** Paths in their order: all of one format, together one table. */
  readonly files: readonly string[]
}

export interface DataConfig {
  /** `default` where there is but one without a name. */
  readonly name: string
  readonly splits: readonly DataSplit[]
}

const defaultConfig = 'default'
const defaultSplit = 'train'

/** Files that describe a data set and hold no rows of it. */
const descriptions = /^(?:config|dataset_infos?|dataset_dict|state|package)\.json$/i

/** Tells whether a path is that of a file with rows that can be read. */
export const isDataFile = (file: string): boolean =>
  formatNamed(file) !== undefined &&
  !descriptions.test(path.posix.basename(file)) &&
  !file.split('/').some((part) => part.startsWith('.') || part.startsWith('__'))

/** Configs with at least one split; the first is the usual one. `paths`: all of the repository; `card`: its front matter. */
export function dataConfigs(paths: readonly string[], card: JsonObject): DataConfig[] {
  const files = paths.filter(isDataFile).sort(inOrder)
  const told = cardConfigs(card).flatMap((entry) => declaredConfig(entry, files))
  return told.length > 0 ? told : namedConfigs(files)
}

/** `part-2` before `part-10`. */
const inOrder = (a: string, b: string): number =>
  a.localeCompare(b, 'en', { numeric: true }) || (a < b ? -1 : 1)

/** The entries of `configs`; none where the front matter is not to be read: then the names of the files must do. */
function cardConfigs({ configs }: JsonObject): readonly JsonObject[] {
  const entries = Array.isArray(configs) ? configs.filter(isJsonObject) : []
  return entries.toSorted((a, b) => Number(b['default'] === true) - Number(a['default'] === true))
}

function declaredConfig(entry: JsonObject, files: readonly string[]): DataConfig[] {
  const { config_name: given, data_files: patterns, data_dir: folder } = entry
  const name = typeof given === 'string' && given !== '' ? given : defaultConfig
  const inside =
    typeof folder === 'string' ? files.filter((file) => fitsGlob(file, `${clean(folder)}/**`)) : files
  const base = typeof folder === 'string' ? `${clean(folder)}/` : ''
  const splits =
    patterns === undefined || patterns === null
      ? splitsByName(inside)
      : declaredSplits(patterns).map(({ split, globs }) => ({
          name: split,
          files: matching(inside, globs, base),
        }))
  const whole = splits.map(({ name: split, files: found }) => ({ name: split, files: ofOneFormat(found) }))
  const kept = whole.filter((split) => split.files.length > 0)
  return kept.length === 0 ? [] : [{ name, splits: kept }]
}

const clean = (folder: string): string => folder.replace(/^\.?\/+|\/+$/g, '')

/** A text or a list of texts is all of the training rows; else each entry names its split. */
function declaredSplits(patterns: unknown): { readonly split: string; readonly globs: readonly string[] }[] {
  const list: readonly unknown[] = Array.isArray(patterns) ? patterns : [patterns]
  const plain = list.filter((item) => typeof item === 'string')
  const named = list.filter(isJsonObject).map(({ split, path: globs }) => ({
    split: typeof split === 'string' ? split : defaultSplit,
    globs: (Array.isArray(globs) ? globs : [globs]).filter((glob) => typeof glob === 'string'),
  }))
  return plain.length > 0 ? [{ split: defaultSplit, globs: plain }, ...named] : named
}

/** Returns the matching files in the order of the patterns, each once. */
const matching = (files: readonly string[], globs: readonly string[], base: string): string[] => [
  ...new Set(
    globs.flatMap((glob) => files.filter((file) => fitsGlob(file, glob) || fitsGlob(file, `${base}${glob}`))),
  ),
]

/** Groups files into configs by their folders, unless those only name splits. */
function namedConfigs(files: readonly string[]): DataConfig[] {
  const configs = Map.groupBy(files, configOf)
  return [...configs].map(([name, own]) => ({ name, splits: splitsByName(own) }))
}

function configOf(file: string): string {
  const folders = path.posix.dirname(file).split('/')
  const isTable = (part: string) => part !== '.' && part !== 'data' && splitOfName(part) === null
  // In converted repositories a folder of numbered files is a split, whatever it is called.
  const own = isNumbered(file) ? folders.slice(0, -1) : folders
  return own.filter(isTable).join('/') || defaultConfig
}

const isNumbered = (file: string): boolean => /\/\d{4,6}\.\w+$/.test(file)

const splitsByName = (files: readonly string[]): DataSplit[] =>
  [...Map.groupBy(files, splitOf)]
    .map(([name, own]) => ({ name, files: ofOneFormat(own) }))
    .sort((a, b) => rank(a.name) - rank(b.name))

const rank = (split: string): number => {
  const at = splitWords.findIndex(([, word]) => word === split)
  return at < 0 ? splitWords.length : at
}

/** Word in a name → the split it stands for. */
const splitWords: readonly (readonly [RegExp, string])[] = [
  [/^train(?:ing)?$/, 'train'],
  [/^(?:validation|valid|val|dev)$/, 'validation'],
  [/^(?:test|testing|eval|evaluation)$/, 'test'],
]

function splitOfName(name: string): string | null {
  const words = name.toLowerCase().split(/[\W_\d]+/)
  return splitWords.find(([pattern]) => words.some((word) => pattern.test(word)))?.[1] ?? null
}

/**
 * Returns the split of a file: `train-00000-of-00002.parquet` names it itself, whatever it is; otherwise a word of the
 * name, or of the folders, does.
 */
function splitOf(file: string): string {
  const { dir, name } = path.posix.parse(file)
  const [, sharded] = /^(\w+(?:\.\w+)*)-\d{5}-of-\d{5}/.exec(name) ?? []
  if (sharded !== undefined) return sharded
  const folders = dir.split('/').toReversed()
  if (isNumbered(file)) return folders[0] ?? defaultSplit
  const said = [name, ...folders].map(splitOfName).find((split) => split !== null)
  return said ?? defaultSplit
}

/**
 * Keeps the files of one format, since the same rows often come in several: the format with the most files, on a tie
 * the first in the list.
 */
function ofOneFormat(files: readonly string[]): string[] {
  const counts = preferred.map((format) => files.filter((file) => formatAt(file) === format).length)
  const most = preferred[counts.indexOf(Math.max(...counts))]
  return files.filter((file) => formatAt(file) === most)
}

/** Formats in order of preference: those whose columns have types come first. */
const preferred = ['parquet', 'jsonl', 'json', 'csv', 'tsv'] as const

const formatAt = (file: string) => formatNamed(file)?.id

/* Paths by a pattern with `*` and `?` (within a name) and `**` (any folders). Not a regular expression: the patterns come
 * with what is fetched, and one can be built to take for ever. */

/** Tells whether a path matches a pattern; both use `/`. The time is at most proportional to the product of their lengths. */
export function fitsGlob(path: string, pattern: string): boolean {
  const parts = path.split('/')
  const wanted = pattern.replace(/^\.?\//, '').split('/')
  // fits[i]: the first i parts of the path fit what was read of the pattern.
  let fits = parts.map(() => false)
  fits.unshift(true)
  for (const part of wanted) fits = part === '**' ? anyFolders(fits) : oneName(fits, parts, part)
  return fits.at(-1) === true
}

function anyFolders(fits: readonly boolean[]): boolean[] {
  const first = fits.indexOf(true)
  return fits.map((_, at) => first >= 0 && at >= first)
}

const oneName = (fits: readonly boolean[], parts: readonly string[], pattern: string): boolean[] =>
  fits.map((_, at) => at > 0 && fits[at - 1] === true && fitsName(parts[at - 1] ?? '', pattern))

/** Goes back to the last star only: what an earlier one could take, the last one can take as well. */
function fitsName(name: string, pattern: string): boolean {
  let [at, in_] = [0, 0]
  let star: { readonly in_: number; at: number } | null = null
  while (at < name.length) {
    if (pattern[in_] === '*') star = { in_: in_++, at }
    else if (pattern[in_] === '?' || pattern[in_] === name[at]) [at, in_] = [at + 1, in_ + 1]
    else if (star !== null) [at, in_] = [++star.at, star.in_ + 1]
    else return false
  }
  return /^\**$/.test(pattern.slice(in_))
}
