import { setTimeout as wait } from 'node:timers/promises'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openLogTail, readEvents } from '#host/workFolder/eventLog.ts'
import { runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { workHolder } from '#host/workFolder/workFolder.ts'
import { summarizeRun } from '#host/api/queueService.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { jobStarter } from '#host/processes/job.ts'
import {
  readStderrTail,
  type Supervisor,
  type WorkerActivity,
  type WorkerStatus,
} from '#host/runs/supervisor.ts'
import { createHome, historyOf, learnedBy, starterConfig, stepsOf, tensorsOf, until } from './runFixture.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

const home = createHome(jobStarter())
const shortConfig = { ...starterConfig, steps: 6, evaluation: { every: 0, rows: 2 } }
const longConfig = { ...shortConfig, steps: 5000 }
const fromStart = { resumeFrom: null }
let undisturbed: RunFolder

beforeAll(async () => {
  undisturbed = home.createRun(shortConfig)
  expect(await home.supervise().start(undisturbed, fromStart)).toMatchObject({ kind: 'finished' })
})

afterAll(() => {
  home[Symbol.dispose]()
})

/** A supervisor whose workers' activities are written down. */
function watched(): { supervisor: Supervisor; seen: WorkerActivity[]; statuses: WorkerStatus[] } {
  const seen: WorkerActivity[] = []
  const statuses: WorkerStatus[] = []
  const supervisor = home.supervise({
    silentAfterMs: 3000,
    onChanged: (status) => {
      statuses.push(status)
      if (status.activity !== seen.at(-1)) seen.push(status.activity)
    },
  })
  return { supervisor, seen, statuses }
}

describe('a supervised run', () => {
  test('waits between two steps, with a checkpoint, and goes on as if nothing had been', async () => {
    const run = home.createRun(shortConfig)
    const { supervisor, seen } = watched()
    const ended = supervisor.start(run, fromStart)
    const isPaused = () => supervisor.status(run.id)?.activity === 'paused'
    for (const done of [0, 1, 2]) {
      supervisor.pause(run.id)
      await until(isPaused)
      expect(stepsOf(run)).toHaveLength(done)
      expect(resolveResume(home.directory, run.id).checkpoint).toMatchObject({ step: done })
      expect(summarizeRun(run)).toMatchObject({ status: 'paused', step: done })
      if (done === 2) await wait(300)
      expect(stepsOf(run)).toHaveLength(done)
      supervisor.unpause(run.id)
    }
    expect(await ended).toMatchObject({ kind: 'finished', error: null })
    expect(seen.slice(0, 5)).toEqual(['starting', 'pausing', 'paused', 'running', 'pausing'])
    expect(learnedBy(run)).toEqual(learnedBy(undisturbed))
    expect(tensorsOf(run, 6)).toEqual(tensorsOf(undisturbed, 6))
    expect(supervisor.list()).toEqual([])
  })

  const title = 'stops while it is paused, and keeps one checkpoint of that step'
  test.runIf(isWhole)(wholeTitle(title), async () => {
    const run = home.createRun(shortConfig)
    const { supervisor } = watched()
    const ended = supervisor.start(run, fromStart)
    supervisor.pause(run.id)
    await until(() => supervisor.status(run.id)?.activity === 'paused')
    expect(stepsOf(run)).toEqual([])
    await supervisor.close()
    expect(await ended).toMatchObject({ kind: 'stopped' })
    expect(historyOf(run, 'checkpoint-saved')).toMatchObject([{ step: 0 }])
    const { checkpoint } = resolveResume(home.directory, run.id)
    expect(await home.supervise().start(run, { resumeFrom: checkpoint?.directory ?? null })).toMatchObject({
      kind: 'finished',
    })
    expect(learnedBy(run)).toEqual(learnedBy(undisturbed))
  })

  test('stops after its step with a checkpoint, and is killed at once', async () => {
    const run = home.createRun(longConfig)
    const { supervisor, seen } = watched()
    void supervisor.start(run, fromStart)
    expect(() => supervisor.start(run, fromStart)).toThrow(/is being trained by process \d+/)
    expect(() => home.supervise().pause(run.id)).toThrow('is not being trained here')
    await until(() => stepsOf(run).length >= 1)
    expect(workHolder(run.directory)).toBe(supervisor.status(run.id)?.pid)
    expect(() => home.supervise().start(run, fromStart)).toThrow(/is being trained by process \d+/)
    expect(await supervisor.stop(run.id)).toMatchObject({ kind: 'stopped', error: null })
    expect(seen.at(-1)).toBe('stopping')
    const { checkpoint } = resolveResume(home.directory, run.id)
    expect(stepsOf(run)).toHaveLength(checkpoint?.step ?? -1)

    void supervisor.start(run, { resumeFrom: checkpoint?.directory ?? null })
    await until(() => supervisor.status(run.id)?.activity === 'running')
    const killed = await supervisor.kill(run.id)
    expect(killed).toMatchObject({ kind: 'killed', error: { code: 'run/stopped' } })
    expect(killed.error?.command).toContain(`turnwise resume ${run.id}`)
    expect(summarizeRun(run).status).toBe('interrupted')
  })

  test('that says nothing is marked as silent, and left alone', async () => {
    const run = home.createRun(longConfig)
    const { supervisor, statuses } = watched()
    const ended = supervisor.start(run, fromStart)
    await until(() => supervisor.status(run.id)?.activity === 'running')
    const { pid } = supervisor.status(run.id) ?? {}
    process.kill(pid ?? 0, 'SIGSTOP')
    await until(() => supervisor.status(run.id)?.isSilent === true)
    process.kill(pid ?? 0, 'SIGCONT')
    await until(() => supervisor.status(run.id)?.isSilent === false)
    // Told once for each silence; a busy machine may bring another one.
    expect(statuses.some((status, i) => status.isSilent && statuses[i - 1]?.isSilent === true)).toBe(false)
    supervisor.unpause(run.id) // nothing to unpause: no fault
    void supervisor.kill(run.id)
    await ended
  })

  const followed = 'can be followed by its log alone, and from another host by looking at it'
  test.runIf(isWhole)(wholeTitle(followed), async () => {
    // Phases are told four times a second: long enough for a dozen of them on a fast machine.
    const run = home.createRun({ ...shortConfig, steps: 72, evaluation: { every: 18, rows: 40 } })
    const file = runPaths(run.directory).events
    const tail = openLogTail(file, 'beginning')
    const followed: unknown[] = []
    const phases = new Set<unknown>()
    const progress = new Set<unknown>()
    await home
      .supervise({
        onGrown: () => followed.push(...tail.read()),
        onPhase({ stepPhase, phaseProgress }) {
          phases.add(stepPhase)
          progress.add(phaseProgress)
        },
      })
      .start(run, fromStart)
    expect(followed).toEqual(readEvents(file))
    const ofSteps = [...phases].filter((phase) => phase !== 'evaluating' && phase !== null)
    expect(ofSteps).not.toEqual([])
    expect([...progress]).toContainEqual({
      done: expect.any(Number) as number,
      total: expect.any(Number) as number,
    })
    expect(followed.length).toBeGreaterThan(15)
  })
})

describe('a process that dies', () => {
  const start = (script: string, run: RunFolder) =>
    home
      .supervise({ startJob: jobStarter(fileURLToPath(new URL(script, import.meta.url))) })
      .start(run, fromStart)

  test('leaves its last words, not those of the one before', async () => {
    const run = home.createRun(shortConfig)
    for (const _ of [1, 2]) {
      const ending = await start('silentProcess.ts', run)
      expect(ending).toMatchObject({
        kind: 'crashed',
        stderrTail: 'first words\nthe last words of a process',
      })
      expect(ending.error?.message).toBe('The training process ended unexpectedly (status 7).')
    }
    const log = runPaths(run.directory).workerLog
    expect(readFileSync(log, 'utf8').match(/last words/g)).toHaveLength(2)
    expect(readStderrTail(log)).toContain('last words')
  })

  test('without ever having been one is told too', async () => {
    const ending = await start('noSuchScript.ts', home.createRun(shortConfig))
    expect(ending.kind).toBe('crashed')
    expect(ending.stderrTail).toContain('Cannot find module')
  })

  test('of an error says which, and it is in the log', async () => {
    const run = home.createRun({ ...shortConfig, model: '/nowhere' })
    const ending = await home.supervise().start(run, fromStart)
    expect(ending).toMatchObject({ kind: 'failed', error: { code: 'file/unreadable' }, stderrTail: null })
    expect(historyOf(run, 'error')).toMatchObject([{ code: 'file/unreadable' }])
    expect(summarizeRun(run).status).toBe('failed')
  })
})
