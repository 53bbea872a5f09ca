/** Environment of every Python process: the consent decides where it imports from, not the folder it starts in. */
import { realpathSync } from 'node:fs'
import path from 'node:path'

/** The paths of `PYTHONPATH`, without those that mean whichever folder a process works in. */
const ownPaths = (): string[] =>
  (process.env['PYTHONPATH'] ?? '').split(path.delimiter).filter((each) => path.isAbsolute(each))

/** Links are followed: a folder is the same under every path that leads to it. */
function isInside(place: string, folder: string | null): boolean {
  if (folder === null) return false
  const between = path.relative(realPath(folder), realPath(place))
  return between !== '..' && !between.startsWith(`..${path.sep}`) && !path.isAbsolute(between)
}

function realPath(place: string): string {
  try {
    return realpathSync(place)
  } catch {
    return path.resolve(place)
  }
}

/** Folders of `PYTHONPATH` that lie in the folder of the code: what is imported from them is asked about as it is. */
export const pathsInside = (folder: string): string[] => ownPaths().filter((place) => isInside(place, folder))

/** Variables that name a folder: a relative one would be another in each process. */
const folders = ['PYTHONHOME', 'PYTHONUSERBASE', 'PYTHONPYCACHEPREFIX']

/** The environment of this process as Python may have it. `folder`: of the code, from which only what was allowed is imported. */
export function pythonEnvironment(folder: string | null): NodeJS.ProcessEnv {
  const { PYTHONSTARTUP: _, PYTHONPATH: given, ...rest } = process.env
  const kept = ownPaths().filter((place) => !isInside(place, folder))
  const named = Object.entries(rest).filter(
    ([name, value = '']) => !folders.includes(name) || path.isAbsolute(value),
  )
  const paths = kept.join(path.delimiter)
  return {
    ...Object.fromEntries(named),
    ...(given === undefined || paths === '' ? {} : { PYTHONPATH: paths }),
  }
}
