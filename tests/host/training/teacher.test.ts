/** A run that learns from another model on this machine, on the real engine. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { createHome, historyOf, learnedBy, starterConfig, tensorsOf } from '../runs/runFixture.ts'
import { writePadded, writeShort, writeStudent } from './student.ts'

const home = createHome()
const student = path.join(home.directory, 'student')

const configWith = (teacher: string, settings = {}) =>
  parseRunConfig({
    ...starterConfig,
    model: student,
    reference: { model: teacher },
    algorithm: { id: 'distillation', settings },
    rewards: [],
    steps: 4,
    evaluation: { every: 0 },
    checkpoints: { every: 2, keepLast: 20 },
    rollout: { promptsPerStep: 16, maxNewTokens: 6 },
    device: { threads: 1 },
  })

async function trainRun({ directory }: RunFolder, resumeFrom: string | null = null) {
  const request = { runDirectory: directory, cacheDirectory: path.join(home.directory, 'cache'), resumeFrom }
  for await (const _ of runTraining(request, createControl()));
}

const divergencesOf = (run: RunFolder) =>
  historyOf(run, 'step').map(({ metrics }) => (metrics as Record<string, number>)['kl']!)

test('GKD draws the distributions together, and resumes exactly', async () => {
  using folder = createHome()
  const model = path.join(folder.directory, 'student')
  await writeStudent(model)
  const settings = { compares: 'top-k', topK: 16 }
  const run = folder.createRun({ ...configWith(starterConfig.model, settings), model })
  await trainRun(run)
  const metrics = historyOf(run, 'step').map((step) => step.metrics as Record<string, number>)
  expect(metrics[0]!['teacher_coverage']).toBeGreaterThan(0.5)
  expect(metrics.at(-1)!['divergence']).toBeLessThan(metrics[0]!['divergence']!)
  const expected = [learnedBy(run), tensorsOf(run, 4)]
  await trainRun(run, path.join(runPaths(run.directory).checkpoints, 'step-000002'))
  expect([learnedBy(run), tensorsOf(run, 4)]).toEqual(expected)
})

test('rows that pad the table of a teacher count as nothing', async () => {
  using folder = createHome()
  const [model, padded] = ['student', 'padded'].map((name) => path.join(folder.directory, name))
  await writeStudent(model!)
  await writePadded(padded!, 300)
  const settings = { compares: 'top-k', topK: 1024 }
  const run = folder.createRun({ ...configWith(padded!, settings), model, steps: 1 })
  await trainRun(run)
  const [metrics] = historyOf(run, 'step').map((step) => step.metrics as Record<string, number>)
  expect(metrics!['divergence']).toBeGreaterThan(0)
  expect(metrics!['divergence']).toBeLessThan(1)
  expect(metrics!['teacher_coverage']).toBeLessThan(1) // the rest has what they are given
})

/** Three rows; the last one is too long for 32 tokens together with a completion. */
function writeRows(folder: string): string {
  const file = path.join(folder, 'rows.jsonl')
  const prompts = ['Largest of 4 0 1 0', 'Please sort 6 6 4', `Please sort ${'6 4 '.repeat(12)}`]
  writeFileSync(file, prompts.map((prompt) => `${JSON.stringify({ prompt, answer: '4' })}\n`).join(''))
  return file
}

test('a teacher that reads less leaves out rows where it is read, and there alone', async () => {
  using folder = createHome()
  const short = path.join(folder.directory, 'short')
  writeShort(short, 32)
  const { data, rewards } = starterConfig
  const run = folder.createRun({
    ...configWith(short),
    model: starterConfig.model,
    data: { ...data, train: writeRows(folder.directory), heldOut: null },
    rewards,
    rollout: { promptsPerStep: 1, groupSize: 2, maxNewTokens: 6 },
    optimization: {},
    steps: null,
    shownTrajectories: 2,
    stages: [{ algorithm: { id: 'grpo', settings: { klCoefficient: 0 } } }, {}],
  })
  await trainRun(run)
  const [schedule] = historyOf(run, 'schedule')
  expect(schedule).toMatchObject({ stages: [{ lastStep: 3 }, { firstStep: 3, lastStep: 5 }] })
  expect(historyOf(run, 'warning')).toEqual([
    expect.objectContaining({
      step: 3,
      message: expect.stringContaining(
        '1 row was left out because prompt and completion do not fit in the teacher short’s context together.',
      ) as string,
    }),
  ])
  const rows = historyOf(run, 'samples').map(({ samples }) => (samples as { row: number }[])[0]?.row)
  expect([rows.slice(0, 3).toSorted(), rows.slice(3).toSorted()]).toEqual([
    [0, 1, 2],
    [0, 1],
  ])
})

test('a teacher that no stage reads is not opened', async () => {
  using folder = createHome()
  const { rewards, rollout } = starterConfig
  const run = folder.createRun({
    ...configWith(path.join(folder.directory, 'gone')),
    model: starterConfig.model,
    algorithm: { id: 'grpo', settings: { klCoefficient: 0 } },
    rewards,
    rollout,
    steps: 1,
  })
  await trainRun(run)
  expect(historyOf(run, 'step')).toHaveLength(1)
})

test('completions are measured by the teacher, without a reward; the run resumes exactly', async () => {
  using _ = home
  await writeStudent(student)
  const run = home.createRun(configWith(starterConfig.model))
  await trainRun(run)
  expect(divergencesOf(run)[0]).toBeGreaterThan(0.1)
  const expected = [learnedBy(run), tensorsOf(run, 4)]
  await trainRun(run, path.join(runPaths(run.directory).checkpoints, 'step-000002'))
  expect([learnedBy(run), tensorsOf(run, 4)]).toEqual(expected)

  const itself = home.createRun(configWith(student))
  await trainRun(itself)
  for (const divergence of divergencesOf(itself)) expect(Math.abs(divergence)).toBeLessThan(1e-4)

  // Two tokens have each other's numbers.
  const tokenizer = path.join(student, 'tokenizer.json')
  const swapped = readFileSync(tokenizer, 'utf8')
    .replace(/"argest": ?300/, '"argest": 302')
    .replace(/"an": ?302/, '"an": 300')
  writeFileSync(tokenizer, swapped)
  const other = home.createRun(configWith(starterConfig.model))
  await expect(trainRun(other)).rejects.toThrow('has another vocabulary')
})
