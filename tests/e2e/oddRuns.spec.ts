/** Runs that cannot be read, and files that are there already. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createRunFolder, runPaths } from '#host/workFolder/runFolder.ts'
import { expect, test } from './support.ts'

const config = { name: 'sound', model: 'm', seed: 1, algorithm: { id: 'grpo' } }

test('a run whose file is odd is told of above the others, until it is put right', async ({ app }) => {
  const { page, dataDirectory } = app
  createRunFolder(dataDirectory, config)
  const odd = createRunFolder(dataDirectory, { ...config, name: 'odd' })
  const { run } = runPaths(odd.directory)
  const whole = JSON.parse(readFileSync(run, 'utf8')) as { createdAt: number }
  rmSync(run)
  await app.open('/runs')
  await expect(page.getByText('sound', { exact: true })).toBeVisible()

  writeFileSync(run, JSON.stringify({ ...whole, createdAt: whole.createdAt + 0.5 }))
  const told = page.getByRole('alert').filter({ hasText: odd.directory })
  await expect(told).toContainText('(see createdAt)')
  await expect(page.getByText('sound', { exact: true })).toBeVisible()

  writeFileSync(run, JSON.stringify(whole))
  await expect(page.getByText('odd', { exact: true })).toBeVisible()
  await expect(told).toHaveCount(0)
})

test('a bundle replaces a file only when that is asked for', async ({ app }) => {
  const { page, dataDirectory, client } = app
  const { id } = createRunFolder(dataDirectory, config)
  const folder = path.join(dataDirectory, 'exports')
  mkdirSync(folder)
  await client.call('settings.set', { key: 'files.lastFolder', value: folder })
  await app.open(`/runs/${id}`)
  const write = async () => {
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Export bundle' }).click()
    await page.getByRole('button', { name: 'Save here' }).click()
  }
  const notices = page.getByRole('region', { name: 'Notices' })
  await write()
  await expect(notices.getByText('Bundle written')).toBeVisible()
  const [name = ''] = readdirSync(folder)
  const file = path.join(folder, name)
  writeFileSync(file, 'mine')

  await write()
  await expect(notices.getByText('already exists.')).toBeVisible()
  expect(readFileSync(file, 'utf8')).toBe('mine')
  await notices.getByRole('button', { name: 'Overwrite' }).click()
  await expect(async () => expect(readFileSync(file, 'utf8')).toContain(id)).toPass()
})
