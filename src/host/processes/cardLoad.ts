/**
 * Measures how busy the graphics card is, where the system tells without a library of ours: NVIDIA's driver brings
 * nvidia-smi, AMD's has files. Where there is more than one card nobody can say here which of them a run computes on,
 * and nothing is said.
 */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { attempt } from '#shared/attempt.ts'
import type { DeviceKind } from '#shared/device.ts'
import { programFile } from './programs.ts'

export interface CardLoad {
  readonly usedBytes: number
  readonly totalBytes: number
  /** Share of the time; null where the driver does not tell. */
  readonly share: number | null
}

interface CardWatch extends Disposable {
  /**
   * Returns the largest increase of used memory on the only card, and what was free before; null where nobody tells.
   */
  readonly used: () => { readonly bytes: number; readonly freeBytes: number } | null
}

/** Watches the card from now on, until it is disposed of. */
export async function watchCard(kind: DeviceKind): Promise<CardWatch> {
  const meter = new CardMeter()
  await meter.refresh()
  const before = meter.read(kind)
  let most = before?.usedBytes ?? 0
  const look = () => (most = Math.max(most, meter.read(kind)?.usedBytes ?? 0))
  const timer = setInterval(look, watchEveryMs)
  return {
    [Symbol.dispose]: () => clearInterval(timer),
    used() {
      look()
      if (before === null) return null
      return { bytes: most - before.usedBytes, freeBytes: before.totalBytes - before.usedBytes }
    },
  }
}

const watchEveryMs = 200

const query = ['--query-gpu=memory.used,memory.total,utilization.gpu', '--format=csv,noheader,nounits']
const limitMs = 5000

/** Meter shared by all callers. It answers with the last value: nobody waits for a driver. */
export class CardMeter {
  readonly #root: string
  #nvidia: readonly CardLoad[] = []
  #asking: Promise<void> | null = null
  #hasNvidia = true

  /** `root`: where the system lists its cards. */
  constructor(root = '/sys/class/drm') {
    this.#root = root
  }

  /** Returns the load; null: the driver does not tell, or it is not known which card is used. */
  read(kind: DeviceKind): CardLoad | null {
    if (kind === 'cpu') return null
    void this.refresh()
    const cards = kind === 'cuda' ? this.#nvidia : this.#all()
    return cards.length === 1 ? (cards[0] ?? null) : null
  }

  /** Lists the cards that a run may have got; null for one that tells nothing. */
  #all(): readonly (CardLoad | null)[] {
    // A driver that was chosen by hand, such as a software GPU, may be of no card; other systems list none.
    const isChosen = ['VK_ICD_FILENAMES', 'VK_DRIVER_FILES'].some((name) => process.env[name] !== undefined)
    return process.platform !== 'linux' || isChosen ? [] : [...this.#nvidia, ...otherCards(this.#root)]
  }

  /** Asks NVIDIA's driver again; resolves when it has answered. */
  refresh(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => (this.#asking = null))
    return this.#asking
  }

  async #ask(): Promise<void> {
    const program = this.#hasNvidia ? programFile('nvidia-smi') : null
    this.#hasNvidia = program !== null
    if (program === null) return
    try {
      const { stdout } = await promisify(execFile)(program, query, { timeout: limitMs })
      this.#nvidia = nvidiaCards(stdout)
    } catch (error) {
      this.#nvidia = []
      this.#hasNvidia = (error as NodeJS.ErrnoException).code !== 'ENOENT'
    }
  }
}

/** Lines such as “1311, 24564, 57”: MiB, MiB and percent, or “[N/A]”. */
export function nvidiaCards(text: string): CardLoad[] {
  return text
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [used = NaN, total = NaN, percent = NaN] = line
        .split(',')
        .map((cell) => Number(cell.trim() || NaN))
      if (!Number.isFinite(used) || !Number.isFinite(total)) return []
      const share = Number.isFinite(percent) ? percent / 100 : null
      return [{ usedBytes: used * 2 ** 20, totalBytes: total * 2 ** 20, share }]
    })
}

const nvidiaVendor = '0x10de'

/** Reads all cards but NVIDIA's; of AMD's what their driver amdgpu tells, in bytes and percent. */
function otherCards(root: string): (CardLoad | null)[] {
  return namesIn(root).flatMap((name) => {
    const file = (of: string) => path.join(root, name, 'device', of)
    if (!/^card\d+$/.test(name) || textOf(file('vendor')) === nvidiaVendor) return []
    const [usedBytes, totalBytes] = [
      numberIn(file('mem_info_vram_used')),
      numberIn(file('mem_info_vram_total')),
    ]
    const percent = numberIn(file('gpu_busy_percent'))
    if (usedBytes === null || totalBytes === null) return [null]
    return [{ usedBytes, totalBytes, share: percent === null ? null : percent / 100 }]
  })
}

const namesIn = (folder: string): string[] => attempt(() => readdirSync(folder), [])

const textOf = (file: string): string => attempt(() => readFileSync(file, 'utf8').trim(), '')

function numberIn(file: string): number | null {
  const text = textOf(file)
  return /^\d+$/.test(text) ? Number(text) : null
}
