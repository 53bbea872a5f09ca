import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { prepareProject } from '#host/engines/watched.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { starterConfig } from '../runs/runFixture.ts'

const root = temporaryFolder()

test('a project is written from scratch for each start, and a job that may still run is known on', async () => {
  const options = { arguments: [], resumeFrom: null, steps: 1, updatesPerStep: 1, saveEvery: [], shown: 0 }
  const directory = path.join(root, 'engine')
  const config = parseRunConfig({ ...starterConfig, engine: { kind: 'trl' } })
  const prepared = () => prepareProject(config, { kind: 'trl', directory, runDirectory: root }, options)
  const first = await prepared()
  expect(first.notes).not.toEqual([])
  const names = readdirSync(directory, { recursive: true }).sort()
  const readme = path.join(directory, 'README.md')
  const own = readFileSync(readme, 'utf8')
  for (const file of [readme, path.join(directory, 'trl', 'json.py')]) writeFileSync(file, 'mine')
  const job = path.join(directory, 'trl', 'ray_job')
  writeFileSync(job, 'turnwise-0123456789ab')
  expect((await prepared()).notes).toEqual([])
  expect(readFileSync(readme, 'utf8')).toBe(own)
  expect(readdirSync(directory, { recursive: true }).sort()).toEqual(
    [...names, path.join('trl', 'ray_job')].sort(),
  )
  expect(readFileSync(job, 'utf8')).toBe('turnwise-0123456789ab')
  writeFileSync(job, 'another job')
  await prepared()
  expect(existsSync(job)).toBe(false)
})
