import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import type { RunEvent } from '#shared/events.ts'
import { loadCheckpoint } from '#host/models/checkpoints.ts'
import { readEvents } from '#host/workFolder/eventLog.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { createRunFolder, runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const root = temporaryFolder()
const inside = (name: string) => path.join(root, name)
const config = {
  model: inside('model'),
  data: { train: inside('rows.csv') },
  rewards: [{ function: 'length-penalty' }],
  adapter: { rank: 2 },
  rollout: { promptsPerStep: 1, groupSize: 2, maxNewTokens: 4 },
  optimization: { learningRate: 0.02 },
  checkpoints: { every: 1, keepLast: 10 },
  device: { threads: 1 },
  steps: 4,
}

beforeAll(async () => {
  await writeRandomModel(inside('model'), modelShapes['tiny-llama'], 1, 'F32')
  writeFileSync(inside('rows.csv'), 'prompt,answer\n1+1=,2\n2+2=,4\n')
})

const newRun = (checkpoints: object = {}) =>
  createRunFolder(root, { ...config, checkpoints: { ...config.checkpoints, ...checkpoints } })

async function trainRun({ directory }: RunFolder, resumeFrom: string | null = null): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  const request = { runDirectory: directory, cacheDirectory: inside('cache'), resumeFrom }
  for await (const event of runTraining(request, createControl())) events.push(event)
  return events
}

const checkpointOf = ({ directory }: RunFolder, step: number) =>
  path.join(runPaths(directory).checkpoints, `step-00000${step}`)
const namesOf = ({ directory }: RunFolder) => readdirSync(runPaths(directory).checkpoints).sort()
const stepsOf = (events: readonly RunEvent[]) =>
  events.filter(({ type }) => type === 'step').map((event) => 'step' in event && event.step)
const messagesOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'warning' ? [event.message] : []))
const resume = (run: RunFolder) => trainRun(run, resolveResume(root, run.id).checkpoint?.directory ?? null)

test('after damage the run goes on from the last whole checkpoint, says so, and ends with the same bytes', async () => {
  const run = newRun()
  await trainRun(run)
  const expected = loadCheckpoint(checkpointOf(run, 4))
  const file = path.join(checkpointOf(run, 3), 'optimizer.safetensors')
  const bytes = readFileSync(file)
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 4
  writeFileSync(file, bytes)
  rmSync(path.join(checkpointOf(run, 4), 'state.json'))

  const events = await resume(run)
  expect(stepsOf(events)).toEqual([3, 4])
  expect(messagesOf(events)).toEqual([
    expect.stringMatching(
      /^The checkpoint of step 3 cannot be used.* continues from step 2\..*optimizer\.safetensors/,
    ),
    expect.stringMatching(
      /^The checkpoint of step 4 cannot be used.* continues from step 2\..*no state\.json/,
    ),
  ])
  const { actor, reference, optimizer } = loadCheckpoint(checkpointOf(run, 4))
  expect({ actor, reference, optimizer }).toEqual({
    actor: expected.actor,
    reference: expected.reference,
    optimizer: expected.optimizer,
  })
  expect(namesOf(run)).toEqual([
    ...['step-000001', 'step-000002', 'step-000003', 'step-000003.damaged'],
    ...['step-000004', 'step-000004.damaged'],
  ])
})

test('going back to an earlier checkpoint leaves one history', async () => {
  const run = newRun()
  await trainRun(run)
  await trainRun(run, checkpointOf(run, 1))
  const saved = readEvents(runPaths(run.directory).events, ['checkpoint-saved'])
  expect(saved.map((event) => event['step'])).toEqual([1, 2, 3, 4])
  const { events } = loadCheckpoint(checkpointOf(run, 4))
  expect(events).toBeLessThan(readEvents(runPaths(run.directory).events).length)
})

test('checkpoints say how large they are, and the history which were removed', async () => {
  const run = newRun({ keepLast: 1, keepBest: 0 })
  const events = await trainRun(run)
  const sizes = events.flatMap((event) => (event.type === 'checkpoint-saved' ? [event.sizeBytes] : []))
  expect(sizes.length).toBe(4)
  expect(Math.min(...sizes)).toBeGreaterThan(10_000)
  const removed = events.flatMap((event) => (event.type === 'checkpoints-removed' ? event.directories : []))
  expect(removed).toEqual([1, 2, 3].map((step) => checkpointOf(run, step)))
  expect(namesOf(run)).toEqual(['step-000004'])
})

test('with a copy of the model in it, a run goes on when the model is gone', async () => {
  const run = newRun({ loraOnly: false, keepLast: 1, keepBest: 0 })
  await trainRun(run)
  const expected = loadCheckpoint(checkpointOf(run, 4)).actor
  const early = newRun({ loraOnly: false, keepLast: 1, keepBest: 0 })
  await trainUntil(early, 2)
  renameSync(inside('model'), inside('model-away'))
  try {
    expect(stepsOf(await resume(early))).toEqual([3, 4])
  } finally {
    renameSync(inside('model-away'), inside('model'))
  }
  expect(loadCheckpoint(checkpointOf(early, 4)).actor).toEqual(expected)
  expect(namesOf(early)).toEqual(['step-000002', 'step-000004'])
})

test('without the optimizer a resume says that it is not exact', async () => {
  const run = newRun({ saveOptimizer: false })
  await trainUntil(run, 2)
  const events = await resume(run)
  expect(stepsOf(events)).toEqual([3, 4])
  expect(messagesOf(events)).toEqual([expect.stringContaining('saved without the optimizer')])
})

async function trainUntil({ directory }: RunFolder, step: number): Promise<void> {
  const control = createControl()
  const request = { runDirectory: directory, cacheDirectory: inside('cache'), resumeFrom: null }
  for await (const event of runTraining(request, control)) {
    if (event.type === 'step' && event.step === step) control.stop()
  }
}
