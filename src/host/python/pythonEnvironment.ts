/** Environment of every Python process: the consent decides where it imports from, not the folder it starts in. */
import { readlinkSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '#shared/attempt.ts'
import { AppError } from '#shared/errors.ts'
import { shownText } from '#shared/shownText.ts'

/** Absolute paths of a list of folders; the others depend on the folder that a process works in. */
const absolutePaths = (list: string): string[] =>
  list.split(path.delimiter).filter((each) => path.isAbsolute(each))

/** Tells whether something lies in a folder, which is the same under every path that leads to it; what a path in it leads to may change. */
export function isInside(place: string, folder: string | null): boolean {
  if (folder === null) return false
  const [real, realFolder] = [realPath(place), realPath(folder)]
  return (
    isBelow(path.resolve(place), path.resolve(folder)) ||
    (real !== null && realFolder !== null && isBelow(real, realFolder))
  )
}

function isBelow(place: string, folder: string): boolean {
  const between = path.relative(folder, place)
  return between !== '..' && !between.startsWith(`..${path.sep}`) && !path.isAbsolute(between)
}

/** More links than this lead nowhere. */
export const mostLinks = 40

/**
 * Resolves a path as the system does: `..` is the folder above the target of a link, and a path that does not exist yet
 * resolves through the folders above it. null: the path leads through something that each process has of its own, such
 * as `/proc/self/cwd`, or that has a name which is not UTF-8, and under the one that it is read as lies something else.
 */
export function realPath(place: string, budget = { links: mostLinks }): string | null {
  const absolute = path.isAbsolute(place) ? place : `${process.cwd()}${path.sep}${place}`
  let here = path.parse(absolute).root
  for (const part of absolute.slice(here.length).split(separators)) {
    const next: string = path.join(here, part)
    if (ledElsewhere.test(next)) return null
    const target = part === '..' ? null : linkTarget(next)
    if (target === null || --budget.links < 0) here = next
    else {
      const led = realPath(path.isAbsolute(target) ? target : `${here}${path.sep}${target}`, budget)
      if (led === null) return null
      here = led
    }
  }
  return here
}

const separators = path.sep === '/' ? '/' : /[\\/]/

const ledElsewhere = /^\/(?:proc|dev\/fd)(?:\/|$)|\ufffd/i

/** Tells whether a path, or a link on its way, leads each process elsewhere. */
export const differsByProcess = (place: string): boolean => realPath(place) === null

/**
 * Refuses a path that does not lead to the same file for whatever reads it: what was allowed as something else, under a name that begins
 * with a word and a colon, would serve for one without its place, as only a folder from elsewhere has it, and what is compared would not
 * be what starts. `source`: where the path is written. Errors: AppError 'python/not-allowed'.
 */
export function requirePlace(file: string, source = ''): void {
  const isWhole = path.isAbsolute(file)
  if (isWhole && !differsByProcess(file)) return
  throw new AppError(
    'python/not-allowed',
    `“${shownText(file)}”${source} ${isWhole ? 'leads each process elsewhere, as /proc/self/cwd does, or is not UTF-8' : 'is no absolute path'}, so nothing says which file it means.`,
    `Nothing was started. Write the whole path of the file${isWhole ? ' itself, and lead no link by way of /proc or /dev/fd' : ''}.`,
  )
}

/** Returns null for a path that is not a link. */
export function linkedFrom(place: string): string | null {
  const target = linkTarget(place)
  return target && path.resolve(path.dirname(place), target)
}

const linkTarget = (place: string): string | null => attempt(() => readlinkSync(place), null)

const importPath = (): string[] => absolutePaths(process.env['PYTHONPATH'] ?? '')

/** Folders of `PYTHONPATH` that lie in the folder of the code: what is imported from them is asked about as it is. */
export const pathsInside = (folder: string): string[] =>
  importPath().filter((place) => isInside(place, folder))

/**
 * Variables that have Python run something before the code, or look for its library under another name; and those whose
 * address Ray's client takes in place of the one that was allowed.
 */
const refused = [
  ...['PYTHONSTARTUP', 'PYTHONPLATLIBDIR', 'PYTHON_PRESITE'],
  ...['RAY_ADDRESS', 'RAY_API_SERVER_ADDRESS'],
]

/**
 * Variables that name the interpreter's own files, the place of compiled code, or a file that names these. A relative
 * path would differ between processes, and nobody was asked about one in the folder of the code.
 */
const named = [
  ...['PYTHONHOME', 'PYTHONUSERBASE', 'PYTHONEXECUTABLE', '__PYVENV_LAUNCHER__'],
  ...['PYTHONPYCACHEPREFIX', 'NUMBA_CACHE_DIR'],
  ...['OPENSSL_CONF', 'OPENSSL_CONF_INCLUDE', 'OPENSSL_MODULES', 'OPENSSL_ENGINES'],
]

/** Lists of places where programs and libraries are looked for, and what separates them, if it is not what usually does. */
const lists: Readonly<Record<string, RegExp | null>> = {
  PATH: null,
  LD_LIBRARY_PATH: /[:;]/,
  LD_PRELOAD: /[:\s]/,
  LD_AUDIT: null,
  GCONV_PATH: null,
  DYLD_LIBRARY_PATH: null,
  DYLD_FALLBACK_LIBRARY_PATH: null,
  DYLD_VERSIONED_LIBRARY_PATH: null,
  DYLD_FRAMEWORK_PATH: null,
  DYLD_FALLBACK_FRAMEWORK_PATH: null,
  DYLD_VERSIONED_FRAMEWORK_PATH: null,
  DYLD_INSERT_LIBRARIES: null,
}

/** Lists in which a name without a slash is one that the system looks for in its own folders. */
const takesNames = ['LD_PRELOAD', 'LD_AUDIT']

/** The environment of this process as Python may have it. `folder`: of the code, from which only what was allowed is imported. */
export function pythonEnvironment(folder: string | null): NodeJS.ProcessEnv {
  const values = Object.entries(process.env).map(([name, value = '']) => [
    name,
    valueFor(name.toUpperCase(), value, folder),
  ])
  return Object.fromEntries(values.filter(([, value]) => value !== null)) as NodeJS.ProcessEnv
}

/** Returns the value for Python; null: Python does not get the variable. */
function valueFor(name: string, value: string, folder: string | null): string | null {
  if (refused.includes(name)) return null
  if (name === 'PYTHONPATH') return joined(importPath().filter((place) => isElsewhere(place, folder)))
  const separator = lists[name]
  if (separator !== undefined) {
    // Programs are started by the code, which was allowed; libraries are loaded into Python whatever it does.
    // The loader puts names of its own for what begins with a dollar sign.
    const isKept = (each: string) =>
      isElsewhere(each, name === 'PATH' ? null : folder) && !(name.startsWith('LD_') && each.includes('$'))
    const isName = (each: string) => takesNames.includes(name) && /^[^/.][^/]*$/.test(each)
    return joined(value.split(separator ?? path.delimiter).filter((each) => isKept(each) || isName(each)))
  }
  return named.includes(name) && !isElsewhere(value, folder) ? null : value
}

/** Tells whether a place is the same in each process, and not in the folder of the code. */
const isElsewhere = (place: string, folder: string | null): boolean =>
  path.isAbsolute(place) && realPath(place) !== null && !isInside(place, folder)

const joined = (paths: readonly string[]): string | null =>
  paths.length === 0 ? null : paths.join(path.delimiter)
