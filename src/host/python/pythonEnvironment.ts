/** What every process of Python finds in its environment: where it imports from is said by what was allowed, not by where it starts. */
import path from 'node:path'

/** The paths of `PYTHONPATH`, without those that mean whichever folder a process works in. */
const ownPaths = (): string[] =>
  (process.env['PYTHONPATH'] ?? '').split(path.delimiter).filter((each) => path.isAbsolute(each))

const isInside = (place: string, folder: string | null): boolean =>
  folder !== null && !path.relative(folder, place).startsWith('..')

/** Folders of `PYTHONPATH` that lie in the folder of the code: what is imported from them is asked about as it is. */
export const pathsInside = (folder: string): string[] =>
  ownPaths().filter((place) => isInside(path.resolve(place), folder))

/** Variables that name a folder: a relative one would be another in each process. */
const folders = ['PYTHONHOME', 'PYTHONUSERBASE', 'PYTHONPYCACHEPREFIX']

/** The environment of this process as Python may have it. `folder`: of the code, from which only what was allowed is imported. */
export function pythonEnvironment(folder: string | null): NodeJS.ProcessEnv {
  const { PYTHONSTARTUP: _, PYTHONPATH: given, ...rest } = process.env
  const kept = ownPaths().filter((place) => !isInside(path.resolve(place), folder))
  const named = Object.entries(rest).filter(
    ([name, value = '']) => !folders.includes(name) || path.isAbsolute(value),
  )
  const paths = kept.join(path.delimiter)
  return {
    ...Object.fromEntries(named),
    ...(given === undefined || paths === '' ? {} : { PYTHONPATH: paths }),
  }
}
