import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ownScript } from '#host/processes/childProcess.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { listCheckpoints, loadCheckpoint } from '#host/models/checkpoints.ts'
import { createRunFolder } from '#host/workFolder/runFolder.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { exampleCheckpoint } from './exampleCheckpoint.ts'
import type { SavingReport } from './savingProcess.ts'
import { canMount, onSmallDisk, runOnSmallDisk } from '../files/smallDisk.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const root = temporaryFolder()
const script = ownScript(path.join(import.meta.dirname, 'savingProcess.ts'))
let count = 0

function newFolder(): string {
  const folder = path.join(root, `${++count}`)
  mkdirSync(folder)
  return folder
}

const command = (...args: readonly string[]) => [process.execPath, script, ...args]
const reportsOf = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as SavingReport)

const untilStep = (last: number) => Array.from({ length: last }, (_, index) => index + 1)
const namesOf = (steps: readonly number[]) => steps.map((step) => `step-${String(step).padStart(6, '0')}`)

/** What was there stays, nothing half is left, and the sentence says what to do. */
function expectNothingLost({ error, saved, whole, names }: SavingReport, reason: string): void {
  expect(saved).toBeGreaterThanOrEqual(2)
  expect(error.code).toBe('file/unwritable')
  expect(error.message).toMatch(
    new RegExp(`^The checkpoint of step ${saved + 1} could not be kept: .*${reason}`),
  )
  expect(error.hint).toContain('Earlier checkpoints are complete')
  expect(whole).toEqual(untilStep(saved))
  expect(names).toEqual(namesOf(untilStep(saved)))
}

function expectRoomHelps([before, after]: readonly SavingReport[], reason: string): void {
  expectNothingLost(before!, reason)
  expect(after!.afterwards).toBe(before!.saved + 1)
}

test(
  onSmallDisk('a full disk: the checkpoints before stay whole, and saving goes on when there is room'),
  () => {
    if (!canMount) return
    const disk = newFolder()
    const stdout = runOnSmallDisk('1m', disk, command('untilFull', path.join(disk, 'run')))
    expectRoomHelps(reportsOf(stdout), 'the disk is full')
  },
)

test(onSmallDisk('a disk that became read-only'), () => {
  if (!canMount) return
  const disk = newFolder()
  const stdout = runOnSmallDisk('1m', disk, command('readOnly', path.join(disk, 'run')))
  expectNothingLost(reportsOf(stdout)[0]!, 'the disk is read-only')
})

test('files that may not grow: writing fails in the middle of a file', () => {
  const run = path.join(newFolder(), 'run')
  const limited = ['-c', 'ulimit -f 200 && exec "$@"', 'sh', ...command('untilFull', run)]
  const stdout = execFileSync('sh', limited, { encoding: 'utf8' })
  expectRoomHelps(reportsOf(stdout), 'larger than is allowed here')
})

test('a folder in which the account may not write', () => {
  const run = path.join(newFolder(), 'run')
  const [file = '', ...args] = command('forbidden', run)
  const [report] = reportsOf(execFileSync(file, args, { encoding: 'utf8' }))
  expectNothingLost(report!, 'this account may not write there')
})

test('killed at any moment of saving and removing, a process leaves only whole checkpoints', async () => {
  const random = new SequentialRandom(randomStream(7, 1))
  const data = newFolder()
  const run = createRunFolder(data, {})
  let last = 0
  for (let round = 0; round < 12; round++) {
    const [file = '', ...args] = command('forever', run.directory, `${last + 1}`)
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const closed = once(child, 'close')
    await once(child.stdout, 'data')
    await sleep(random.integer(100))
    child.kill('SIGKILL')
    await closed
    const acknowledged = Number(/saved (\d+)\n(?!.*\n)/.exec(said)?.[1])
    const { checkpoint, passedOver } = resolveResume(data, run.id)
    expect(passedOver).toEqual([])
    expect(checkpoint?.step).toBeGreaterThanOrEqual(acknowledged)
    for (const { step, directory } of listCheckpoints(run.directory)) {
      expect(loadCheckpoint(directory)).toEqual(exampleCheckpoint(step, { reward: step % 5, width: 20_000 }))
    }
    last = checkpoint?.step ?? 0
  }
  expect(last).toBeGreaterThanOrEqual(12)
})
