/**
 * Lists the files that a program of an MCP server loads, as far as its words and variables tell: those that they name, and modules
 * beside scripts among them. No list of this kind is complete: what a program makes up by itself nobody knows before it runs.
 */
import { closeSync, openSync, readSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { attempt } from '#shared/attempt.ts'
import { reading } from '#host/files/fileErrors.ts'
import { importable, type Loader } from './importable.ts'
import { statusOf } from './interpreterFiles.ts'
import { differsByProcess } from './pythonEnvironment.ts'

interface Command {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Errors: AppError 'python/not-allowed' for too much beside a script, 'file/unreadable'. */
export function loadedFiles({ program, args, env }: Command): string[] {
  const paths = (env['PYTHONPATH'] ?? '').split(path.delimiter)
  const files = filesIn([...args, ...Object.values(env)])
  const searched = paths.map((folder) => ({ script: path.join(folder, 'any.py'), loader: 'python' as const }))
  const scripts = [...scriptsOf(program, args), ...files.flatMap(scriptAt), ...searched]
  const beside = scripts.flatMap(({ script, loader }) => importable(script, loader))
  return [...new Set([...files, ...beside])]
}

/** Files that Python and Node run of a folder. */
const ofFolder = ['__main__.py', '__main__.pyc', 'package.json', 'index.js', 'index.json', 'index.node']

/** Lists files that words name, or as what runs of a folder. */
const filesIn = (words: readonly string[]): string[] =>
  [...new Set(words.flatMap(placesIn).flatMap(loadedBy))].filter((file) => statusOf(file)?.isFile() === true)

/** Lists what a program may load that is given a place, there or not. */
const loadedBy = (place: string): string[] => [
  ...endings.map((end) => place + end),
  ...ofFolder.map((name) => path.join(place, name)),
]

/**
 * Lists what a word names by a path or as a URL, also after a sign, as in `--config=FILE` and `@FILE`; inside of a longer word, by an
 * absolute path alone.
 */
const placesIn = (word: string): string[] =>
  [
    ...[word, word.slice(word.indexOf('=') + 1)].map(withoutSign).map(fromRoot),
    ...[...word.split(/[=,;"'\s]+/), ...word.split(path.delimiter), ...urlsIn(word)].map(withoutSign),
  ]
    .filter((place) => path.isAbsolute(place))
    // As behind the scheme of an address.
    .map((place) => (path.sep === '/' ? place.replace(/^\/+/, '/') : place))

const withoutSign = (word: string): string => word.replace(/^[^\p{L}\p{N}~.\\/]/u, '')

/** Makes a relative path whole: the program starts in the root folder, and above that is nothing. */
const fromRoot = (word: string): string =>
  word === '' || path.isAbsolute(word) ? word : `${path.sep}${word.replace(/^(?:\.{1,2}(?:[\\/]+|$))+/, '')}`

/** Endings that Node adds to a name, among them none. */
const endings = ['', '.js', '.json', '.node']

const urlsIn = (word: string): string[] =>
  [...word.matchAll(/file:[^\s,;"']+/gi)].map(([url]) => attempt(() => fileURLToPath(url), ''))

/**
 * Finds a place that leads a program elsewhere than this process, or that some programs read by its text and others as the system does,
 * which follows links first, or as a URL; null: there is none.
 */
export function unclearPlace({ args, env }: Pick<Command, 'args' | 'env'>): string | null {
  const words = [...args, ...Object.values(env)]
  const urls = [args.join('\n'), ...Object.values(env)].flatMap((text) =>
    [...text.matchAll(byUrl)].map(([, place = '']) => place),
  )
  const places = words.flatMap(placesIn)
  const loaded = places.filter((place) => !loadsNothing.test(place)).flatMap(loadedBy)
  return (
    places.find(isUnclear) ??
    loaded.find((place) => differsByProcess(place) || statusOf(place)?.isFIFO() === true) ??
    urls.find((place) => /[?#%]/.test(place)) ??
    null
  )
}

/** Tells whether a word names a file, or what is another in each process. */
export const namesFile = (word: string): boolean =>
  placesIn(word)
    .filter((place) => !loadsNothing.test(place))
    .flatMap((place) => endings.map((end) => place + end))
    .some((place) => statusOf(place)?.isFile() === true || differsByProcess(place))

/** Places that are another in each process, and that servers name to look at the system, or to log: no code comes from there. */
const loadsNothing = /^\/(?:proc|dev\/std(?:out|err))\/?$/

/** Options of Node and others that take a module by its path or as a URL. */
const byUrl =
  /(?:^|[\s"'])--(?:import|preload|(?:experimental-)?loader)[=\s]\s*["']?((?:file:|\/|[a-z]:)[^\s"']*)/gi

/** Tells whether a place that exists has parts that lead nowhere, or a sign for a folder behind the name of a file. */
function isUnclear(place: string): boolean {
  const [last = '', ...above] = place.slice(1).split(path.sep).toReversed()
  const plain = path.resolve(place)
  if (/^\.\.?$/.test(last) || above.some((part) => /^\.{0,2}$/.test(part)))
    return statusOf(place) !== null || endings.some((end) => statusOf(plain + end) !== null)
  const isFolder = statusOf(plain)?.isDirectory() === true
  return last === '' && !isFolder && endings.some((end) => statusOf(plain + end) !== null)
}

interface Script {
  readonly script: string
  readonly loader: Loader
}

/** Tells whether a word starts Python, by its name or by that of what it leads to. */
export const isPythonProgram = (word: string): boolean =>
  [word, path.isAbsolute(word) ? attempt(() => realpathSync(word), '') : ''].some((each) =>
    interpreters[0][0].test(path.basename(each)),
  )

const interpreters = [
  [/^(?:python|pypy)(?!.*\.py)/i, 'python'],
  [/^(?:node|bun|deno|tsx)/i, 'node'],
] as const satisfies readonly (readonly [RegExp, Loader])[]

/** The program, where it is a script, and the first of its arguments that names a file or folder, where it runs scripts of any name. */
function scriptsOf(program: string, args: readonly string[]): Script[] {
  const places = [program, attempt(() => realpathSync(program), program)].map((each) => path.basename(each))
  const loader = interpreters.find(([form]) => places.some((name) => form.test(name)))?.[1]
  const at = args.findIndex((each) => path.isAbsolute(each) && statusOf(each) !== null)
  const first = args[at]
  // After these, what runs is a module or a text.
  const isOther = args.slice(0, at).some((each) => /^-[mcep]$/.test(each))
  if (loader === undefined || first === undefined || isOther) return scriptAt(program)
  const isFolder = statusOf(first)?.isDirectory() === true
  const script = isFolder ? path.join(first, 'any') : realPathOf(first)
  return [...scriptAt(program), { script, loader }]
}

/** A script by its name or its first line, where its links lead; empty for another file. */
function scriptAt(place: string): Script[] {
  const script = realPathOf(place)
  const names = [place, script]
  const start = reading(script, () => firstLine(script))
  if (names.some((file) => /\.py[cw]?$/.test(file)) || /^#!.*(?:python|pypy)/.test(start))
    return [{ script, loader: 'python' }]
  return names.some((file) => /\.[cm]?[jt]s$/.test(file)) || /^#!.*(?:node|bun|deno|tsx)/.test(start)
    ? [{ script, loader: 'node' }]
    : []
}

const realPathOf = (place: string): string => reading(place, () => realpathSync(place))

function firstLine(file: string): string {
  const start = Buffer.alloc(256)
  const handle = openSync(file, 'r')
  try {
    readSync(handle, start)
  } finally {
    closeSync(handle)
  }
  return start.toString('latin1').split('\n')[0] ?? ''
}
