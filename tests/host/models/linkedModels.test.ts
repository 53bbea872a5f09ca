/** Models and adapters of others with links: only what opens as weights is copied from elsewhere. */
import {
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { importAdapter } from '#host/models/adapters.ts'
import { saveCheckpoint } from '#host/models/checkpoints.ts'
import { importModel } from '#host/models/modelLibrary.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { exampleCheckpoint } from '../runs/exampleCheckpoint.ts'

const root = temporaryFolder()
const newFolder = () => mkdtempSync(path.join(root, 'folder-'))
/** A file of the person's. */
const own = path.join(root, 'key')
writeFileSync(own, 'secret')

describe.runIf(process.platform !== 'win32').each([
  ['a link', symlinkSync],
  ['a second name', linkSync],
] as const)('a model of others with %s of a file elsewhere', (_, linkTo) => {
  const model = async () => {
    const folder = newFolder()
    await writeRandomModel(folder, modelShapes['tiny-llama'], 1, 'F32')
    return folder
  }

  test('is copied with its weights, and without what is only named like them', async () => {
    const [folder, data, run] = [await model(), newFolder(), newFolder()]
    const weights = path.join(newFolder(), 'weights')
    renameSync(path.join(folder, 'model.safetensors'), weights)
    linkTo(weights, path.join(folder, 'model.safetensors'))
    linkTo(own, path.join(folder, 'extra.safetensors'))
    await importModel(folder, 'm', data)
    await saveCheckpoint(run, { ...exampleCheckpoint(1), model: folder })
    for (const copy of [
      path.join(data, 'models', 'm'),
      path.join(run, 'checkpoints', 'step-000001', 'model'),
    ])
      expect(readdirSync(copy).sort()).toEqual(
        readdirSync(folder)
          .filter((name) => name !== 'extra.safetensors')
          .sort(),
      )
  })

  test.each(['LICENSE.safetensors', 'LICENSE.gguf', 'README.md'])(
    'is refused where %s is one',
    async (name) => {
      const [folder, data] = [await model(), newFolder()]
      rmSync(path.join(folder, name), { force: true })
      linkTo(own, path.join(folder, name))
      await expect(importModel(folder, 'm', data)).rejects.toThrow(path.join(folder, name))
      expect(existsSync(path.join(data, 'models', 'm'))).toBe(false)
    },
  )

  test('has an adapter with weights elsewhere, and no README', async () => {
    const [run, data] = [newFolder(), newFolder()]
    const { directory } = await saveCheckpoint(run, exampleCheckpoint(1))
    const actor = path.join(directory, 'actor')
    const [weights, file] = [path.join(newFolder(), 'weights'), path.join(actor, 'adapter_model.safetensors')]
    renameSync(file, weights)
    linkTo(weights, file)
    expect(await importAdapter(actor, 'a', data)).toMatchObject({ name: 'a' })
    rmSync(path.join(actor, 'README.md'), { force: true })
    linkTo(own, path.join(actor, 'README.md'))
    await expect(importAdapter(actor, 'b', data)).rejects.toMatchObject({ code: 'file/unreadable' })
  })
})
