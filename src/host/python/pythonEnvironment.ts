/** Environment of every Python process: the consent decides where it imports from, not the folder it starts in. */
import { readlinkSync, realpathSync } from 'node:fs'
import path from 'node:path'

/** The paths of a list of folders, without those that mean whichever folder a process works in. */
const absolutePaths = (list: string): string[] =>
  list.split(path.delimiter).filter((each) => path.isAbsolute(each))

/** Tells whether something lies in a folder, which is the same under every path that leads to it; what a path in it leads to may change. */
export function isInside(place: string, folder: string | null): boolean {
  if (folder === null) return false
  return [absolutePath, (each: string) => realPath(each)].some((way) => {
    const between = path.relative(way(folder), way(place))
    return between !== '..' && !between.startsWith(`..${path.sep}`) && !path.isAbsolute(between)
  })
}

const absolutePath = (place: string): string => path.resolve(place)

/** More links than this lead nowhere. */
export const mostLinks = 40

/** Of what is not there yet, the folders above it and the links on the way count as far as they are. */
function realPath(place: string, budget = { links: mostLinks }): string {
  const whole = path.resolve(place)
  const above = path.dirname(whole)
  try {
    return realpathSync(whole)
  } catch {
    if (above === whole) return whole
  }
  const here = path.join(realPath(above, budget), path.basename(whole))
  const target = linkedFrom(here)
  return target === null || --budget.links < 0 ? here : realPath(target, budget)
}

/** null for what is no link. */
export function linkedFrom(place: string): string | null {
  try {
    return path.resolve(path.dirname(place), readlinkSync(place))
  } catch {
    return null
  }
}

const importPath = (): string[] => absolutePaths(process.env['PYTHONPATH'] ?? '')

/** Folders of `PYTHONPATH` that lie in the folder of the code: what is imported from them is asked about as it is. */
export const pathsInside = (folder: string): string[] =>
  importPath().filter((place) => isInside(place, folder))

/** Variables that name where the interpreter has its own: a relative path would be another in each process. */
const named = ['PYTHONHOME', 'PYTHONUSERBASE', 'PYTHONEXECUTABLE', '__PYVENV_LAUNCHER__']

/** Variables that name what compiled code is read from, or what says so: in the folder of the code nobody was asked about it. */
const loading = [
  'PYTHONPYCACHEPREFIX',
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

/** null: Python does not get it. */
function valueFor(name: string, value: string, folder: string | null): string | null {
  if (name === 'PYTHONSTARTUP') return null
  if (name === 'PYTHONPATH') return joined(importPath().filter((place) => isElsewhere(place, folder)))
  const separator = lists[name]
  if (separator !== undefined) {
    // Programs are started by the code, which was allowed; libraries are loaded into Python whatever it does.
    const isKept = (each: string) => (name === 'PATH' ? path.isAbsolute(each) : isElsewhere(each, folder))
    const isName = (each: string) => takesNames.includes(name) && /^[^/.][^/]*$/.test(each)
    return joined(value.split(separator ?? path.delimiter).filter((each) => isKept(each) || isName(each)))
  }
  if (loading.includes(name)) return isElsewhere(value, folder) ? value : null
  return named.includes(name) && !path.isAbsolute(value) ? null : value
}

/** Tells whether a place is the same in each process, and not in the folder of the code. */
const isElsewhere = (place: string, folder: string | null): boolean =>
  path.isAbsolute(place) && !isInside(place, folder)

const joined = (paths: readonly string[]): string | null =>
  paths.length === 0 ? null : paths.join(path.delimiter)
