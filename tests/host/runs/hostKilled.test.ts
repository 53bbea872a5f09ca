import path from 'node:path'
import { spawn, type ChildProcess } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ownScript } from '#host/processes/childProcess.ts'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { type RunFolder } from '#host/workFolder/runFolder.ts'
import { workHolder } from '#host/workFolder/workFolder.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { createHome, historyOf, learnedBy, starterConfig, stepsOf, tensorsOf, until } from './runFixture.ts'

const home = createHome()
const config = { ...starterConfig, steps: 16 }
let undisturbed: RunFolder

beforeAll(async () => {
  undisturbed = home.createRun(config)
  expect(await home.supervise().start(undisturbed, { resumeFrom: null })).toMatchObject({ kind: 'finished' })
})

afterAll(() => {
  home[Symbol.dispose]()
})

interface Host {
  readonly child: ChildProcess
  /** Everything it printed. */
  readonly said: () => string
  readonly gone: Promise<void>
}

/** A host in a group of its own that trains the run from its last checkpoint on. */
function startHost(run: RunFolder, ...options: string[]): Host {
  const script = ownScript(path.join(import.meta.dirname, 'hostProcess.ts'))
  const child = spawn(process.execPath, [script, home.directory, run.id, ...options], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (piece: Buffer) => (text += piece.toString('utf8')))
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  return { child, said: () => text, gone }
}

const pidOf = ({ child }: Host): number => child.pid ?? 0
const lastStatus = (run: RunFolder) => historyOf(run, 'status').at(-1)

/** The process outlives its host only until it has saved what it has. */
async function expectSaved(run: RunFolder): Promise<void> {
  await until(() => workHolder(run.directory) === null)
  const done = stepsOf(run).length
  expect(lastStatus(run)).toMatchObject({ phase: 'stopped', step: done })
  expect(resolveResume(home.directory, run.id).checkpoint).toMatchObject({ step: done })
}

describe('a host that is killed', () => {
  test('loses nothing: its process finishes the step, saves and ends; the run goes on later', async () => {
    const run = home.createRun(config)
    const random = new SequentialRandom(randomStream(2026, 12))
    for (const _ of [1, 2, 3]) {
      const before = stepsOf(run).length
      const target = before + 1 + random.integer(2)
      const host = startHost(run)
      await until(() => stepsOf(run).length >= target)
      process.kill(pidOf(host), 'SIGKILL')
      await host.gone
      await expectSaved(run)
      expect(stepsOf(run).length).toBeGreaterThanOrEqual(target)
    }
    const both = startHost(run) // and its process at the same moment
    const resumedAt = stepsOf(run).length
    await until(() => stepsOf(run).length > resumedAt)
    process.kill(-pidOf(both), 'SIGKILL')
    await both.gone
    const last = startHost(run)
    await last.gone
    expect(last.said()).toMatch(/finished\n$/)

    expect(stepsOf(run)).toEqual(Array.from({ length: 16 }, (_, i) => i + 1))
    expect(learnedBy(run)).toEqual(learnedBy(undisturbed))
    expect(tensorsOf(run, 16)).toEqual(tensorsOf(undisturbed, 16))
  })

  test('while its run is paused leaves it saved too', async () => {
    const run = home.createRun(config)
    const host = startHost(run, 'paused')
    await until(() => host.said().includes('paused '))
    expect(lastStatus(run)).toMatchObject({ phase: 'paused', step: 0 })
    process.kill(pidOf(host), 'SIGKILL')
    await host.gone
    await expectSaved(run)
    expect(stepsOf(run)).toEqual([])
  })
})
