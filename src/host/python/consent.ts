/**
 * The one door to Python. Python runs with its person's rights, so a config alone opens nothing: the person allows contents of
 * files for an interpreter on this machine. Consents are kept in the data directory, apart from every config. A file is known
 * by its place, its digest and what runs it: one that changes is asked about again, what lies beside it too, since `import` finds that, and so
 * is the same code elsewhere, where other data lies for it to open.
 */
import { createHash } from 'node:crypto'
import path from 'node:path'
import { attempt } from '#shared/attempt.ts'
import { isPythonPackage } from '#shared/config/codeReference.ts'
import { AppError } from '#shared/errors.ts'
import { plural } from '#shared/plural.ts'
import { commandWord, shownText } from '#shared/shownText.ts'
import { changeConsents, type Consents, foreignConsents, readConsents } from '#host/consents/consents.ts'
import { readSmallFile, readSmallText } from '#host/files/strictJson.ts'
import { executableName, programFile } from '#host/processes/programs.ts'
import { importable } from './importable.ts'
import { interpreterFiles, mostBytes, statusOf } from './interpreterFiles.ts'
import { requirePlace } from './pythonEnvironment.ts'

export interface PythonSource {
  readonly code: string
  readonly language: 'py'
  /** Path as the user wrote it, with the modules it imports beside it, or the id of a package. */
  readonly file: string
  /** A run's own copy, where the code is read from that. */
  readonly copy?: string
  /** Files that run with it; absent: the modules beside it. */
  readonly parts?: Readonly<Record<string, string>>
}

/** A path that `requireConsent` has let pass: nothing else makes one, and a process takes nothing else. */
export type AllowedInterpreter = string & { readonly [isAllowed]: true }
declare const isAllowed: unique symbol

export interface AllowedPython {
  readonly interpreter: AllowedInterpreter
  /** SHA-256 by path of what may be imported from the folder of the code; nothing else there may. */
  readonly modules: Readonly<Record<string, string>>
}

/** Code and interpreter that a person is shown before allowing them. */
export interface PythonReview {
  readonly interpreter: string
  /** The code itself first, then what runs with it. */
  readonly files: readonly ReviewedFile[]
}

export interface ReviewedFile {
  /** A path, or an id; for a file of the interpreter one that no config can name. */
  readonly path: string
  readonly sha256: string
  /** True if this interpreter may run this content at this path. */
  readonly isAllowed: boolean
  /** A run's own copy that has this content, where the file itself has another. */
  readonly copy?: string
}

/** Errors: AppError 'sandbox/failed' where there is no such interpreter, 'python/not-allowed' for too much beside the code, 'file/unreadable'. */
export function reviewPython(
  { code, file, copy, parts }: PythonSource,
  interpreter: string | null,
  consents: string | null,
): PythonReview {
  if (parts === undefined && !isPythonPackage(file)) requirePlace(file)
  const program = interpreterPath(interpreter)
  const folder = parts === undefined && path.isAbsolute(file) ? path.dirname(file) : null
  const others = [
    ...interpreterFiles(program, folder).map(([where, content]) => [ofInterpreter + where, content] as const),
    ...(parts === undefined
      ? importable(file).map((each) => [each, readSmallFile(each, mostBytes)] as const)
      : Object.entries(parts)),
  ]
  const review = reviewContents(program, [[file, code], ...others], consents)
  const [own, ...beside] = review.files
  const isElsewhere = copy !== undefined && attempt(() => readSmallText(file) !== code, true)
  return own === undefined || !isElsewhere ? review : { ...review, files: [{ ...own, copy }, ...beside] }
}

/** `program`: what runs the contents, or where they go. */
export function reviewContents(
  program: string,
  contents: readonly (readonly [path: string, content: string | Uint8Array])[],
  consents: string | null,
): PythonReview {
  const known = new Set(readConsents(consents).python.map(keyOf))
  const files = contents.map(([where, content]) => {
    const sha256 = createHash('sha256').update(content).digest('hex')
    return { path: where, sha256, isAllowed: known.has(keyOf({ interpreter: program, path: where, sha256 })) }
  })
  return { interpreter: program, files }
}

/** Begins the names of files that decide which Python runs: they are no code that a config may call, nor may other code import them by path. */
const ofInterpreter = 'interpreter:'

/**
 * Every way to a Python process leads through here. Errors: AppError 'python/not-allowed' unless the person allowed this content
 * and this interpreter on this machine; those of `reviewPython`.
 */
export function requireConsent(
  source: PythonSource,
  interpreter: string | null,
  consents: string | null,
): AllowedPython {
  const review = reviewPython(source, interpreter, consents)
  const allowed = requireReviewed(review, consents, {
    what: `${shownText(source.file)} is Python, which is not sandboxed`,
    warning:
      'No Python was started. It could read and change your files and use the network: read the code, and allow it only if you trust it.',
    words: `${placeOf(source)}${interpreter === null ? '' : ` --interpreter ${commandWord(review.interpreter)}`}`,
  })
  const modules = review.files.filter((each) => !each.path.startsWith(ofInterpreter))
  return {
    interpreter: allowed,
    modules: Object.fromEntries(modules.map((each) => [each.path, each.sha256])),
  }
}

/** `words`: of the command that allows it. Errors: AppError 'python/not-allowed'. */
export function requireReviewed(
  { interpreter, files }: PythonReview,
  consents: string | null,
  { what, warning, words }: Readonly<Record<'what' | 'warning' | 'words', string>>,
): AllowedInterpreter {
  const fresh = files.filter((file) => !file.isAllowed)
  if (fresh.length === 0) return interpreter as AllowedInterpreter
  const earlier = foreignConsents(consents)
  throw new AppError(
    'python/not-allowed',
    `${what}, and ${unallowed(fresh)} on this machine for ${shownText(interpreter)}.`,
    {
      text: `${warning}${earlier === null ? '' : ` ${earlier}`}`,
      command: `turnwise python allow ${words}`,
    },
  )
}

/** The most files that a refusal names. */
const mostShown = 50

function unallowed(files: readonly ReviewedFile[]): string {
  const names = files.slice(0, mostShown).map((each) => shownText(each.path))
  const last = names.pop() ?? ''
  if (names.length === 0) return `the content of ${last} has not been allowed`
  const more = files.length - names.length - 1
  const end =
    more === 0
      ? ` and ${last} have not been allowed`
      : `, ${last} and ${plural(more, 'other file')} (the command below lists them with --list) have not been allowed`
  return `the contents of ${names.join(', ')}${end}`
}

export const placeOf = ({ copy, file }: Pick<PythonSource, 'copy' | 'file'>): string =>
  copy === undefined ? commandWord(file) : `${commandWord(copy)} --as ${commandWord(file)}`

/** JSON, so that no part of it can pass for another. */
const keyOf = (each: Readonly<Pick<Consents['python'][number], 'interpreter' | 'path' | 'sha256'>>): string =>
  JSON.stringify([each.interpreter, each.path, each.sha256])

/** Allows the reviewed files to run from now on. Errors: AppError 'file/unwritable'. */
export function allowPython(reviews: readonly PythonReview[], consents: string): void {
  const at = Date.now()
  changeConsents(consents, ({ python }) => {
    const all = new Map(python.map((each) => [keyOf(each), each]))
    for (const { interpreter, files } of reviews) {
      for (const { sha256, path: where } of files) {
        const each = { interpreter, path: where, sha256, at }
        if (!all.has(keyOf(each))) all.set(keyOf(each), each)
      }
    }
    return { python: [...all.values()] }
  })
}

/**
 * Withdraws consents for these paths or interpreters; null: all of them. Returns how many there were. Errors: AppError
 * 'file/unwritable'.
 */
export function withdrawPython(paths: readonly string[] | null, consents: string): number {
  let count = 0
  changeConsents(consents, ({ python }) => {
    const kept = python.filter(
      (each) => paths !== null && !paths.includes(each.path) && !paths.includes(each.interpreter),
    )
    count = python.length - kept.length
    return { python: kept }
  })
  return count
}

/**
 * The program itself, so that consent is to a place and no folder that a process starts in can put another one before it.
 * Errors: AppError 'sandbox/failed' where there is none, 'python/not-allowed' for one that the process to be started would not find there.
 */
function interpreterPath(interpreter: string | null): string {
  const name = interpreter ?? (process.platform === 'win32' ? 'python' : 'python3')
  const found = /[\\/]/.test(name) ? path.resolve(executableName(name)) : programFile(name)
  if (found !== null) requirePlace(found)
  if (found !== null && isFile(found)) return found
  throw new AppError('sandbox/failed', `There is no Python interpreter “${name}”.`, interpreterHint)
}

const isFile = (place: string): boolean => statusOf(place)?.isFile() === true

/** Resolves a path against `base`; a name is left for the system to look up. */
export const programAt = (program: string, base: string): string =>
  /[\\/]/.test(program) ? path.resolve(base, program) : program

export const interpreterHint =
  'Install Python 3.9 or newer, or set `python.interpreter` to the program, such as .venv/bin/python.'
