import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listCheckpoints } from '#host/models/checkpoints.ts'
import { runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import {
  checkpointsOf,
  createHome,
  historyOf,
  learnedBy,
  starterConfig,
  stepsOf,
  tensorsOf,
} from '../runs/runFixture.ts'
import { kindsOf } from './wandbRecords.ts'

const home = createHome()
const config = { ...starterConfig, steps: 6, checkpoints: { every: 2, keepLast: 9 } }
let finished: RunFolder

beforeAll(async () => {
  finished = home.createRun(config)
  expect(await train(finished, null)).toMatchObject({ kind: 'finished' })
})

afterAll(() => {
  home[Symbol.dispose]()
})

const train = (run: RunFolder, resumeFrom: string | null) => home.supervise().start(run, { resumeFrom })

/** The finished run once more, to be harmed. */
function copyOfFinished(): RunFolder {
  const run = home.createRun(config)
  for (const name of ['checkpoints', 'events.jsonl']) {
    cpSync(path.join(finished.directory, name), path.join(run.directory, name), { recursive: true })
  }
  return run
}

const checkpointAt = (run: RunFolder, step: number): string =>
  listCheckpoints(run.directory).find((entry) => entry.step === step)?.directory ?? ''

describe('a resume', () => {
  test('from an earlier checkpoint gives up what came after it, checkpoints too', async () => {
    const run = copyOfFinished()
    expect(await train(run, checkpointAt(run, 2))).toMatchObject({ kind: 'finished' })
    expect(stepsOf(run)).toEqual([1, 2, 3, 4, 5, 6])
    expect(historyOf(run, 'checkpoint-saved').map(({ step }) => step)).toEqual([2, 4, 6])
    expect(learnedBy(run)).toEqual(learnedBy(finished))
    expect(tensorsOf(run, 6)).toEqual(tensorsOf(finished, 6))
  })

  test('passes over a damaged checkpoint, says so, and ends with the same bytes', async () => {
    const run = copyOfFinished()
    rmSync(checkpointAt(run, 6), { recursive: true })
    const file = path.join(checkpointAt(run, 4), 'optimizer.safetensors')
    const bytes = readFileSync(file)
    bytes[bytes.length - 9]! ^= 1
    writeFileSync(file, bytes)
    const { checkpoint } = resolveResume(home.directory, run.id)
    expect(checkpoint?.step).toBe(2)
    expect(await train(run, checkpoint?.directory ?? null)).toMatchObject({ kind: 'finished' })
    const [warning] = historyOf(run, 'warning')
    expect(warning?.['message']).toContain('optimizer.safetensors has changed since it was written')
    expect(learnedBy(run)).toEqual(learnedBy(finished))
    expect(tensorsOf(run, 6)).toEqual(tensorsOf(finished, 6))
  })

  test('goes on in the files for other programs', async () => {
    const run = home.createRun({ ...config, tensorboard: true, wandb: true })
    for (const name of ['checkpoints', 'events.jsonl']) {
      cpSync(path.join(finished.directory, name), path.join(run.directory, name), { recursive: true })
    }
    expect(await train(run, checkpointAt(run, 2))).toMatchObject({ kind: 'finished' })
    const { tensorboard, wandb } = runPaths(run.directory)
    expect(readdirSync(tensorboard)).toHaveLength(1)
    const offline = readdirSync(wandb).map((name) => path.join(wandb, name))
    expect(offline).toHaveLength(1)
    const tables = readdirSync(path.join(offline[0] ?? '', 'files', 'media', 'table'))
    // One of each step, also of those before the resume; the evaluations were of steps 0 and 6.
    expect(tables.map((name) => Number(name.split('_')[0])).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 6])
    const kinds = kindsOf(path.join(offline[0] ?? '', `run-${run.id}.wandb`))
    expect(kinds.filter((kind) => kind === 'history')).toHaveLength(7)
    expect(kinds.at(-1)).toBe('exit')
  })

  test('knows of a checkpoint that somebody deleted', async () => {
    const run = copyOfFinished()
    const [gone, last] = [checkpointAt(run, 2), checkpointAt(run, 4)]
    rmSync(gone, { recursive: true })
    expect(await train(run, last)).toMatchObject({ kind: 'finished' })
    const removed = historyOf(run, 'checkpoints-removed').flatMap(
      ({ directories }) => directories as string[],
    )
    expect(removed.map((name) => path.basename(name))).toEqual(['step-000002'])
    expect(checkpointsOf(run)).toEqual(['step-000004', 'step-000006'])
  })

  test('tells when its data are not what they were', async () => {
    const rows = path.join(home.directory, 'rows.jsonl')
    writeFileSync(rows, readFileSync(starterConfig.data.train))
    const run = home.createRun({ ...config, steps: 3, data: { ...config.data, train: rows } })
    const supervisor = home.supervise({
      onGrown: () => {
        if (stepsOf(run).length === 2 && supervisor.status(run.id) !== null) void supervisor.stop(run.id)
      },
    })
    await supervisor.start(run, { resumeFrom: null })
    writeFileSync(rows, `${readFileSync(rows, 'utf8')}{"prompt": "1+1=", "answer": "2"}\n`)
    const { checkpoint } = resolveResume(home.directory, run.id)
    expect(await train(run, checkpoint?.directory ?? null)).toMatchObject({ kind: 'finished' })
    expect(historyOf(run, 'manifest')).toHaveLength(1)
    expect(historyOf(run, 'warning')[0]?.['message']).toMatch(
      /^The data .*rows\.jsonl changed since this run began/,
    )
  })
})
