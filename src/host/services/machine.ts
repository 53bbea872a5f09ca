/** What this machine is busy with, and what the data directory takes up. */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { cpus, freemem, totalmem } from 'node:os'
import path from 'node:path'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { systemCode, writeError } from '../artifacts/fileErrors.ts'
import { dataFolders } from '../dataDirectory.ts'
import type { Host } from '../host.ts'
import { outboundRequests } from '../outboundRequests.ts'

type Load = OutputOf<Api, 'system.load'>
type StoredFolder = OutputOf<Api, 'system.storage'>[number]

const measureEveryMs = 30_000

/** Remembers what it saw last, so that the processor's share is that of the time between. */
export class LoadMeter {
  readonly #host: Host
  #ticks = cpuTicks()
  #measured: { readonly at: number; readonly bytes: number } | null = null

  constructor(host: Host) {
    this.#host = host
  }

  async read(): Promise<Load> {
    const { supervisor, dataDirectory, connections } = this.#host
    const before = this.#ticks
    const now = cpuTicks()
    this.#ticks = now
    const elapsed = now.total - before.total
    const { bavail, bsize } = await statfs(dataDirectory)
    const pids = supervisor.list().flatMap(({ pid }) => pid ?? [])
    return {
      cpuShare: elapsed === 0 ? 0 : Math.min(1, Math.max(0, (now.busy - before.busy) / elapsed)),
      memory: {
        usedBytes: totalmem() - freemem(),
        totalBytes: totalmem(),
        trainingBytes: residentBytes(pids),
      },
      disk: { freeBytes: bavail * bsize, turnwiseBytes: this.#turnwiseBytes() },
      outboundRequests: outboundRequests(dataDirectory),
      connections: {
        since: connections.isWatching ? connections.since : null,
        count: connections.count,
        latest: [...connections.latest],
      },
    }
  }

  /** Every file has to be looked at: not each time. */
  #turnwiseBytes(): number {
    const now = Date.now()
    if (this.#measured === null || now - this.#measured.at > measureEveryMs)
      this.#measured = { at: now, bytes: sizeOf(this.#host.dataDirectory) }
    return this.#measured.bytes
  }
}

function cpuTicks(): { readonly busy: number; readonly total: number } {
  const times = cpus().map((cpu) => cpu.times)
  const total = times.reduce((sum, each) => sum + Object.values(each).reduce((a, b) => a + b, 0), 0)
  return { busy: total - times.reduce((sum, { idle }) => sum + idle, 0), total }
}

/** null where the system does not tell. */
function residentBytes(pids: readonly number[]): number | null {
  if (process.platform !== 'linux') return null
  return pids.reduce((sum, pid) => sum + residentOf(pid), 0)
}

function residentOf(pid: number): number {
  try {
    const [, kibibytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return 1024 * Number(kibibytes)
  } catch {
    return 0 // it has just ended
  }
}

/** Bytes of a file or of all in a folder; 0 where there is none. Files that vanish meanwhile do not count. */
function sizeOf(place: string): number {
  try {
    const status = statSync(place)
    if (!status.isDirectory()) return status.size
    const entries = readdirSync(place, { withFileTypes: true })
    return entries
      .filter((entry) => !entry.isSymbolicLink())
      .reduce((sum, { name }) => sum + sizeOf(path.join(place, name)), 0)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 0
    throw error
  }
}

const descriptions = {
  runs: { isDisposable: false, description: 'Runs with their checkpoints, samples and logs.' },
  models: { isDisposable: false, description: 'Imported base models.' },
  adapters: { isDisposable: false, description: 'Imported adapters.' },
  datasets: { isDisposable: false, description: 'Imported data sets.' },
  rewards: { isDisposable: false, description: 'Code of rewards and environments.' },
  uploads: { isDisposable: true, description: 'Uploaded files that were not imported.' },
  cache: {
    isDisposable: true,
    description: 'Converted and quantised weights; made again when they are needed.',
  },
} as const satisfies Record<keyof ReturnType<typeof dataFolders>, Omit<StoredFolder, 'folder' | 'sizeBytes'>>

export function storedFolders({ dataDirectory, store }: Host): StoredFolder[] {
  const history = ['', '-wal', '-shm'].reduce((sum, end) => sum + sizeOf(`${store.file}${end}`), 0)
  return [
    ...Object.entries(dataFolders(dataDirectory)).map(([name, folder]) => ({
      folder,
      sizeBytes: sizeOf(folder),
      ...descriptions[name as keyof typeof descriptions],
    })),
    {
      folder: store.file,
      sizeBytes: history,
      isDisposable: false,
      description: 'History of all runs, tags, notes and settings.',
    },
  ]
}

/** Returns how many bytes it took up. Errors: AppError 'file/unwritable'. */
export function clearFolder(folder: string): number {
  const sizeBytes = sizeOf(folder)
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch (error) {
    throw writeError(folder, error)
  }
  return sizeBytes
}
