/**
 * Files of an interpreter that may be exchanged without anybody's leave: the program, with where its links lead, wherever more
 * people than the administrator can write, and the files that Python looks for around its program, before it runs any code,
 * to find its library. The content of such a file, or the arrival of a new one, decides what runs.
 */
import { lstatSync, readdirSync, realpathSync, statSync, type Stats } from 'node:fs'
import path from 'node:path'
import { attempt } from '#shared/attempt.ts'
import { shownText } from '#shared/shownText.ts'
import { reading } from '#host/files/fileErrors.ts'
import { readSmallFile, readSmallText } from '#host/files/strictJson.ts'
import { isInside, linkedFrom, mostLinks, realPath, requirePlace } from './pythonEnvironment.ts'

/**
 * Lists contents by path; for a program behind links, where they lead as well. `folder`: of the code; null: it has none. Errors:
 * AppError 'file/unreadable', 'python/not-allowed' for what leads Python elsewhere than this process.
 */
export function interpreterFiles(
  program: string,
  folder: string | null,
): (readonly [string, string | Uint8Array])[] {
  const places = placesOf(program)
  const isOpen = (place: string) => isInside(place, folder) || isExchangeable(place)
  if (!places.some(isOpen)) return []
  const real = places.at(-1) ?? program
  const links = real === program ? [] : [[program, `links to ${real}`] as const]
  const beside = places.filter(isOpen).flatMap(besideProgram).filter(isThere)
  const homes = beside.flatMap(homesIn)
  const starts = [
    ...places.map((place) => path.dirname(place)),
    ...homes.flatMap((home) => [home, ...above(home)]),
  ]
  const marks = [
    ...starts.map(realOf).flatMap((start) => landmarks(start, folder)),
    ...homes.map(realOf).flatMap(besideLibrary),
  ]
  const around = [...marks.filter(isThere), ...beside]
  const once = new Map([...new Set(around)].map((file) => [realpathSync(file), file]))
  const files = [...(isOpen(real) ? [real] : []), ...once.values()]
  return [...links, ...files.map((file) => [file, contentOf(file)] as const)]
}

/**
 * Tells whether somebody besides the administrator can put another file in a place, or the administrator is who we are: by the
 * owners of it and of the folders above it, and who else may write there.
 */
function isExchangeable(place: string): boolean {
  if (process.platform === 'win32') {
    const guarded = [process.env['ProgramFiles'], process.env['SystemRoot']]
    return !guarded.some((folder) => folder !== undefined && isInside(place, folder))
  }
  return process.getuid?.() === 0 || [place, ...above(place)].some(isOpenToOthers)
}

/** Lists the folders that a place is in, the innermost first. */
function above(place: string): string[] {
  const folder = path.dirname(place)
  return folder === place ? [] : [folder, ...above(folder)]
}

function isOpenToOthers(place: string): boolean {
  const status = lstatSync(place, { throwIfNoEntry: false })
  if (status?.uid !== 0) return true
  // In a folder like that of temporary files, nobody exchanges what is another's.
  const isShared = (status.mode & 0o022) !== 0 && (status.mode & 0o1000) === 0
  return isShared && !status.isSymbolicLink()
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

/** Names of files in a folder of programs, and above it as far as the folder of the code reaches; some may not be there. */
function landmarks(start: string, folder: string | null): string[] {
  const found: string[] = []
  for (let at = start; isInside(at, folder); at = path.dirname(at)) {
    const own = namesIn(at, /^(?:pyvenv\.cfg|python3\d+t?\.zip)$/i)
    const libraries = namesIn(at, /^(?:lib(?:64)?)$/i).flatMap((library) => [
      path.join(library, 'os.py'),
      ...namesIn(library, /\._pth$/i),
      ...namesIn(library, /^python3[\d.]*t?(?:\.zip)?$/).flatMap(inLibrary),
    ])
    found.push(...own, ...besideLibrary(at), ...libraries)
  }
  return found
}

/** Files by which a program outside the folder of the code takes another library than its own. */
function besideProgram(place: string): string[] {
  const folder = path.dirname(place)
  return [
    ...[folder, path.dirname(folder)].flatMap((each) => namesIn(each, /^pyvenv\.cfg$/i)),
    ...besideLibrary(folder),
  ]
}

/** Files in the folder of a program, or in the home of its environment, that name another library, or mark a build, which has its own. */
function besideLibrary(folder: string): string[] {
  // Python of Windows lies two folders into its build.
  const build = process.platform === 'win32' ? path.resolve(folder, '..', '..') : folder
  return [...namesIn(folder, /^(?:pybuilddir\.txt|.*\._pth)$/i), path.join(build, 'Modules', 'Setup.local')]
}

/** Tells whether a file is there for Python too. Errors: AppError 'python/not-allowed'. */
function isThere(place: string): boolean {
  requirePlace(place)
  return statusOf(place) !== null
}

const realOf = (place: string): string => realPath(place) ?? place

/**
 * Lists the folders, there or not, in which and, by their text, above which Python looks for its library where a file makes it an
 * environment. Versions of Python end the text at different signs. Errors: as isThere.
 */
function homesIn(file: string): string[] {
  if (!/^pyvenv\.cfg$/i.test(path.basename(file))) return []
  // Python takes no larger one.
  const homes = [...readSmallText(file, 1 << 15).matchAll(/^[\s\p{Cc}]*home[\s\p{Cc}]*=[ \t]*([^\n]*)/gimu)]
    .flatMap(([, text = '']) => [text, text.replace(/[\s\p{Cc}]+$/u, ''), text.replace(/[\r\0].*/s, '')])
    .filter((home) => home.trim() !== '')
  for (const home of homes) requirePlace(home, ` in ${shownText(file)}`)
  return homes
}

/** An archive, or a folder by what marks it as the library. */
const inLibrary = (place: string): string[] =>
  statusOf(place)?.isDirectory() === true
    ? ['os.py', 'os.pyc', 'lib-dynload'].map((name) => path.join(place, name))
    : [place]

function namesIn(folder: string, form: RegExp): string[] {
  if (statusOf(folder)?.isDirectory() !== true) return []
  const names = reading(folder, () => readdirSync(folder)).filter((name) => form.test(name))
  return names.sort().map((name) => path.join(folder, name))
}

/** The largest program, archive or compiled module. */
export const mostBytes = 1 << 30

/** Returns the content of a file; for a folder, of which only its presence counts, an empty text. */
const contentOf = (place: string): string | Uint8Array =>
  statusOf(place)?.isDirectory() === true ? '' : readSmallFile(place, mostBytes)

/** null for what may not be looked at, does not exist, or is a link that leads back to itself. */
export const statusOf = (place: string): Stats | null => attempt(() => statSync(place), null)
