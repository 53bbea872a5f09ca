/** The load of this machine, and the disk usage of the data directory. */
import { readFileSync, realpathSync, rmSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { cpus, freemem, totalmem } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { z } from 'zod'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { device as deviceSchema } from '#shared/api/common.ts'
import { attempt } from '#shared/attempt.ts'
import type { DeviceKind } from '#shared/device.ts'
import { writing } from '#host/files/fileErrors.ts'
import { dataFolders, exportsFolder } from '#host/dataDirectory.ts'
import type { ConnectionWatch } from '#host/outboundConnections.ts'
import type { DataStorage } from '#host/store/storage.ts'
import { bytesOf, findLeftovers } from '#host/workFolder/leftovers.ts'
import { outboundRequests } from '#host/outboundRequests.ts'
import { CardMeter } from '#host/processes/cardLoad.ts'

type Load = OutputOf<Api, 'system.load'>
type StoredFolder = OutputOf<Api, 'system.storage'>[number]

const measureEveryMs = 30_000
/** A processor's share is that of at least so long. */
const leastMs = 200

/** Busy and total processor time, ms over all cores. */
type Ticks = () => { readonly busy: number; readonly total: number }

/** Processes that train. */
interface Trainers {
  list(): readonly { readonly runId: string; readonly pid: number | null }[]
}

type MeteredHost = DataStorage & { readonly supervisor: Trainers; readonly connections: ConnectionWatch }

/** One for all who ask: it remembers what it saw last, and the processor's share is that of the time between. */
export class LoadMeter {
  readonly #host: MeteredHost
  readonly #runs: RunLoads
  readonly #now: Ticks
  #ticks: ReturnType<Ticks>
  #cpuShare: number | null = null
  #measured: { readonly at: number; readonly bytes: number } | null = null

  constructor(host: MeteredHost, now: Ticks = cpuTicks) {
    this.#host = host
    this.#runs = new RunLoads(host)
    this.#now = now
    this.#ticks = now()
  }

  async read(): Promise<Load> {
    const { supervisor, dataDirectory, connections } = this.#host
    const cpuShare = this.#readShare() ?? (await setTimeout(leastMs), this.#readShare()) ?? 0
    const { bavail, bsize } = await statfs(dataDirectory)
    return {
      cpuShare,
      memory: {
        usedBytes: totalmem() - freemem(),
        totalBytes: totalmem(),
        training: supervisor.list().flatMap(({ runId, pid }) => memoryOf(runId, pid)),
      },
      runs: this.#runs.read(),
      disk: { freeBytes: bavail * bsize, turnwiseBytes: this.#turnwiseBytes() },
      outboundRequests: outboundRequests(dataDirectory),
      connections: {
        since: connections.isWatching ? connections.since : null,
        count: connections.count,
        latest: [...connections.latest],
      },
    }
  }

  /**
   * Returns the CPU share since the last measurement; the previous value where that is too short to tell. null: not
   * known yet.
   */
  #readShare(): number | null {
    const [before, now] = [this.#ticks, this.#now()]
    const elapsed = now.total - before.total
    if (elapsed < leastMs / 2) return this.#cpuShare
    this.#ticks = now
    this.#cpuShare = Math.min(1, Math.max(0, (now.busy - before.busy) / elapsed))
    return this.#cpuShare
  }

  /** Counts the bytes; not called every time, since every file has to be looked at. */
  #turnwiseBytes(): number {
    const now = Date.now()
    if (this.#measured === null || now - this.#measured.at > measureEveryMs)
      this.#measured = { at: now, bytes: bytesOf(realpathSync(this.#host.dataDirectory)) }
    return this.#measured.bytes
  }
}

function cpuTicks(): { readonly busy: number; readonly total: number } {
  const times = cpus().map((cpu) => cpu.times)
  const total = times.reduce((sum, each) => sum + Object.values(each).reduce((a, b) => a + b, 0), 0)
  return { busy: total - times.reduce((sum, { idle }) => sum + idle, 0), total }
}

/** null where the system does not tell. */
/** Returns the memory of a training process; nothing where the system does not tell, or the process has just ended. */
function memoryOf(runId: string, pid: number | null): Load['memory']['training'] {
  if (process.platform !== 'linux' || pid === null) return []
  return attempt(() => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const bytes = (name: string) =>
      1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0)
    const [privateBytes, mappedBytes] = [bytes('RssAnon'), bytes('RssFile')]
    return privateBytes === 0 ? [] : [{ runId, privateBytes, mappedBytes }]
  }, [])
}

const descriptions = {
  runs: { isDisposable: false, description: 'Runs with their checkpoints, samples and logs.' },
  evaluations: { isDisposable: false, description: 'Evaluations with their answers.' },
  answers: {
    isDisposable: true,
    description: 'Answers of teachers (dataset answer); their data sets are kept apart.',
  },
  studies: { isDisposable: false, description: 'Sweeps and populations; their runs are kept apart.' },
  trash: { isDisposable: true, description: 'Deleted runs; each is permanently removed after a week.' },
  models: { isDisposable: false, description: 'Imported base models.' },
  adapters: { isDisposable: false, description: 'Imported adapters.' },
  datasets: { isDisposable: false, description: 'Imported data sets.' },
  rewards: { isDisposable: false, description: 'Code of rewards and environments.' },
  conversations: { isDisposable: false, description: 'Conversations of the Chat screen.' },
  uploads: { isDisposable: true, description: 'Uploaded files that were not imported.' },
  cache: {
    isDisposable: true,
    description: 'Converted and quantised weights; recreated when needed.',
  },
  libraries: {
    isDisposable: true,
    description:
      'The CUDA library, if it was installed under Settings, Machine; it can be removed and downloaded again.',
  },
} as const satisfies Record<keyof ReturnType<typeof dataFolders>, Omit<StoredFolder, 'folder' | 'sizeBytes'>>

export function storedFolders({ dataDirectory, store }: DataStorage): StoredFolder[] {
  const history = ['', '-wal', '-shm'].reduce((sum, end) => sum + bytesOf(`${store.file}${end}`), 0)
  return [
    ...Object.entries(dataFolders(dataDirectory)).map(([name, folder]) => ({
      folder,
      sizeBytes: bytesOf(folder),
      ...descriptions[name as keyof typeof descriptions],
    })),
    {
      folder: exportsFolder(dataDirectory),
      sizeBytes: bytesOf(exportsFolder(dataDirectory)),
      isDisposable: false,
      description: 'Exports that were given no other folder.',
    },
    ...unfinished(dataDirectory),
    {
      folder: store.file,
      sizeBytes: history,
      isDisposable: false,
      description: 'History of all runs, tags, notes and settings.',
    },
  ]
}

/** Lists the unfinished folders; empty where there are none. */
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
  writing(folder, () => rmSync(folder, { recursive: true, force: true }))
  return sizeBytes
}

/* What each run takes of its device and of the processors, where the system tells. */

type RunLoad = OutputOf<Api, 'system.load'>['runs'][number]

/** Clock ticks per second in /proc; the same on every Linux that Node runs on. */
const ticksPerSecond = 100
/** A share is that of at least so long. */
const leastRunMs = 500

interface Seen {
  readonly ticks: number
  readonly at: number
  readonly share: number | null
}

/** Loads of runs, measured once for all callers: shares are those of the time between. */
class RunLoads {
  readonly #host: Pick<MeteredHost, 'supervisor' | 'store'>
  readonly #cards = new CardMeter()
  #seen: ReadonlyMap<number, Seen> = new Map()

  constructor(host: Pick<MeteredHost, 'supervisor' | 'store'>) {
    this.#host = host
  }

  read(): RunLoad[] {
    const { supervisor, store } = this.#host
    const seen = new Map<number, Seen>()
    const loads = supervisor.list().map(({ runId, pid }) => {
      const now = pid === null ? null : this.#see(pid)
      if (pid !== null && now !== null) seen.set(pid, now)
      const device = deviceOf(store.events.last(runId, 'device'))
      return {
        runId,
        device,
        cpuShare: now?.share ?? null,
        card: device === null ? null : this.#cards.read(device),
      }
    })
    this.#seen = seen
    return loads
  }

  /** null where the system does not tell. */
  #see(pid: number): Seen | null {
    const ticks = ticksOf(pid)
    if (ticks === null) return null
    const at = performance.now()
    const before = this.#seen.get(pid)
    if (before === undefined) return { ticks, at, share: null }
    const elapsed = at - before.at
    if (elapsed < leastRunMs) return before
    const busy = (1000 * (ticks - before.ticks)) / ticksPerSecond / elapsed
    return { ticks, at, share: Math.min(1, Math.max(0, busy / cpus().length)) }
  }
}

/** Time that all threads of a process have had, in user and in system mode. */
function ticksOf(pid: number): number | null {
  if (process.platform !== 'linux') return null
  // The process may have just ended.
  return attempt(() => {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
    // The name stands in brackets and may hold anything; the times are 12th and 13th behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [user, system] = [Number(fields[11]), Number(fields[12])]
    return Number.isFinite(user + system) ? user + system : null
  }, null)
}

const said = z.object({ device: deviceSchema })

const deviceOf = (event: unknown): DeviceKind | null => said.safeParse(event).data?.device.kind ?? null
