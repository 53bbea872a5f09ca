/**
 * Runs that TRL trains, in earnest, in two processes on CPUs, where Python with it is at hand: `python3`, or the program named
 * by TURNWISE_PYTHON; scripts/python/setup makes one. Elsewhere these tests are passed over, by name.
 */
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { resolveResume } from '#host/runs/runTarget.ts'
import { historyOf, stepsOf, until } from '../runs/runFixture.ts'
import { interpreter } from '../python/interpreter.ts'
import {
  engineRuns,
  expectArrays,
  expectOwnRewards,
  pausedAndStopped,
  processesIn,
  samplesOf,
} from './engineRuns.ts'

/** Looked up, not imported: that alone takes seconds. */
const lookUp =
  'import importlib.util as u; assert all(u.find_spec(name) for name in ("trl", "peft", "datasets", "accelerate"))'
const hasTrl = spawnSync(interpreter, ['-c', lookUp]).status === 0
const runs = engineRuns({ kind: 'trl', python: interpreter, processes: 2 })
afterAll(() => runs.home[Symbol.dispose]())
const { home, supervise, createRun } = runs

test.skipIf(!hasTrl)(
  'TRL trains a run that is paused, stopped and resumed, with our rewards (skipped without Python with trl)',
  async () => {
    const { config, run, paused } = await pausedAndStopped(runs)
    const { checkpoint } = resolveResume(home.directory, run.id)
    expect(checkpoint?.step).toBeGreaterThan(paused)
    expect(await supervise().start(run, { resumeFrom: checkpoint?.directory ?? null })).toMatchObject({
      kind: 'finished',
    })
    expect(stepsOf(run)).toEqual([1, 2, 3, 4, 5, 6])
    expect(historyOf(run, 'engine')).toHaveLength(3)
    expect(historyOf(run, 'engine')[0]).toMatchObject({ processes: 2, device: 'cpu' })

    const samples = samplesOf(run, 'rollout')
    expect(samples).toHaveLength(6 * 8)
    await expectOwnRewards(samples, config, run)
    expectArrays(samples[0]!)
    // The same model.
    const [before, after] = historyOf(run, 'evaluation').map(
      ({ metrics }) => metrics as Record<string, number>,
    )
    expect(before).toHaveProperty('eval_reward')
    expect(after?.['sampling/engine_logp_difference/max']).toBeLessThan(1e-3)
  },
  900_000,
)

test.skipIf(!hasTrl || process.platform !== 'linux').each(['python', 'accelerate'])(
  'A killed process of TRL, started by %s, ends the run in a sentence, its history whole (skipped without Python with trl, and off Linux)',
  async (launcher) => {
    const { run } = createRun({
      steps: 1000,
      evaluation: { every: 0, rows: 2 },
      checkpoints: { every: 2 },
      engine: { kind: 'trl', python: interpreter, processes: 2, launcher },
    })
    const ended = supervise().start(run, { resumeFrom: null })
    await until(() => historyOf(run, 'checkpoint-saved').length > 0)
    const [rank] = processesIn(path.join(run.directory, 'engine', 'trl'), 'RANK=1')
    expect(rank).toBeDefined()
    process.kill(rank ?? 0, 'SIGKILL')
    const { kind, error, stderrTail } = await ended
    expect(kind).toBe('failed')
    expect(error).toMatchObject({
      code: 'engine/failed',
      message: expect.stringContaining('ended by SIGKILL') as string,
    })
    expect(stderrTail).not.toBeNull()
    const steps = stepsOf(run)
    expect(steps).toEqual(steps.map((_, i) => i + 1))
    expect(resolveResume(home.directory, run.id).checkpoint?.step).toBeGreaterThanOrEqual(2)
    await until(() => processesIn(path.join(run.directory, 'engine', 'trl'), 'RANK=0').length === 0)
  },
  900_000,
)
