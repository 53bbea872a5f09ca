/**
 * Runs a program where nothing it does can go unseen: in a network of its own whose only way out leads nowhere, and on a
 * copy-on-write view of the file system. Needs Linux, root (also that of a container) and iproute2.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { runtimeEnvironment } from '#shared/runtimeEnvironment.ts'

const inside = path.join(import.meta.dirname, 'inside.ts')
const root = path.resolve(import.meta.dirname, '../..')

/** Of the program in its own view of the files. */
export const dataDirectory = '/turnwise-data'

/** Where it may write: what a person gave it, the compiled code beside its own, and the key of the seals, which no data directory holds. */
const ours = [`${dataDirectory}/`, path.join(root, 'node_modules/.cache/turnwise/')]
const key = path.join(homedir(), '.config/turnwise-settings/machine.key')

export interface Seen {
  /** Of the program. */
  readonly status: number | null
  readonly output: string
  /** Names it asked a name server for. */
  readonly lookups: readonly string[]
  /** Packets that left for another machine. */
  readonly packets: number
  /** Files it made or changed, links not followed. */
  readonly files: readonly string[]
}

/** Programs begin without what the runner of the tests was given to be quiet: they have to see to it themselves. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !(name in runtimeEnvironment)))
}

/** `command`: program and arguments, all paths absolute. */
export function isolated(command: readonly string[], env: Readonly<Record<string, string>> = {}): Seen {
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-isolated-'))
  const report = path.join(folder, 'seen.json')
  try {
    const namespaces = ['--net', '--mount', '--propagation', 'private']
    const { stderr } = spawnSync(
      'unshare',
      [...namespaces, process.execPath, inside, folder, report, ...command],
      { env: { ...plainEnvironment(), ...env }, encoding: 'utf8', maxBuffer: 2 ** 26 },
    )
    return readSeen(report, stderr)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readSeen(report: string, problem: string): Seen {
  try {
    return JSON.parse(readFileSync(report, 'utf8')) as Seen
  } catch {
    throw new Error(`The program could not be isolated:\n${problem}`)
  }
}

/** Why it cannot be done here; null where it can. */
export function whyNotIsolated(): string | null {
  if (process.platform !== 'linux') return 'network namespaces are Linux’s'
  try {
    const { status } = isolated(['/bin/true'])
    return status === 0 ? null : `the program ended with ${String(status)}`
  } catch (error) {
    return error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : String(error)
  }
}

/** What left the machine and what was left on it. */
export const traces = ({ lookups, packets, files }: Seen) => ({
  lookups,
  packets,
  files: files.filter((file) => file !== key && !ours.some((place) => file.startsWith(place))),
})
export const noTrace = { lookups: [], packets: 0, files: [] }
