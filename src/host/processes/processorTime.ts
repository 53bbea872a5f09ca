/**
 * Reads how much processor time processes have used. Uses `/proc` on Linux and starts `ps` or, on Windows, PowerShell
 * elsewhere, so callers look seldom.
 */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism, loadavg } from 'node:os'
import { promisify } from 'node:util'
import { attempt } from '#shared/attempt.ts'
import { programFile } from './programs.ts'

export interface ProcessUse {
  /** Milliseconds of processor time since some moment; only differences mean something. */
  readonly usedMs: number
  /** True if it runs or waits for nothing but a processor. Only Linux tells. */
  readonly isReady: boolean
}

export type Meter = () => Promise<ProcessUse>

/** Measures one process. `pid` is called each time, since some processes get their id after they were started. */
export const processMeter = (pid: () => number | null): Meter => meter(pid, false)

/** Measures a process, the group that it leads and all their descendants. */
export const familyMeter = (pid: () => number | null): Meter => meter(pid, true)

function meter(pid: () => number | null, withFamily: boolean): Meter {
  const guess = stretchedTime()
  return async () => {
    const guessed = { usedMs: guess(), isReady: false }
    const id = pid()
    if (id === null) return guessed
    try {
      return await used(id, withFamily)
    } catch {
      return guessed
    }
  }
}

/** Estimates processor time from the time of day and the machine's load, where the system does not tell it. */
function stretchedTime(): () => number {
  let [sum, lastAt] = [0, performance.now()]
  return () => {
    const now = performance.now()
    sum += (now - lastAt) * Math.min(1, availableParallelism() / Math.max(1, loadavg()[0] ?? 0))
    lastAt = now
    return sum
  }
}

/** One process of the list; `usedMs` includes children that have ended. */
interface ProcessTime extends ProcessUse {
  readonly pid: number
  readonly parent: number
  readonly group: number
}

async function used(pid: number, withFamily: boolean): Promise<ProcessUse> {
  if (process.platform === 'linux' && !withFamily) return linuxProcess(pid)
  return sumOf(await allProcesses(), pid, withFamily)
}

/** Errors: where the process is not among them. */
export function sumOf(all: readonly ProcessTime[], pid: number, withFamily: boolean): ProcessUse {
  const counted = new Set<number>()
  let [usedMs, isReady] = [0, false]
  // Parents come before their children, but for numbers that began anew.
  for (const each of all.toSorted((a, b) => a.pid - b.pid)) {
    const isFamily = withFamily && (each.group === pid || counted.has(each.parent))
    if (each.pid !== pid && !isFamily) continue
    counted.add(each.pid)
    usedMs += each.usedMs
    isReady ||= each.isReady
  }
  if (!counted.has(pid)) throw new Error('Expected a living process.')
  return { usedMs, isReady }
}

async function answerOf(name: string, words: readonly string[]): Promise<string> {
  const program = programFile(name)
  if (program === null) throw new Error(`Expected ${name} in PATH.`)
  return (await promisify(execFile)(program, [...words], { windowsHide: true })).stdout
}

export async function allProcesses(platform = process.platform): Promise<readonly ProcessTime[]> {
  if (platform === 'linux') return linuxProcesses()
  if (platform !== 'win32') return readPs(await answerOf('ps', ['-axSo', 'pid=,ppid=,pgid=,time=']))
  return readWindowsTimes(await answerOf('powershell', ['-NoProfile', '-Command', windowsTimes]))
}

/** The kernel counts in ticks; it says a hundred to a second to all programs, whatever its own are. */
const tickMs = 10

function linuxProcesses(): readonly ProcessTime[] {
  return readdirSync('/proc').flatMap((name) => {
    // The process ended meanwhile.
    return attempt(() => (/^\d+$/.test(name) ? [linuxProcess(Number(name))] : []), [])
  })
}

function linuxProcess(pid: number): ProcessTime {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The name in parentheses may hold anything; the state, parent and group come after it, and the times of itself and its children.
  const [state, ...fields] = stat.slice(stat.lastIndexOf(') ') + 2).split(' ')
  const [parent = 0, group = 0, ...numbers] = fields.map(Number)
  const ticks = numbers.slice(8, 12).reduce((sum, each) => sum + each, 0)
  return { pid, parent, group, usedMs: ticks * tickMs, isReady: state === 'R' }
}

/** Reads the output of ps. Times are [[days-]hours:]minutes:seconds, with hundredths on macOS. */
export function readPs(text: string): readonly ProcessTime[] {
  return text.split('\n').flatMap((line) => {
    const [, pid, parent, group, time = ''] = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+([\d:.-]+)\s*$/.exec(line) ?? []
    if (pid === undefined) return []
    const [clock = '', days = '0'] = time.split('-').toReversed()
    const seconds = clock.split(':').reduce((sum, part) => 60 * sum + Number(part), 0)
    const usedMs = 1000 * (86_400 * Number(days) + seconds)
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), usedMs, isReady: false }]
  })
}

const windowsTimes =
  'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ProcessId) $($_.ParentProcessId) $($_.KernelModeTime + $_.UserModeTime)" }'

/** Reads the times on Windows, in units of 100 ns; there are no groups. */
export function readWindowsTimes(text: string): readonly ProcessTime[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const [, pid, parent, time] = /^(\d+) (\d+) (\d+)$/.exec(line.trim()) ?? []
    if (pid === undefined) return []
    return [
      { pid: Number(pid), parent: Number(parent), group: 0, usedMs: Number(time) / 10_000, isReady: false },
    ]
  })
}
