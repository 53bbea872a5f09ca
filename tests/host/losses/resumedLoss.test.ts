/** A run that learns with code goes on with the code it began with, and as if it had never stopped. */
import { copyFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { loadCheckpoint } from '#host/models/checkpoints.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { createHome, starterConfig } from '../runs/runFixture.ts'

test('a run resumes byte by byte although the file of its loss has changed since', async () => {
  using home = createHome()
  const file = path.join(home.directory, 'mine.ts')
  copyFileSync(path.join(import.meta.dirname, '../../../resources/losses/reinforce.ts'), file)
  const run = home.createRun(
    parseRunConfig({
      ...starterConfig,
      algorithm: { id: file, settings: { discount: 0.95 } },
      device: { threads: 1 },
      steps: 4,
      evaluation: { every: 0, rows: 1 },
      checkpoints: { every: 2, keepLast: 4 },
    }),
  )
  const at = (step: number) => path.join(runPaths(run.directory).checkpoints, `step-00000${step}`)
  const request = { runDirectory: run.directory, cacheDirectory: path.join(home.directory, 'cache') }
  for await (const _ of runTraining({ ...request, resumeFrom: null }, createControl()));
  const straight = loadCheckpoint(at(4))

  writeFileSync(file, 'export default defineLoss({ loss: ({ logp, mask }) => mean(logp, mask) })')
  for await (const _ of runTraining({ ...request, resumeFrom: at(2) }, createControl()));
  const resumed = loadCheckpoint(at(4))
  expect(resumed.actor).toEqual(straight.actor)
  expect(resumed.optimizer).toEqual(straight.optimizer)
  expect(resumed.actor).not.toEqual(loadCheckpoint(at(2)).actor)
})

test('a loss that only a real batch shows to be wrong is refused before anything is learned', async () => {
  using home = createHome()
  const file = path.join(home.directory, 'mine.js')
  // No sequence to try losses on is as short as these.
  const body =
    "const short = sum(mask, 'sequence') < 2.5; return -mean(where(short, log(logp - logp), 1) * logp * advantages, mask)"
  writeFileSync(file, `export default defineLoss({ loss({ logp, advantages, mask }) { ${body} } })`)
  const run = home.createRun(
    parseRunConfig({
      ...starterConfig,
      algorithm: { id: file, settings: {} },
      rollout: { promptsPerStep: 8, groupSize: 4, maxNewTokens: 2 },
      device: { threads: 1 },
      steps: 2,
      evaluation: { every: 0, rows: 1 },
    }),
  )
  const request = { runDirectory: run.directory, cacheDirectory: path.join(home.directory, 'cache') }
  const events: string[] = []
  const training = async () => {
    for await (const event of runTraining({ ...request, resumeFrom: null }, createControl()))
      events.push(event.type)
  }
  await expect(training()).rejects.toThrow(
    /refused \(not-finite\).*token \d+ of sequence \d+.*The token is “/s,
  )
  expect(events).not.toContain('step')
})
