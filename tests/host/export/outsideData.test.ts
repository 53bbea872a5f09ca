/** Exports lie outside of data directories, or in the folder that these have for them. */
import { mkdirSync, mkdtempSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { createHost } from '#host/createHost.ts'
import { exportProject } from '#host/exchange/project/project.ts'
import { requireNewFolder } from '#host/export/exportFolder.ts'
import { writeUserFile } from '#host/files/atomic.ts'
import { exportBundle } from '#host/runs/runBundle.ts'
import { openStore } from '#host/store/store.ts'
import { createRunFolder } from '#host/workFolder/runFolder.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { starterConfig } from '../runs/runFixture.ts'

const root = temporaryFolder()
const newFolder = () => mkdtempSync(path.join(root, 'folder-'))

test.skipIf(process.platform === 'win32')(
  'a data directory takes no export but in its folder for these, by no door',
  async () => {
    const data = newFolder()
    await createHost({ dataDirectory: data, servesQueue: true })[Symbol.asyncDispose]()
    const run = createRunFolder(data, { model: 'm' })
    const linked = path.join(newFolder(), 'linked')
    symlinkSync(data, linked)
    const config = parseRunConfig(starterConfig)
    const project = { config, tool: 'trl', checkpoint: null, runDirectory: null } as const
    using store = openStore(path.join(newFolder(), 'history.db'))
    for (const place of [
      path.join(data, 'python-consents.json'),
      path.join(run.directory, 'engine'),
      path.join(data, 'models', 'm'),
      path.join(data, 'new', 'folder'),
      path.join(data, 'exports', '..', 'runs', 'r'),
      path.join(linked, 'models', 'm'),
      path.join(linked, 'home.json'),
    ]) {
      const refusal = `${place} is in the data directory`
      expect(() => requireNewFolder(place)).toThrow(refusal)
      await expect(exportProject({ ...project, out: place })).rejects.toThrow(refusal)
      expect(() => exportBundle(store, run.id, place, { overwrite: true })).toThrow(refusal)
      expect(() => writeUserFile(place, 'x', { overwrite: true })).toThrow(refusal)
    }
    for (const place of [path.join(data, 'exports', 'a'), path.join(newFolder(), 'a')]) {
      mkdirSync(path.dirname(place), { recursive: true })
      expect(() => requireNewFolder(place)).not.toThrow()
      writeUserFile(place, 'x', { overwrite: false })
    }
  },
)
