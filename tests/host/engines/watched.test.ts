import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { prepareProject } from '#host/engines/watched.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { starterConfig } from '../runs/runFixture.ts'

const root = temporaryFolder()

test('a project is written once, and anew where the model lies elsewhere now', async () => {
  const options = { arguments: [], resumeFrom: null, steps: 1, updatesPerStep: 1, saveEvery: [], shown: 0 }
  const directory = path.join(root, 'engine')
  const prepared = async (model: string) => {
    const config = parseRunConfig({ ...starterConfig, model, engine: { kind: 'trl' } })
    await prepareProject(config, { kind: 'trl', directory, runDirectory: root }, options)
  }
  const starter = path.join(resourcesDirectory, 'starter')
  const readme = path.join(directory, 'README.md')
  await prepared(starter)
  writeFileSync(readme, 'mine')
  await prepared(starter)
  expect(readFileSync(readme, 'utf8')).toBe('mine')
  const elsewhere = path.join(root, 'elsewhere')
  cpSync(starter, elsewhere, { recursive: true })
  await prepared(elsewhere)
  expect(readFileSync(readme, 'utf8')).not.toBe('mine')
  const settings = readFileSync(path.join(directory, 'run.json'), 'utf8')
  expect(settings).toContain(elsewhere)
})
