/** The processor of this machine, as the system describes it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** One for each physical core, or fewer where OMP_NUM_THREADS says so, as numerical programs agree. */
export function defaultThreads(): number {
  const wanted = /^\s*([1-9]\d*)/.exec(process.env['OMP_NUM_THREADS'] ?? '')?.[1]
  return Math.min(physicalCores(), wanted === undefined ? Infinity : Number(wanted))
}

/**
 * Physical cores this process may use: hyper-threads share the multiplier units and slow a matrix product down.
 * Linux tells exactly. Elsewhere Node knows logical processors only: x64 is taken to have two per core, arm64 one.
 */
export function physicalCores(): number {
  const usable = availableParallelism() // respects affinity and container limits
  if (process.platform === 'linux') return Math.max(1, Math.min(usable, linuxCores()))
  return Math.max(1, process.arch === 'x64' ? Math.floor(usable / 2) : usable)
}

/** Returns the processor's feature flags, as Linux names them; empty where the system does not tell. */
export function processorFeatures(): ReadonlySet<string> {
  try {
    const flags = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1] ?? ''
    return new Set(flags.trim().split(/\s+/))
  } catch {
    return new Set()
  }
}

/** Distinct (package, core) pairs; Infinity where the kernel does not show them. */
function linuxCores(): number {
  const root = '/sys/devices/system/cpu'
  try {
    const names = readdirSync(root).filter(
      (name) => /^cpu\d+$/.test(name) && existsSync(`${root}/${name}/topology`),
    )
    const read = (name: string, file: string) =>
      readFileSync(`${root}/${name}/topology/${file}`, 'utf8').trim()
    const cores = names.map((name) => `${read(name, 'physical_package_id')}:${read(name, 'core_id')}`)
    return new Set(cores).size || Infinity
  } catch {
    return Infinity
  }
}
