/** What each run takes of its device and of the processors, where the system tells. */
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { z } from 'zod'
import { device as deviceSchema } from '#shared/api/common.ts'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import type { DeviceKind } from '#shared/device.ts'
import { CardMeter } from '#host/processes/cardLoad.ts'
import type { Host } from '#host/host.ts'

type RunLoad = OutputOf<Api, 'system.load'>['runs'][number]

/** Of a second, in /proc; the same on every Linux that Node runs on. */
const ticksPerSecond = 100
/** A share is that of at least so long. */
const leastMs = 500

interface Seen {
  readonly ticks: number
  readonly at: number
  readonly share: number | null
}

/** One for all who ask: shares are those of the time between. */
export class RunLoads {
  readonly #host: Pick<Host, 'supervisor' | 'store'>
  readonly #cards = new CardMeter()
  #seen: ReadonlyMap<number, Seen> = new Map()

  constructor(host: Pick<Host, 'supervisor' | 'store'>) {
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
        ...{ runId, device, cpuShare: now?.share ?? null },
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
    if (elapsed < leastMs) return before
    const busy = (1000 * (ticks - before.ticks)) / ticksPerSecond / elapsed
    return { ticks, at, share: Math.min(1, Math.max(0, busy / cpus().length)) }
  }
}

/** Time that all threads of a process have had, in user and in system mode. */
function ticksOf(pid: number): number | null {
  if (process.platform !== 'linux') return null
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
    // The name stands in brackets and may hold anything; the times are 12th and 13th behind it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [user, system] = [Number(fields[11]), Number(fields[12])]
    return Number.isFinite(user + system) ? user + system : null
  } catch {
    return null // it has just ended
  }
}

const said = z.object({ device: deviceSchema })

const deviceOf = (event: unknown): DeviceKind | null => said.safeParse(event).data?.device.kind ?? null
