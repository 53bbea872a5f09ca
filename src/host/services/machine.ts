/** What this machine is busy with, and what the data directory takes up. */
import { readFileSync, rmSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { cpus, freemem, totalmem } from 'node:os'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { writeError } from '../artifacts/fileErrors.ts'
import { dataFolders } from '../dataDirectory.ts'
import type { Host } from '../host.ts'
import { bytesOf, findLeftovers } from '../leftovers.ts'
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
      this.#measured = { at: now, bytes: bytesOf(this.#host.dataDirectory) }
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
  const history = ['', '-wal', '-shm'].reduce((sum, end) => sum + bytesOf(`${store.file}${end}`), 0)
  return [
    ...Object.entries(dataFolders(dataDirectory)).map(([name, folder]) => ({
      folder,
      sizeBytes: bytesOf(folder),
      ...descriptions[name as keyof typeof descriptions],
    })),
    ...unfinished(dataDirectory),
    {
      folder: store.file,
      sizeBytes: history,
      isDisposable: false,
      description: 'History of all runs, tags, notes and settings.',
    },
  ]
}

/** Nothing where there is none. */
function unfinished(dataDirectory: string): StoredFolder[] {
  const places = findLeftovers(dataDirectory)
  if (places.length === 0) return []
  return [
    {
      folder: dataDirectory,
      sizeBytes: places.reduce((sum, place) => sum + bytesOf(place), 0),
      isDisposable: true,
      description: `Unfinished copies of killed processes: ${places.length}. They are removed when Turnwise starts.`,
    },
  ]
}

/** Returns how many bytes it took up. Errors: AppError 'file/unwritable'. */
export function clearFolder(folder: string): number {
  const sizeBytes = bytesOf(folder)
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch (error) {
    throw writeError(folder, error)
  }
  return sizeBytes
}
