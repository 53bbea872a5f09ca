/** A data folder where nothing can be written, such as one of another machine or of an archive. */
import { execFile } from 'node:child_process'
import { cpSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { createHost, historyFile } from '#host/createHost.ts'
import { createRunFolder } from '#host/workFolder/runFolder.ts'
import { canMount, onSmallDisk, readOnlyCommand } from '../host/files/smallDisk.ts'
import { createWorkplace, type Finished } from './turnwise.ts'

const place = createWorkplace()
const launcher = fileURLToPath(new URL('../../bin/turnwise.mjs', import.meta.url))
const home = place.path('home')

afterAll(() => place[Symbol.dispose]())

function runReadOnly(folder: string, ...words: readonly string[]): Promise<Finished> {
  const [file, args] = readOnlyCommand(folder, [process.execPath, launcher, ...words])
  const env = { ...process.env, TURNWISE_HOME: folder }
  return promisify(execFile)(file, args, { env }).then(
    ({ stdout, stderr }) => ({ status: 0, stdout, stderr }),
    (error: unknown) => {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
      return { status: code, stdout, stderr }
    },
  )
}

test(
  onSmallDisk('runs that cannot be written are listed and shown, and nothing of them is changed'),
  async () => {
    if (!canMount) return
    {
      await using _host = createHost({ dataDirectory: home, servesQueue: false })
    }
    // Of one, the history knows nothing yet.
    const { id } = createRunFolder(home, { model: 'starter', data: { train: 'x' } })
    const before = readdirSync(home)
    const listed = await runReadOnly(home, 'runs', 'list')
    expect(listed).toMatchObject({ status: 0, stderr: '' })
    expect(listed.stdout).toContain(id)
    const shown = await runReadOnly(home, 'runs', 'show', id)
    expect(shown).toMatchObject({ status: 0, stderr: '' })
    for (const what of ['studies', 'evaluations'])
      expect(await runReadOnly(home, what, 'list')).toMatchObject({ status: 0, stderr: '' })
    const refused = await runReadOnly(home, 'runs', 'delete', id)
    expect(refused.status).toBe(1)
    expect(refused.stderr).toMatch(/could not be written|may not write/)
    expect(readdirSync(home)).toEqual(before)
  },
)

test(onSmallDisk('what a killed process has committed beside the history is read too'), async () => {
  if (!canMount) return
  const killed = place.path('killed')
  {
    await using host = createHost({ dataDirectory: home, servesQueue: false })
    const [run] = host.store.runs.list()
    host.store.runs.setName(run!.id, 'named just now')
    cpSync(home, killed, { recursive: true })
  }
  expect(readdirSync(killed)).toContain(path.basename(`${historyFile(killed)}-wal`))
  const listed = await runReadOnly(killed, 'runs', 'list')
  expect(listed.stdout).toContain('named just now')
})
