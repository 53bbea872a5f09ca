/**
 * Lists the files that a program of an MCP server loads, as far as its words and variables tell: those that they name, and modules
 * beside scripts among them. No list of this kind is complete: what a program makes up by itself nobody knows before it runs.
 */
import { closeSync, openSync, readSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { attempt } from '#shared/attempt.ts'
import { isObject } from '#shared/config/paths.ts'
import { parsedJson } from '#shared/parsedJson.ts'
import { reading } from '#host/files/fileErrors.ts'
import { readSmallText } from '#host/files/strictJson.ts'
import { importable, type Loader } from './importable.ts'
import { mostBytes, statusOf } from './interpreterFiles.ts'

interface Command {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Errors: AppError 'python/not-allowed' for too much beside a script, 'file/unreadable'. */
export function loadedFiles({ program, args, env }: Command): string[] {
  const paths = (env['PYTHONPATH'] ?? '').split(path.delimiter)
  const files = filesIn([...args, ...Object.values(env), ...paths.flatMap(archiveOf)])
  const searched = paths.map((folder) => ({ script: path.join(folder, 'any.py'), loader: 'python' as const }))
  const scripts = [...scriptsOf(program, args), ...files.flatMap(scriptAt), ...searched]
  const beside = scripts.flatMap(({ script, loader }) => importable(script, loader))
  return [...new Set([...files, ...beside])]
}

/** Files that Python and Node run of a folder. */
const ofFolder = ['__main__.py', '__main__.pyc', 'package.json', 'index.js', 'index.json', 'index.node']

/** Lists files that words name by an absolute path or as a URL, also after a sign, as in `--config=FILE`, or as what runs of a folder. */
function filesIn(words: readonly string[]): string[] {
  const places = words
    .flatMap((word) => [
      ...[word, word.slice(word.indexOf('=') + 1)],
      ...[...word.split(/[=,;"'\s]+/), ...word.split(path.delimiter), ...urlsIn(word)],
    ])
    .filter((place) => path.isAbsolute(place))
    // Once each; “..” behind a link is not the folder above it.
    .map((place) => (path.sep === '/' ? place.replaceAll(/\/+/g, '/') : place))
  const all = new Set(
    places.flatMap((place) => [
      ...endings.map((end) => place + end),
      ...ofFolder.map((name) => path.join(place, name)),
      ...mainOf(place),
    ]),
  )
  return [...all].filter((place) => statusOf(place)?.isFile() === true)
}

/** Endings that Node adds to a name, among them none. */
const endings = ['', '.js', '.json', '.node']

/** The archive that a place of `PYTHONPATH` is or lies in. */
function archiveOf(place: string): string[] {
  if (statusOf(place)?.isFile() === true) return [place]
  const above = path.dirname(place)
  return above === place || !path.isAbsolute(place) ? [] : archiveOf(above)
}

const urlsIn = (word: string): string[] =>
  [...word.matchAll(/file:\/+[^\s,;"']+/gi)].map(([url]) => attempt(() => fileURLToPath(url), ''))

/** Lists files that the `package.json` of a folder names, of which Node runs one. */
function mainOf(folder: string): string[] {
  const read = () => parsedJson(readSmallText(path.join(folder, 'package.json'), mostBytes))
  return textsIn(attempt(read, null)).flatMap((text) =>
    [...endings, '/index.js'].map((end) => path.join(folder, text + end)),
  )
}

const textsIn = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : isObject(value) ? Object.values(value).flatMap(textsIn) : []

interface Script {
  readonly script: string
  readonly loader: Loader
}

/** Tells whether a word starts Python, by its name. */
export const isPythonProgram = (word: string): boolean => interpreters[0][0].test(path.basename(word))

const interpreters = [
  [/^(?:python|pypy)/i, 'python'],
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
  const others = args.slice(at + 1).filter((each) => path.isAbsolute(each) && isUnnamed(each))
  const scripts = [isFolder ? path.join(first, 'any') : realPathOf(first), ...others.map(realPathOf)]
  return [...scriptAt(program), ...scripts.map((script) => ({ script, loader }))]
}

/** Tells whether a file has no ending, as a script may. */
const isUnnamed = (place: string): boolean => path.extname(place) === '' && statusOf(place)?.isFile() === true

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
