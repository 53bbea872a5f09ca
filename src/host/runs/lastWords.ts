/** What a training process wrote to stdout and stderr before it died: `worker.log` in the run's folder. */
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync, truncateSync } from 'node:fs'

/** A file that grew longer over many starts begins anew. */
const maxLogBytes = 1 << 20
const maxWords = 4096

/** Prepares the log for another process and says where that one's words will begin. */
export function prepareWorkerLog(file: string): number {
  const size = sizeOf(file)
  if (size <= maxLogBytes) return size
  truncateSync(file)
  return 0
}

const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0)

/** The end of the log from a byte on, whole lines where it is long; null when nothing was said or nothing can be read. */
export function readLastWords(file: string, from = 0): string | null {
  try {
    return wordsAt(file, from)
  } catch {
    // How the process ended is told without them.
    return null
  }
}

function wordsAt(file: string, from: number): string | null {
  if (sizeOf(file) <= from) return null
  const handle = openSync(file, 'r')
  try {
    const { size } = fstatSync(handle)
    const start = Math.max(from, size - maxWords)
    const bytes = Buffer.alloc(size - start)
    const text = bytes.subarray(0, readSync(handle, bytes, 0, bytes.length, start)).toString('utf8')
    const words = (start > from ? text.slice(text.indexOf('\n') + 1) : text).trim()
    return words === '' ? null : words
  } finally {
    closeSync(handle)
  }
}
