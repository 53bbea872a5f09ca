import { homedir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where runs, models and caches are kept: the given directory, else TURNWISE_HOME, else the system's usual place. */
export function resolveDataDirectory(given: string | undefined): string {
  return path.resolve(given ?? (process.env['TURNWISE_HOME'] || usualDirectory()))
}

function usualDirectory(): string {
  const { APPDATA, XDG_DATA_HOME } = process.env
  switch (process.platform) {
    case 'win32':
      return path.join(APPDATA || path.join(homedir(), 'AppData', 'Roaming'), 'Turnwise')
    case 'darwin':
      return path.join(homedir(), 'Library', 'Application Support', 'Turnwise')
    default:
      return path.join(XDG_DATA_HOME || path.join(homedir(), '.local', 'share'), 'turnwise')
  }
}

/** Folders of the data directory. */
export const dataFolders = (dataDirectory: string) => ({
  runs: path.join(dataDirectory, 'runs'),
  models: path.join(dataDirectory, 'models'),
  /** Imported adapters, a folder each. */
  adapters: path.join(dataDirectory, 'adapters'),
  /** Deleted runs, kept for a week. */
  trash: path.join(dataDirectory, 'trash'),
  /** Imported data, a folder per version. */
  datasets: path.join(dataDirectory, 'datasets'),
  /** Reward code that was saved, a folder per reward. */
  rewards: path.join(dataDirectory, 'rewards'),
  /** Files handed over by a browser, until they are imported. */
  uploads: path.join(dataDirectory, 'uploads'),
  /** Converted and quantised weights, keyed by content; safe to delete. */
  cache: path.join(dataDirectory, 'cache'),
  /** Libraries that devices need and the program does not bring, a folder each. */
  libraries: path.join(dataDirectory, 'libraries'),
})

/** What comes with the program: the starter model, the demo. */
export const resourcesDirectory = fileURLToPath(new URL('../../resources', import.meta.url))
