/**
 * Trains a run whose folder lies on a small disk until there is no room for a checkpoint; then the disk grows, and the
 * run goes on: node smallDiskTraining.ts DISK CONFIG_JSON
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { AppError } from '#shared/errors.ts'
import type { RunEvent } from '#shared/events.ts'
import { createRunFolder, runPaths } from '#host/workFolder/runFolder.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { createControl, runTraining } from '#host/training/entry.ts'

export interface SmallDiskReport {
  readonly error: { readonly code: string; readonly message: string; readonly hint: string | undefined }
  /** The last line of the log when the run had failed. */
  readonly lastLogged: unknown
  readonly names: readonly string[]
  readonly resumedFrom: number | null
  /** Steps of the second part. */
  readonly steps: readonly number[]
  readonly last: RunEvent | null
}

const [disk = '', config = ''] = process.argv.slice(2)
const run = createRunFolder(disk, JSON.parse(config))
const request = { runDirectory: run.directory, cacheDirectory: `${disk}/cache` }

async function trainUntilError(): Promise<SmallDiskReport['error']> {
  try {
    const events = runTraining({ ...request, resumeFrom: null }, createControl())
    while ((await events.next()).done !== true);
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { code, message, hint } = error
    return { code, message, hint }
  }
  throw new Error('Expected a disk too small for this run.')
}

const error = await trainUntilError()
const lines = readFileSync(runPaths(run.directory).events, 'utf8').trim().split('\n')
const names = readdirSync(runPaths(run.directory).checkpoints)
execFileSync('mount', ['-o', 'remount,size=64m', disk])
const { checkpoint } = resolveResume(disk, run.id)
const steps: number[] = []
let last: RunEvent | null = null
const resumed = { ...request, resumeFrom: checkpoint?.directory ?? null }
for await (const event of runTraining(resumed, createControl())) {
  if (event.type === 'step') steps.push(event.step)
  last = event
}
const report: SmallDiskReport = {
  error,
  lastLogged: JSON.parse(lines.at(-1) ?? ''),
  names,
  resumedFrom: checkpoint?.step ?? null,
  steps,
  last,
}
process.stdout.write(`${JSON.stringify(report)}\n`)
process.exit()
