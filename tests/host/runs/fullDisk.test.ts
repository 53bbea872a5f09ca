import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { canMount, onSmallDisk, runOnSmallDisk } from '../files/smallDisk.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import type { SmallDiskReport } from './smallDiskTraining.ts'

const root = temporaryFolder()
const script = fileURLToPath(new URL('smallDiskTraining.ts', import.meta.url))

test(
  onSmallDisk('a run whose disk fills up ends with a sentence, and goes on from its last checkpoint'),
  async () => {
    if (!canMount) return
    const inside = (name: string) => path.join(root, name)
    await writeRandomModel(inside('model'), modelShapes['tiny-llama'], 1, 'F32')
    writeFileSync(inside('rows.csv'), 'prompt,answer\n1+1=,2\n2+2=,4\n')
    mkdirSync(inside('disk'))
    const config = {
      model: inside('model'),
      data: { train: inside('rows.csv') },
      rewards: [{ function: 'length-penalty' }],
      adapter: { rank: 16 },
      rollout: { promptsPerStep: 1, groupSize: 2, maxNewTokens: 4 },
      checkpoints: { every: 1, keepLast: 1000 },
      device: { threads: 1 },
      steps: 12,
    }
    const stdout = runOnSmallDisk('2m', inside('disk'), [
      process.execPath,
      script,
      inside('disk'),
      JSON.stringify(config),
    ])
    const report = JSON.parse(stdout) as SmallDiskReport
    const resumedFrom = report.resumedFrom ?? 0
    expect(report.error.code).toBe('file/unwritable')
    expect(report.error.message).toMatch(`The checkpoint of step ${resumedFrom + 1} could not be kept: `)
    expect(report.error.message).toContain('the disk is full')
    expect(report.lastLogged).toMatchObject({ type: 'error', ...report.error })
    expect(resumedFrom).toBeGreaterThanOrEqual(1)
    expect(report.names.length).toBe(resumedFrom)
    expect(report.steps).toEqual(Array.from({ length: 12 - resumedFrom }, (_, i) => resumedFrom + 1 + i))
    expect(report.last).toMatchObject({ type: 'status', phase: 'finished', step: 12 })
  },
)
