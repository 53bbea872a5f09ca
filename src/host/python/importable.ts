/**
 * Lists what may be loaded from the folder of a script: by the adapter, which loads nothing else from there, or by an interpreter
 * that runs the script by itself, which takes whatever its own rules find.
 */
import { type Dirent, existsSync, readdirSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '#shared/errors.ts'
import { shownText } from '#shared/shownText.ts'
import { reading } from '#host/files/fileErrors.ts'
import { statusOf } from './interpreterFiles.ts'

/** Limits beyond which a folder is not one of reward code. */
const mostFiles = 500
const mostEntries = 20_000

/** Who loads the modules: its files, and the folders that it goes into. */
const loaders = {
  /** Sources and compiled modules, in packages too, but not in virtual environments. */
  adapter: {
    file: /\.(?:pyw?|so|pyd)$/,
    isFolder: (name: string, own: string) => isPackageName(name) && !existsSync(path.join(own, 'pyvenv.cfg')),
  },
  /** Modules compiled without a source too, and packages that call themselves virtual environments. */
  python: { file: /\.(?:py[cw]?|so|pyd)$/, isFolder: (name: string) => isPackageName(name) },
  node: {
    file: /\.(?:[cm]?[jt]s|node|wasm)$|^package\.json$|^[^.]+$/,
    isFolder: (name: string) => name !== '.git' && name !== 'node_modules',
  },
}
export type Loader = keyof typeof loaders

/**
 * Lists what `import` finds beside a file, and below, in order. Empty if the file has no folder, as a package has none. Errors:
 * AppError 'python/not-allowed' for too much, 'file/unreadable'.
 */
export function importable(file: string, loader: Loader = 'adapter'): string[] {
  const top = path.dirname(file)
  if (!path.isAbsolute(file) || statusOf(top)?.isDirectory() !== true) return []
  const found: string[] = []
  let entries = 0
  const walk = (folder: string, above: readonly string[]): void => {
    // A link to a folder above has nothing new in it.
    const real = realpathSync(folder)
    if (above.includes(real)) return
    for (const entry of entriesOf(folder)) {
      if (++entries > mostEntries || found.length > mostFiles) throw tooMuch(file)
      const own = path.join(folder, entry.name)
      const kind = kindOf(entry, own, loader)
      if (kind === 'folder') walk(own, [...above, real])
      else if (kind === 'module' && own !== file) found.push(own)
    }
  }
  walk(top, [])
  return found
}

/** Links are what they lead to. */
function kindOf(entry: Dirent, own: string, loader: Loader): 'folder' | 'module' | null {
  const status = entry.isSymbolicLink() ? statusOf(own) : entry
  const { file, isFolder } = loaders[loader]
  if (status?.isFile() === true) return file.test(entry.name) ? 'module' : null
  return status?.isDirectory() === true && isFolder(entry.name, own) ? 'folder' : null
}

/** Lists a folder in the same order on every system. Errors: AppError 'file/unreadable'. */
const entriesOf = (folder: string): Dirent[] =>
  reading(folder, () =>
    readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1)),
  )

/** Tells whether a name is an identifier, as Python's `str.isidentifier` does, and not `__pycache__`. */
const isPackageName = (name: string): boolean =>
  /^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(name) && name !== '__pycache__'

const tooMuch = (file: string): AppError =>
  new AppError(
    'python/not-allowed',
    `Too much lies beside ${shownText(file)} to be asked about: more than ${mostFiles} modules, or ${mostEntries.toLocaleString('en')} files.`,
    'Nothing was started. Put the file, with what it imports, into a folder of its own.',
  )
