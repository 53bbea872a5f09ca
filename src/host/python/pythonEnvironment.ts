/** Environment of every Python process: the consent decides where it imports from, not the folder it starts in. */
import { realpathSync } from 'node:fs'
import path from 'node:path'

/** The paths of a list of folders, without those that mean whichever folder a process works in. */
const absolutePaths = (list: string): string[] =>
  list.split(path.delimiter).filter((each) => path.isAbsolute(each))

/** Tells whether something lies in a folder, which is the same under every path that leads to it; what a path in it leads to may change. */
export function isInside(place: string, folder: string | null): boolean {
  if (folder === null) return false
  return [absolutePath, realPath].some((way) => {
    const between = path.relative(way(folder), way(place))
    return between !== '..' && !between.startsWith(`..${path.sep}`) && !path.isAbsolute(between)
  })
}

const absolutePath = (place: string): string => path.resolve(place)

function realPath(place: string): string {
  try {
    return realpathSync(place)
  } catch {
    return path.resolve(place)
  }
}

const importPath = (): string[] => absolutePaths(process.env['PYTHONPATH'] ?? '')

/** Folders of `PYTHONPATH` that lie in the folder of the code: what is imported from them is asked about as it is. */
export const pathsInside = (folder: string): string[] =>
  importPath().filter((place) => isInside(place, folder))

/** Variables that name a file or folder: a relative one would be another in each process. */
const named = [
  ...['PYTHONHOME', 'PYTHONUSERBASE', 'PYTHONPYCACHEPREFIX', 'PYTHONEXECUTABLE', '__PYVENV_LAUNCHER__'],
  ...['OPENSSL_CONF', 'OPENSSL_MODULES', 'OPENSSL_ENGINES'],
]

/**
 * Lists of places where programs and libraries are looked for, and what separates them, if it is not what usually does: the code
 * works in its folder, where neither was allowed.
 */
const lists: Readonly<Record<string, RegExp | null>> = {
  PATH: null,
  LD_LIBRARY_PATH: /[:;]/,
  LD_PRELOAD: /[:\s]/,
  LD_AUDIT: null,
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
  if (name === 'PYTHONPATH') return joined(importPath().filter((place) => !isInside(place, folder)))
  const separator = lists[name]
  if (separator !== undefined) {
    const isKept = (each: string) =>
      path.isAbsolute(each) || (takesNames.includes(name) && /^[^/.][^/]*$/.test(each))
    return joined(value.split(separator ?? path.delimiter).filter(isKept))
  }
  // Compiled code of every module would be read from there.
  if (name === 'PYTHONPYCACHEPREFIX' && isInside(value, folder)) return null
  return named.includes(name) && !path.isAbsolute(value) ? null : value
}

const joined = (paths: readonly string[]): string | null =>
  paths.length === 0 ? null : paths.join(path.delimiter)
