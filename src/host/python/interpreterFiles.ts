/**
 * Files of an interpreter that lie in the folder of the code and change with it: the program, or the target of its
 * link, and the files that Python looks for around its program, before it runs any code, to find its library. The
 * content of such a file, or the arrival of a new one, decides where every module comes from.
 */
import { existsSync, readdirSync, realpathSync, statSync, type Stats } from 'node:fs'
import path from 'node:path'
import { readError } from '#host/files/fileErrors.ts'
import { readSmallFile } from '#host/files/strictJson.ts'
import { isInside, linkedFrom, mostLinks } from './pythonEnvironment.ts'

/** Contents by path; of a link that leads out of the folder, where it leads. Errors: AppError 'file/unreadable'. */
export function interpreterFiles(
  program: string,
  folder: string,
): (readonly [string, string | Uint8Array])[] {
  if (!existsSync(folder)) return []
  const places = placesOf(program)
  const last = places.findLastIndex((place) => isInside(place, folder))
  const next = places[last + 1]
  const own =
    last < 0 ? [] : [[program, next === undefined ? contentOf(program) : `links to ${next}`] as const]
  const around = [...new Set(places.flatMap((place) => landmarks(path.dirname(place), folder)))]
  const once = new Map(around.map((file) => [realpathSync(file), file]))
  return [...own, ...[...once.values()].map((file) => [file, contentOf(file)] as const)]
}

/** The program under each name that its links give it, the real one last. */
function placesOf(program: string): string[] {
  const places: string[] = []
  // Each link is looked at by two names.
  for (let at: string | null = program; at !== null && places.length <= 2 * mostLinks; at = linkedFrom(at)) {
    const real: string = path.join(realpathSync(path.dirname(at)), path.basename(at))
    places.push(at, real)
    at = real
  }
  return places.filter((place, i) => place !== places[i - 1])
}

/** Files beside a program, and above it as far as the folder reaches. */
function landmarks(start: string, folder: string): string[] {
  const found: string[] = []
  for (let at = start; isInside(at, folder); at = path.dirname(at)) {
    const own = namesIn(at, /^(?:pyvenv\.cfg|pybuilddir\.txt|.*\._pth|python3\d+t?\.zip)$/i)
    const libraries = namesIn(at, /^(?:lib(?:64)?)$/i).flatMap((library) => [
      path.join(library, 'os.py'),
      ...namesIn(library, /\._pth$/i),
      ...namesIn(library, /^python3[\d.]*t?(?:\.zip)?$/).flatMap(inLibrary),
    ])
    found.push(...own, path.join(at, 'Modules', 'Setup.local'), ...libraries)
  }
  return found.filter((place) => statusOf(place) !== null)
}

/** An archive, or a folder by what marks it as the library. */
const inLibrary = (place: string): string[] =>
  statusOf(place)?.isDirectory() === true
    ? ['os.py', 'os.pyc', 'lib-dynload'].map((name) => path.join(place, name))
    : [place]

function namesIn(folder: string, form: RegExp): string[] {
  if (statusOf(folder)?.isDirectory() !== true) return []
  const names = readOr(folder, () => readdirSync(folder)).filter((name) => form.test(name))
  return names.sort().map((name) => path.join(folder, name))
}

/** The largest program, archive or compiled module. */
export const mostBytes = 1 << 30

/** Returns the content of a file; for a folder, of which only its presence counts, an empty text. */
const contentOf = (place: string): string | Uint8Array =>
  statusOf(place)?.isDirectory() === true ? '' : readSmallFile(place, mostBytes)

/** Errors: AppError 'file/unreadable'. */
function readOr<Content>(place: string, read: () => Content): Content {
  try {
    return read()
  } catch (error) {
    throw readError(place, error)
  }
}

/** null for what may not be looked at, does not exist, or is a link that leads back to itself. */
export function statusOf(place: string): Stats | null {
  try {
    return statSync(place)
  } catch {
    return null
  }
}
