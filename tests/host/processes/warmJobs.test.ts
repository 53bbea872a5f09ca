/** What a process that takes one job after another gives tests is what the product's processes give. */
import { afterAll, expect, test } from 'vitest'
import { isLastWord } from '#host/processes/hostChannel.ts'
import { jobStarter, type StartJob } from '#host/processes/job.ts'
import { createHome, learnedBy, starterConfig, tensorsOf } from '../runs/runFixture.ts'
import { startWarmJob } from './warmJobs.ts'

const home = createHome()
afterAll(() => home[Symbol.dispose]())

async function trained(startJob: StartJob, changes: object = {}) {
  const run = home.createRun({ ...starterConfig, steps: 1, device: { threads: 1 }, ...changes })
  const pids: (number | null)[] = []
  const noted: StartJob = (job, options) => {
    // Nobody else takes a process that was started with this, nor leaves one here.
    const environment = { ...options?.environment, TURNWISE_TEST_OWN: 'warmJobs' }
    const process = startJob(job, { ...options, environment })
    pids.push(process.pid)
    return process
  }
  const { kind, error } = await home.supervise({ startJob: noted }).start(run, { resumeFrom: null })
  return { run, kind, code: error?.code, pid: pids[0] }
}

test('runs in one process end as each in its own does, also after one that failed', async () => {
  const cold = await trained(jobStarter())
  const failed = await trained(startWarmJob, { model: home.directory })
  const [first, second] = [await trained(startWarmJob), await trained(startWarmJob)]
  expect(failed).toMatchObject({ kind: 'failed', code: 'model/invalid' })
  expect([first.pid, second.pid]).toEqual([failed.pid, failed.pid])
  expect(cold.pid).not.toBe(first.pid)
  for (const { run } of [first, second]) {
    expect(learnedBy(run)).toEqual(learnedBy(cold.run))
    expect(tensorsOf(run, 1)).toEqual(tensorsOf(cold.run, 1))
  }
})

test('a process that is killed while its last word is under way is left to nobody', async () => {
  const environment = { TURNWISE_TEST_OWN: 'killed' }
  const job = { name: 'precision check' } as const
  const killed = startWarmJob(job, { environment })
  killed.onMessage((message) => {
    if (isLastWord(message)) killed.kill()
  })
  killed.send({ type: 'start', input: { directory: home.directory, precisions: [] } })
  // The next is asked for as soon as that word was heard, before the system tells of the end.
  const { promise, resolve } = Promise.withResolvers<number | null>()
  killed.onMessage((message) => {
    if (isLastWord(message)) queueMicrotask(() => resolve(startWarmJob(job, { environment }).pid))
  })
  expect(await promise).not.toBe(killed.pid)
  expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' })
})
