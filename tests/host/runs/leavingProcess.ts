/** A training process that takes its time between the last line of its log and giving up its lock. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const leavingMs = 500

const { rmSync } = fs
let isFirst = true
Object.assign(fs, {
  rmSync(path: fs.PathLike, options: fs.RmOptions) {
    const isLock = String(path).endsWith('lock')
    // The first removal makes way for a new lock.
    if (isLock && !isFirst) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, leavingMs)
    if (isLock) isFirst = false
    rmSync(path, options)
  },
})
syncBuiltinESMExports()
await import('#host/jobs/process/jobProcess.ts')
