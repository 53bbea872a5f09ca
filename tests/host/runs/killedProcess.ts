/**
 * A training process that kills itself at a planned file operation: the nth one on a path, optionally half done. The plan
 * is JSON in TURNWISE_TEST_KILL; without one this is the ordinary process.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

export interface KillPlan {
  readonly operation: 'write' | 'sync' | 'rename' | 'remove' | 'truncate'
  /** Part of the path. */
  readonly path: string
  /** Which of the operations, from 1. */
  readonly count: number
  readonly moment: 'before' | 'half' | 'after'
}

const text = process.env['TURNWISE_TEST_KILL']
if (text !== undefined && text !== '') followPlan(JSON.parse(text) as KillPlan)
await import('#host/jobs/process/jobProcess.ts')

function followPlan(plan: KillPlan): void {
  const paths = new Map<number, string>()
  const { openSync, writeSync, fsyncSync, renameSync, rmSync, ftruncateSync } = fs
  let seen = 0
  const isHit = (operation: KillPlan['operation'], path: string) =>
    operation === plan.operation && path.includes(plan.path) && ++seen === plan.count
  const die = () => {
    process.kill(process.pid, 'SIGKILL')
    for (;;); // the signal is on its way
  }
  /** Dies before or after the operation, where it is the planned one. */
  const watched = <T>(operation: KillPlan['operation'], path: string, act: () => T): T => {
    const isPlanned = isHit(operation, path)
    if (isPlanned && plan.moment === 'before') die()
    const result = act()
    if (isPlanned) die()
    return result
  }
  Object.assign(fs, {
    openSync(path: fs.PathLike, ...rest: [fs.OpenMode?, fs.Mode?]) {
      const handle = openSync(path, ...(rest as [fs.OpenMode]))
      paths.set(handle, String(path))
      return handle
    },
    writeSync(handle: number, bytes: Buffer, offset = 0, length = bytes.length - offset) {
      return watched('write', paths.get(handle) ?? '', () => {
        const part = plan.moment === 'half' && seen === plan.count ? Math.ceil(length / 2) : length
        return writeSync(handle, bytes, offset, part)
      })
    },
    fsyncSync: (handle: number) => watched('sync', paths.get(handle) ?? '', () => fsyncSync(handle)),
    renameSync: (from: string, to: string) => watched('rename', to, () => renameSync(from, to)),
    rmSync: (path: string, options: fs.RmOptions) => watched('remove', path, () => rmSync(path, options)),
    ftruncateSync: (handle: number, size: number) =>
      watched('truncate', paths.get(handle) ?? '', () => ftruncateSync(handle, size)),
  })
  syncBuiltinESMExports()
}
