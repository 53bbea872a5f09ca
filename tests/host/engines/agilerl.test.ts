/**
 * Runs that AgileRL trains, in earnest, on CPUs, where Python with it is at hand: the program named by TURNWISE_PYTHON_AGILERL, or
 * `python3`; `scripts/python/setup FOLDER agilerl` makes one. Elsewhere these tests are passed over, by name.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readAdapter } from '#host/adapters/peft.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { historyOf, stepsOf, until } from '../runs/runFixture.ts'
import {
  engineRuns,
  expectArrays,
  expectOwnRewards,
  pausedAndStopped,
  processesIn,
  samplesOf,
} from './engineRuns.ts'

const interpreter = process.env['TURNWISE_PYTHON_AGILERL'] ?? process.env['TURNWISE_PYTHON'] ?? 'python3'
const lookUp =
  'import importlib.util as u; assert all(u.find_spec(name) for name in ("agilerl", "peft", "openenv"))'
const hasAgilerl = spawnSync(interpreter, ['-c', lookUp]).status === 0

const engine = { kind: 'agilerl', python: interpreter }
const inTwo = { ...engine, processes: 2 }
const runs = engineRuns(inTwo)
const { home, supervise, createRun } = runs
afterAll(() => home[Symbol.dispose]())

/** The one that the run would go on from. */
function lastCheckpoint(run: { readonly id: string }) {
  const { checkpoint } = resolveResume(home.directory, run.id)
  if (checkpoint === null) throw new Error('Expected a checkpoint.')
  return checkpoint
}

const metricsOf = (run: Parameters<typeof historyOf>[0], type: string) =>
  historyOf(run, type).map(({ metrics }) => metrics as Record<string, number>)

test.skipIf(!hasAgilerl).each(['python', 'accelerate'])(
  'AgileRL trains a run in two processes, started by %s, that is paused, stopped and resumed, with our rewards (skipped without Python with agilerl)',
  async (launcher) => {
    const { config, run, paused } = await pausedAndStopped(runs, { engine: { ...inTwo, launcher } })
    const { step: stopped, directory } = lastCheckpoint(run)
    expect(stopped).toBe(stepsOf(run).length)
    // What its optimizer remembers, and where each process was with its random numbers.
    for (const file of ['attributes.pt', 'actor/adapter_model.safetensors', 'rng_state_1.pth'])
      expect(existsSync(path.join(directory, 'engine', file)), file).toBe(true)
    expect(await supervise().start(run, { resumeFrom: directory })).toMatchObject({
      kind: 'finished',
    })
    expect(stepsOf(run)).toEqual([1, 2, 3, 4, 5, 6])
    expect(historyOf(run, 'engine')).toMatchObject([
      { step: 0, processes: 2, device: 'cpu' },
      { step: paused },
      { step: stopped, processes: 2, device: 'cpu' },
    ])

    const samples = samplesOf(run, 'rollout')
    expect(samples).toHaveLength(6 * 8)
    await expectOwnRewards(samples, config, run)
    expectArrays(samples[0]!)
    expect(samples.some(({ advantage }) => (advantage ?? 0) !== 0)).toBe(true)
    expect(metricsOf(run, 'step')[0]).toMatchObject({
      reward: expect.any(Number) as number,
      loss: expect.any(Number) as number,
      grad_norm: expect.any(Number) as number,
      'completions/mean_length': expect.any(Number) as number,
    })
    // The same model.
    expect(metricsOf(run, 'evaluation').at(-1)?.['sampling/engine_logp_difference/max']).toBeLessThan(1e-3)
  },
  900_000,
)

test.skipIf(!hasAgilerl || process.platform !== 'linux').each(['python', 'accelerate'])(
  'A killed process of AgileRL, started by %s, ends the run in a sentence, its history whole (skipped without Python with agilerl, and off Linux)',
  async (launcher) => {
    const { run } = createRun({
      steps: 1000,
      evaluation: { every: 0, rows: 2 },
      checkpoints: { every: 2 },
      engine: { ...inTwo, launcher },
    })
    const ended = supervise().start(run, { resumeFrom: null })
    await until(() => historyOf(run, 'checkpoint-saved').length > 0)
    const folder = path.join(run.directory, 'engine', 'agilerl')
    const [rank] = processesIn(folder, 'RANK=1')
    expect(rank).toBeDefined()
    process.kill(rank ?? 0, 'SIGKILL')
    const { kind, error } = await ended
    expect(kind).toBe('failed')
    expect(error).toMatchObject({
      code: 'engine/failed',
      message: expect.stringMatching(/^AgileRL ended after step \d+ .*ended by SIGKILL/) as string,
    })
    const steps = stepsOf(run)
    expect(steps).toEqual(steps.map((_, i) => i + 1))
    expect(lastCheckpoint(run).step).toBeGreaterThanOrEqual(2)
    await until(() => processesIn(folder, 'RANK=0').length === 0)
  },
  900_000,
)

test.skipIf(!hasAgilerl).each(['gspo', 'cispo', 'ppo', 'reinforce'])(
  'AgileRL takes two steps of %s (skipped without Python with agilerl)',
  async (id) => {
    const { run } = createRun({ steps: 2, evaluation: { every: 0, rows: 2 }, algorithm: { id }, engine })
    expect(await supervise().start(run, { resumeFrom: null })).toMatchObject({ kind: 'finished' })
    expect(stepsOf(run)).toEqual([1, 2])
    expect(metricsOf(run, 'evaluation').at(-1)?.['sampling/engine_logp_difference/max']).toBeLessThan(1e-3)
  },
  900_000,
)

test.skipIf(!hasAgilerl)(
  'AgileRL goes on from an adapter (skipped without Python with agilerl)',
  async () => {
    const optimization = { learningRate: 0.005, minibatchSize: 16 }
    const short = { steps: 1, optimization, evaluation: { every: 0, rows: 2 }, engine }
    const { run: first } = createRun(short)
    expect(await supervise().start(first, { resumeFrom: null })).toMatchObject({ kind: 'finished' })
    const { directory: initial } = lastCheckpoint(first)
    const { run } = createRun({ ...short, seed: 2, adapter: { initial } })
    expect(await supervise().start(run, { resumeFrom: null })).toMatchObject({ kind: 'finished' })
    const [before, after] = [initial, lastCheckpoint(run).directory].map(
      (directory) => new Map(readAdapter(directory).tensors.map(({ name, data }) => [name, data])),
    )
    expect(after?.size).toBe(before?.size)
    // One update of AdamW moves no number by more than the learning rate; a fresh adapter of another seed is farther away.
    const moved = [...(before ?? [])].flatMap(([name, data]) =>
      Array.from(data, (value, i) => Math.abs(value - (after?.get(name)?.[i] ?? Number.NaN))),
    )
    expect(Math.max(...moved)).toBeLessThan(0.0051)
    expect(Math.max(...moved)).toBeGreaterThan(0.001)
  },
  900_000,
)

test.skipIf(!hasAgilerl || process.platform === 'win32')(
  'A command starts AgileRL, whose steps and checkpoint come back in what it prints (skipped without Python with agilerl, and on Windows)',
  async () => {
    const { run } = createRun({
      steps: 2,
      evaluation: { every: 0, rows: 2 },
      engine: { ...engine, launcher: 'command', command: 'nice {python} {script}', results: 'output' },
    })
    expect(await supervise().start(run, { resumeFrom: null })).toMatchObject({ kind: 'finished' })
    expect(stepsOf(run)).toEqual([1, 2])
    expect(historyOf(run, 'warning')).toEqual([])
    expect(existsSync(path.join(lastCheckpoint(run).directory, 'engine', 'attributes.pt'))).toBe(true)
  },
  900_000,
)
