import { afterAll, describe, expect, test } from 'vitest'
import type { RunFolder } from '#host/workFolder/runFolder.ts'
import { RunQueue, type QueuedRun } from '#host/runs/runQueue.ts'
import type { WorkerEnding } from '#host/runs/supervisor.ts'
import { createHome, starterConfig, until } from './runFixture.ts'

const home = createHome()
afterAll(() => {
  home[Symbol.dispose]()
})

const good = { ...starterConfig, steps: 1, data: { ...starterConfig.data, heldOut: null } }
const bad = { ...good, model: '/nowhere' }

const queued = (run: RunFolder, continueOnError: boolean): QueuedRun => ({
  ...run,
  resumeFrom: null,
  continueOnError,
})

/** A list of runs and what becomes of them, in order. */
function queueOf(list: QueuedRun[]) {
  const told: string[] = []
  let [living, most] = [0, 0]
  const name = (runId: string) => names.get(runId) ?? ''
  const names = new Map(list.map(({ id }, i) => [id, String(i)]))
  const supervisor = home.supervise({
    onChanged: ({ runId, activity }) => {
      if (activity !== 'starting') return
      told.push(`start ${name(runId)}`)
      most = Math.max(most, ++living)
    },
    onEnded: ({ runId, kind }: WorkerEnding) => {
      living--
      told.push(`${kind} ${name(runId)}`)
    },
  })
  const queue = new RunQueue({
    supervisor,
    takeNext: () => list.shift() ?? null,
    onHalted: (runId) => told.push(runId === null ? 'goes on' : `halted by ${name(runId)}`),
  })
  return { queue, told, mostAtOnce: () => most }
}

describe('the queue', () => {
  test('starts one run after the other, in order', async () => {
    const runs = [good, good].map((config) => queued(home.createRun(config), false))
    const { queue, told, mostAtOnce } = queueOf(runs)
    queue.advance()
    queue.advance()
    await until(() => told.length === 4)
    expect(told).toEqual(['start 0', 'finished 0', 'start 1', 'finished 1'])
    expect(mostAtOnce()).toBe(1)
  })

  test('passes over a failure where it may, halts at others, and goes on when told', async () => {
    const runs = [bad, bad, good].map((config, i) => queued(home.createRun(config), i === 0))
    const { queue, told } = queueOf(runs)
    queue.advance()
    await until(() => queue.haltedBy !== null)
    expect(told).toEqual(['start 0', 'failed 0', 'start 1', 'failed 1', 'halted by 1'])
    queue.advance()
    expect(runs).toHaveLength(1)
    queue.proceed()
    await until(() => told.length === 8)
    expect(told.slice(5)).toEqual(['goes on', 'start 2', 'finished 2'])
  })

  test('that is closed starts nothing', () => {
    const runs = [queued(home.createRun(good), false)]
    const { queue, told } = queueOf(runs)
    queue.close()
    queue.advance()
    expect([told, runs.length]).toEqual([[], 1])
  })
})
