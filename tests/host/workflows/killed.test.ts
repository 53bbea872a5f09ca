/** A run with a workflow of several turns that is killed while its episodes are open. */
import { setTimeout as wait } from 'node:timers/promises'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import type { RunFolder } from '#host/workFolder/runFolder.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { casesOf, isLong, isWhole, wholeTitle } from '../../sweeps.ts'
import {
  createHome,
  historyOf,
  learnedBy,
  starterConfig,
  startKilled,
  stepsOf,
  tensorsOf,
} from '../runs/runFixture.ts'

const home = createHome(startKilled)
afterAll(() => home[Symbol.dispose]())

/** With steps of which a checkpoint is kept every four. */
const steps = casesOf(8, 12)

const config = {
  ...starterConfig,
  rollout: {
    ...starterConfig.rollout,
    workflow: {
      function: path.join(resourcesDirectory, 'workflows', 'self-correction.ts'),
      settings: { attempts: 3, feedback: 'Again' },
    },
  },
  steps,
  shownTrajectories: 8,
  device: { threads: 2 },
}

/** Trains from the last checkpoint on; ends by itself, or is killed so many milliseconds after a step. */
async function train(run: RunFolder, kill: { step: number; afterMs: number } | null): Promise<string> {
  const { checkpoint } = resolveResume(home.directory, run.id)
  let isPlanned = false
  const supervisor = home.supervise({
    onGrown: () => {
      const step = historyOf(run, 'step').at(-1)?.['step']
      if (kill === null || isPlanned || step !== kill.step) return
      isPlanned = true
      void wait(kill.afterMs).then(() => supervisor.status(run.id) !== null && void supervisor.kill(run.id))
    },
  })
  return (await supervisor.start(run, { resumeFrom: checkpoint?.directory ?? null })).kind
}

// In every run a run without a workflow is killed (runs/killed.test.ts), and one of agents.
test.runIf(isWhole)(wholeTitle('ends with the same bytes as one never killed'), async () => {
  const undisturbed = home.createRun(config)
  expect(await train(undisturbed, null)).toBe('finished')
  const rollout = (historyOf(undisturbed, 'step')[5]!['metrics'] as Record<string, number>)['time/rollout']!
  const run = home.createRun(config)
  for (const [step, share] of [
    [2, 0.1],
    [6, 0.6],
    ...(isLong
      ? ([
          [7, 0.9],
          [9, 0.3],
        ] as const)
      : []),
  ] as const)
    expect(await train(run, { step, afterMs: 1000 * rollout * share })).toBe('killed')
  expect(await train(run, null)).toBe('finished')
  expect(stepsOf(run)).toEqual(Array.from({ length: steps }, (_, i) => i + 1))
  expect(learnedBy(run)).toEqual(learnedBy(undisturbed))
  expect(tensorsOf(run, steps)).toEqual(tensorsOf(undisturbed, steps))
  const turns = historyOf(run, 'step').map(
    ({ metrics }) => (metrics as Record<string, number>)['logged/attempts'],
  )
  expect(Math.max(...turns.map((each) => each ?? 0))).toBeGreaterThan(1)
})
