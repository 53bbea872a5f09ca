import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { attempt } from '#shared/attempt.ts'

/**
 * RAM that this process uses. Mapped weight files are shared with other sessions and processes and can be dropped at
 * any time, so they are counted apart from what was really allocated.
 */
export interface MemoryUse {
  /** Allocated memory: heap, tensors, activations. Where the system does not tell it apart, everything resident. */
  readonly anonymousBytes: number
  /** Pages of mapped files, counted once per mapping; null where the system does not tell it apart. */
  readonly mappedBytes: number | null
  readonly residentBytes: number
  /** Resident with shared pages divided among their users; null outside Linux. */
  readonly proportionalBytes: number | null
}

/** The memory of this process now; takes up to milliseconds for a large process. */
export function memoryUse(): MemoryUse {
  if (process.platform !== 'linux') {
    const { rss } = process.memoryUsage()
    return { anonymousBytes: rss, mappedBytes: null, residentBytes: rss, proportionalBytes: null }
  }
  const status = readFileSync('/proc/self/status', 'utf8')
  return {
    anonymousBytes: kilobytes(status, 'RssAnon') ?? 0,
    mappedBytes: kilobytes(status, 'RssFile'),
    residentBytes: kilobytes(status, 'VmRSS') ?? 0,
    proportionalBytes: proportionalBytes(),
  }
}

/** Bytes of a line such as “RssAnon:	    112 kB”. */
export function kilobytes(report: string, name: string): number | null {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(report)?.[1]
  return found === undefined ? null : Number(found) * 1024
}

function proportionalBytes(): number | null {
  // The file is hidden in some containers.
  return attempt(() => kilobytes(readFileSync('/proc/self/smaps_rollup', 'utf8'), 'Pss'), null)
}

export interface MemoryPeak {
  readonly anonymousBytes: number
  readonly mappedBytes: number | null
  /** Number of measurements; a peak shorter than the interval may be missed. */
  readonly samples: number
}

/** Watches this process from another thread until `stop`. */
export interface MemoryWatch {
  stop(): MemoryPeak
}

const WATCH_INTERVAL_MS = 4
/** A busy machine may start the thread late. Work is not refused for that: it is watched from then on, and at its end. */
const START_LIMIT_MS = 60_000
const [FLAG_STATE, FLAG_SAMPLES] = [0, 1]
const [STARTING, WATCHING, STOPPED] = [0, 1, 2]

/**
 * Starts a watch on peak memory. The work in between may block this thread (a session's run does): the watcher is a
 * thread of its own and both sides talk through shared memory only. That thread costs about ten megabytes of
 * its own, so compare with `memoryUse()` read after this call.
 */
export function watchMemory(intervalMs = WATCH_INTERVAL_MS): MemoryWatch {
  const flags = new Int32Array(new SharedArrayBuffer(8))
  const peaks = new Float64Array(new SharedArrayBuffer(16))
  const worker = new Worker(watcherSource, {
    eval: true,
    workerData: { flags, peaks, intervalMs, linux: process.platform === 'linux' },
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 },
  })
  worker.unref()
  Atomics.wait(flags, FLAG_STATE, STARTING, START_LIMIT_MS)
  return {
    stop() {
      Atomics.store(flags, FLAG_STATE, STOPPED)
      Atomics.notify(flags, FLAG_STATE)
      const now = memoryUse()
      return {
        anonymousBytes: Math.max(peaks[0] ?? 0, now.anonymousBytes),
        mappedBytes: now.mappedBytes === null ? null : Math.max(peaks[1] ?? 0, now.mappedBytes),
        samples: Atomics.load(flags, FLAG_SAMPLES) + 1,
      }
    },
  }
}

/**
 * Runs in the thread. Source text instead of a file of its own, so that it works alike from TypeScript sources and from
 * a bundle.
 */
const watcherSource = `
  const { openSync, readSync, closeSync } = require('node:fs')
  const { workerData: { flags, peaks, intervalMs, linux } } = require('node:worker_threads')
  const file = linux ? openSync('/proc/self/status', 'r') : null
  const buffer = Buffer.alloc(8192)
  const read = () => {
    if (!linux) return [process.memoryUsage.rss(), 0]
    const text = buffer.latin1Slice(0, readSync(file, buffer, 0, buffer.length, 0))
    const bytes = (name) => 1024 * parseInt(text.slice(text.indexOf(name) + name.length), 10)
    return [bytes('RssAnon:'), bytes('RssFile:')]
  }
  const sample = () => {
    const [anonymous, mapped] = read()
    peaks[0] = Math.max(peaks[0], anonymous)
    peaks[1] = Math.max(peaks[1], mapped)
    Atomics.add(flags, ${FLAG_SAMPLES}, 1)
  }
  sample()
  Atomics.compareExchange(flags, ${FLAG_STATE}, ${STARTING}, ${WATCHING})
  Atomics.notify(flags, ${FLAG_STATE})
  while (Atomics.wait(flags, ${FLAG_STATE}, ${WATCHING}, intervalMs) === 'timed-out') sample()
  if (linux) closeSync(file)
`
