/**
 * Runs that TRL trains, in earnest, in two processes on CPUs, where Python with it is at hand: `python3`, or the program named
 * by TURNWISE_PYTHON; scripts/python/setup makes one. Elsewhere these tests are passed over, by name.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { TrajectorySample } from '#shared/events.ts'
import { unpackFloats, unpackInts } from '#shared/packedArray.ts'
import { parseRunConfig, type RunConfig } from '#shared/runConfig.ts'
import { scoreRewards } from '#rl/trajectoryRewards.ts'
import { reviewEngine } from '#host/engines/engineCode.ts'
import { allowPython, consentsFile } from '#host/python/consent.ts'
import { resolveRewards } from '#host/rewards/resolveRewards.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { createHome, historyOf, starterConfig, stepsOf, until } from '../runs/runFixture.ts'
import { childProcessStarter } from '#host/processes/childProcess.ts'
import { interpreter } from '../python/interpreter.ts'

/** Looked up, not imported: that alone takes seconds. */
const lookUp =
  'import importlib.util as u; assert all(u.find_spec(name) for name in ("trl", "peft", "datasets", "accelerate"))'
const hasTrl = spawnSync(interpreter, ['-c', lookUp]).status === 0
const home = createHome()
afterAll(() => home[Symbol.dispose]())

const consents = consentsFile(home.directory)
const supervise = () => home.supervise({ consents, startWorker: childProcessStarter() })

function createRun(changes: object = {}) {
  const config = parseRunConfig({
    ...starterConfig,
    optimization: { learningRate: 0.005, minibatchSize: 4 },
    rollout: { promptsPerStep: 4, groupSize: 4, maxNewTokens: 6 },
    shownTrajectories: 8,
    engine: { kind: 'trl', python: interpreter, processes: 2 },
    ...changes,
  })
  allowPython(reviewEngine(config, home.directory), consents)
  return { config, run: home.createRun(config) }
}

const samplesOf = (run: Parameters<typeof historyOf>[0], source: string): TrajectorySample[] =>
  historyOf(run, 'samples')
    .filter((event) => event['source'] === source)
    .flatMap((event) => event['samples'] as TrajectorySample[])

/** Of the trainer that runs in this folder, with this variable. */
function processesIn(folder: string, variable: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        return (
          readlinkSync(`/proc/${pid}/cwd`) === folder &&
          environment.includes(variable) &&
          words.includes('train.py')
        )
      } catch {
        return false
      }
    })
    .map(Number)
}

test.skipIf(!hasTrl)(
  'TRL trains a run that is paused, stopped and resumed, with our rewards (skipped without Python with trl)',
  async () => {
    const { config, run } = createRun({
      steps: 6,
      evaluation: { every: 0, rows: 4 },
      checkpoints: { every: 3 },
    })
    const supervisor = supervise()
    const first = supervisor.start(run, { resumeFrom: null })
    await until(() => stepsOf(run).length >= 1)
    supervisor.pause(run.id)
    await until(() => supervisor.status(run.id)?.activity === 'paused')
    const paused = resolveResume(home.directory, run.id).checkpoint?.step ?? 0
    expect(stepsOf(run)).toHaveLength(paused)
    supervisor.unpause(run.id)
    await until(() => stepsOf(run).length > paused)
    await supervisor.stop(run.id)
    expect(await first).toMatchObject({ kind: 'stopped', error: null })
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

function expectArrays({ arrays, tokens }: TrajectorySample): void {
  const length = unpackInts(arrays?.ids ?? '').length
  expect(unpackFloats(arrays?.logprobs ?? '')).toHaveLength(length - 1)
  expect(unpackFloats(arrays?.actionMask ?? '').reduce((sum, each) => sum + each, 0)).toBe(tokens)
}

/** That the samples earned what our own scoring gives them. */
async function expectOwnRewards(
  samples: ReturnType<typeof samplesOf>,
  config: RunConfig,
  run: { readonly directory: string },
): Promise<void> {
  const { train: trainFile } = config.data
  if (typeof trainFile !== 'string') throw new Error('Expected rows in a file.')
  await using rewards = await resolveRewards(config, run.directory)
  const rows = readFileSync(trainFile, 'utf8').split('\n')
  const own = await scoreRewards(
    rewards.specs,
    samples.map(({ prompt, completion, row }) => ({
      ...{ prompt, completion, step: 0 },
      row: JSON.parse(rows[row] ?? '') as Record<string, unknown>,
    })),
    'null',
  )
  expect(samples.map(({ parts, reward }) => ({ parts, total: reward }))).toEqual(
    own.map(({ parts, total }) => ({ parts, total })),
  )
}

test.skipIf(!hasTrl || process.platform !== 'linux').each(['python', 'accelerate'])(
  'A killed process of TRL, started by %s, ends the run in a sentence, its history whole (skipped without Python with trl, and off Linux)',
  async (launcher) => {
    const { run } = createRun({
      ...{ steps: 1000, evaluation: { every: 0, rows: 2 }, checkpoints: { every: 2 } },
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
