import { setTimeout as wait } from 'node:timers/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { randomStream, SequentialRandom } from '#shared/random.ts'
import { checkpointProblem, listCheckpoints } from '#host/models/checkpoints.ts'
import type { RunFolder } from '#host/workFolder/runFolder.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import type { WorkerEnding } from '#host/runs/supervisor.ts'
import { isLong, isWhole } from '../../sweeps.ts'
import type { KillPlan } from './killedProcess.ts'
import {
  checkpointsOf,
  createHome,
  historyOf,
  learnedBy,
  starterConfig,
  startKilled,
  stepsOf,
  tensorsOf,
} from './runFixture.ts'

const home = createHome(startKilled)
const steps = 18
/** Micro-batches are then learned from at the same time, on any machine. */
const twoThreads = { ...starterConfig, steps, device: { threads: 2 } }
let undisturbed: RunFolder
let killed: RunFolder

afterAll(() => {
  home[Symbol.dispose]()
})

/** Trains from the last whole checkpoint on until the process ends; `plan` makes it end early. */
async function train(run: RunFolder, plan: KillPlan | null, meddle?: Meddle): Promise<WorkerEnding> {
  const { checkpoint } = resolveResume(home.directory, run.id)
  const supervisor = home.supervise({
    onGrown: () => meddle?.(run, () => supervisor.status(run.id) !== null && void supervisor.kill(run.id)),
  })
  process.env['TURNWISE_TEST_KILL'] = plan === null ? '' : JSON.stringify(plan)
  const ended = supervisor.start(run, { resumeFrom: checkpoint?.directory ?? null })
  delete process.env['TURNWISE_TEST_KILL']
  return ended
}

type Meddle = (run: RunFolder, kill: () => void) => void

beforeAll(async () => {
  undisturbed = home.createRun(twoThreads)
  expect(await train(undisturbed, null)).toMatchObject({ kind: 'finished' })
})

/** Seconds of each part of a step, as the undisturbed run measured them. */
function typicalTimes(): Record<'rollout' | 'score' | 'update', number> {
  const medianOf = (name: string) => {
    const values = historyOf(undisturbed, 'step').map(
      ({ metrics }) => (metrics as Record<string, number>)[name]!,
    )
    return values.toSorted((a, b) => a - b)[values.length >> 1]!
  }
  return { rollout: medianOf('time/rollout'), score: medianOf('time/score'), update: medianOf('time/update') }
}

/** Kills so many milliseconds after a step was written down. */
function killAfterStep(step: number, milliseconds: number): Meddle {
  let isPlanned = false
  return (run, kill) => {
    if (isPlanned || (historyOf(run, 'step').at(-1)?.['step'] ?? 0) !== step) return
    isPlanned = true
    void wait(milliseconds).then(kill)
  }
}

/** Moments of each kind: in time, within a part of the step that follows the given one; or at a file operation. */
function moments(random: SequentialRandom): { name: string; plan: KillPlan | null; meddle?: Meddle }[] {
  const times = typicalTimes()
  const within = (from: number, length: number) => 1000 * (from + length * (0.2 + 0.6 * random.uniform()))
  const timed = (name: string, step: number, from: number, length: number) => ({
    name: `${name} after step ${step}`,
    plan: null,
    meddle: killAfterStep(step, within(from, length)),
  })
  const planned = (
    operation: KillPlan['operation'],
    place: string,
    count: number,
    moment: KillPlan['moment'],
  ) => ({
    name: `${moment} ${operation} ${count} of ${place}`,
    plan: { operation, path: place, count, moment },
  })
  const { rollout, score, update } = times
  const all = [
    timed('rollout', 2, 0, rollout),
    planned('write', 'events.jsonl', 12 + random.integer(6), 'half'),
    planned('write', `checkpoints${path.sep}`, 2 + random.integer(6), 'half'),
    timed('scoring', 6 + random.integer(2), rollout, score),
    planned('rename', 'step-000012', 1, 'before'),
    planned('rename', 'step-000012', 1, 'after'),
    timed('update', 14, rollout + score, update),
    planned('remove', 'step-000008.removed', 2, 'before'),
    planned('write', 'events.jsonl', 1 + random.integer(3), 'half'),
  ]
  const left = isLong ? [] : isWhole ? later : [...later, ...ofTheWhole]
  return all.filter((_, i) => !left.includes(i))
}

/** Places in that list for the long run only: scoring, after the rename, and the log once more. */
const later = [3, 5, 8]

/** And for the whole run: a rollout, the log, and a file that is taken away. */
const ofTheWhole = [0, 1, 7]

describe('a run that is killed again and again', () => {
  test('ends with the same bytes as one never killed, and says everything once', async () => {
    const run = (killed = home.createRun(twoThreads))
    for (const { name, plan, meddle } of moments(new SequentialRandom(randomStream(2026, 11)))) {
      const ending = await train(run, plan, meddle)
      expect([name, ending.kind]).toEqual([name, plan === null ? 'killed' : 'crashed'])
      for (const { directory } of listCheckpoints(run.directory))
        expect(checkpointProblem(directory)).toBeNull()
    }
    expect(await train(run, null)).toMatchObject({ kind: 'finished', error: null })

    expect(stepsOf(run)).toEqual(Array.from({ length: steps }, (_, i) => i + 1))
    expect(learnedBy(run)).toEqual(learnedBy(undisturbed))
    expect(tensorsOf(run, steps)).toEqual(tensorsOf(undisturbed, steps))
    expect(Object.keys(tensorsOf(run, steps))).toHaveLength(3)
    const savedBy = (who: RunFolder) => historyOf(who, 'checkpoint-saved').map(({ step }) => step)
    expect(savedBy(run)).toEqual(savedBy(undisturbed))
    expect(historyOf(run, 'manifest')).toHaveLength(1)
    expect(historyOf(run, 'warning')).toEqual([])
  })

  test('leaves nothing half-written behind, and the history knows what is there', () => {
    for (const run of [undisturbed, killed]) {
      const gone = historyOf(run, 'checkpoints-removed').flatMap(({ directories }) => directories as string[])
      const saved = historyOf(run, 'checkpoint-saved').map(({ directory }) => directory as string)
      const left = saved.filter((directory) => !gone.includes(directory)).map((name) => path.basename(name))
      expect(checkpointsOf(run)).toEqual(left)
      expect(left.length).toBeLessThan(saved.length)
    }
  })
})
