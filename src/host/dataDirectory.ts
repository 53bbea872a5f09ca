import { homedir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { readFileSync } from 'node:fs'

/**
 * Returns the folder of runs, models and caches: the given directory, else TURNWISE_HOME, else the system's usual
 * place.
 */
export function resolveDataDirectory(given: string | undefined): string {
  return path.resolve(given ?? (process.env['TURNWISE_HOME'] || defaultDirectory()))
}

function defaultDirectory(): string {
  const isOneFolder = process.platform === 'win32' || process.platform === 'darwin'
  if (isOneFolder) return path.join(systemFolder(), 'Turnwise')
  return path.join(process.env['XDG_DATA_HOME'] || path.join(homedir(), '.local', 'share'), 'turnwise')
}

/** Folder that the window proposes for exports; what lies there is the user's. */
export const exportsFolder = (dataDirectory: string): string => path.join(dataDirectory, 'exports')

/**
 * Folder of this person's settings, outside of every data directory, so that no copy of one holds it. It does not depend on
 * XDG_CONFIG_HOME, which not every program passes on that starts Turnwise, such as a client of `turnwise mcp`.
 */
export const settingsDirectory = (): string => path.join(systemFolder(), 'turnwise-settings')

/** The folder that the system gives to programs: for all that is theirs, on Linux for settings. */
function systemFolder(): string {
  switch (process.platform) {
    case 'win32':
      return process.env['APPDATA'] || path.join(homedir(), 'AppData', 'Roaming')
    case 'darwin':
      return path.join(homedir(), 'Library', 'Application Support')
    default:
      return path.join(homedir(), '.config')
  }
}

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
  /** Answers and rewards of evaluations, a folder each. */
  evaluations: path.join(dataDirectory, 'evaluations'),
  /** Answers of teachers, a folder for each teacher and way of sampling. */
  answers: path.join(dataDirectory, 'answers'),
  /** Populations, sweeps and runs over seeds, a folder each; their runs are among the others. */
  studies: path.join(dataDirectory, 'studies'),
  /** Conversations with models, a folder each. */
  conversations: path.join(dataDirectory, 'conversations'),
  /** Files handed over by a browser, until they are imported. */
  uploads: path.join(dataDirectory, 'uploads'),
  /** Converted and quantised weights and indexes of documents, keyed by content; safe to delete. */
  cache: path.join(dataDirectory, 'cache'),
  /** Libraries that devices need and the program does not bring, a folder each. */
  libraries: path.join(dataDirectory, 'libraries'),
})

/** Tells whether a file of a data directory is the program's own by its name: the history with what SQLite keeps beside it, and lists. */
export const isDataFile = (name: string): boolean =>
  /^(?:history\.db(?:-wal|-shm|-journal)?|(?:home|host|hub-ids|python-consents)\.json.*|outbound-requests|\.libraries\.turn.*)$/.test(
    name,
  )

/** Files that come with the program: the starter model, the demo. */
export const resourcesDirectory = fileURLToPath(new URL('../../resources', import.meta.url))

interface PackageManifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
}

function packageManifest(): PackageManifest {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return JSON.parse(text) as PackageManifest // our own file
}

export const appVersion = (): string => packageManifest().version

/** Versions of the programs that runs, history and user code depend on. */
export function runtimeVersions(): Record<string, string> {
  const { dependencies } = packageManifest()
  const named = ['onnxruntime-node', 'better-sqlite3', 'quickjs-emscripten-core']
  return {
    node: process.versions.node,
    ...Object.fromEntries(named.map((name) => [name, dependencies[name] ?? 'unknown'])),
  }
}

/** Turnwise and what it computes with: numbers of two runs are comparable to the last bit only where this is the same. */
export function describeVersions(): string {
  const { version, dependencies } = packageManifest()
  const runtime = `onnxruntime-node ${dependencies['onnxruntime-node'] ?? 'unknown'}`
  return `turnwise ${version}, ${runtime}, node ${process.versions.node}, ${process.platform}-${process.arch}`
}
