import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { makeManifest } from '../../scripts/cuda/makeManifest.ts'
import { startIndex, tinyRecipe } from '../host/devices/loopbackIndex.ts'
import { expect, seriousProblems, test } from './support.ts'

/** Hosts that are started from now on know these tiny wheels instead of NVIDIA's. */
async function tinyIndex() {
  const server = await startIndex()
  const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-wheels-'))
  const list = path.join(folder, 'list.json')
  writeFileSync(list, JSON.stringify(await makeManifest(tinyRecipe, server.index)))
  process.env['TURNWISE_CUDA_MANIFEST'] = list
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      delete process.env['TURNWISE_CUDA_MANIFEST']
      rmSync(folder, { recursive: true })
      await server[Symbol.asyncDispose]()
    },
  }
}

test('the CUDA library is installed under Devices, goes on after a stop, and is removed', async ({ app }) => {
  const { page } = app
  await using server = await tinyIndex()
  await app.restart()
  await app.client.call('settings.set', { key: 'packages.index', value: server.index })
  await app.open('/settings/devices')
  const section = page.locator('section').filter({ has: page.getByRole('heading', { name: 'CUDA library' }) })
  await expect(section.getByText(/Installing fetches 50\d kB from .* takes 46\.\d MB/)).toContainText(
    server.index,
  )
  expect(await seriousProblems(page)).toEqual([])

  // At another screen it goes on.
  server.fault.pauseMs = 1000
  await section.getByRole('button', { name: 'Install' }).click()
  await expect(section.getByRole('status')).toContainText(/\d+ kB of 50\d kB, about .* left/)
  server.fault.pauseMs = Infinity
  await app.go('/runs')
  await expect(page.getByText('Installing the CUDA library')).toBeVisible()
  await app.go('/settings/devices')
  await section.getByRole('button', { name: 'Cancel' }).click()
  await expect(section.getByRole('button', { name: 'Go on installing' })).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])

  // Another index has other files under these names.
  server.fault.pauseMs = 0
  server.fault.lies = true
  await section.getByRole('button', { name: 'Go on installing' }).click()
  await expect(section.getByRole('alert')).toContainText('does not have the expected digest')
  expect((await app.client.call('libraries.cuda'))?.isInstalled).toBe(false)

  server.fault.lies = false
  await section.getByRole('button', { name: 'Install' }).click()
  await expect(section.getByText(/Installed: 46\.\d MB/)).toBeVisible()
  await expect(page.getByText('The CUDA library is installed.')).toBeVisible()
  // The devices were asked again, with the library; these tiny files are none.
  await page.getByText('Why').nth(0).waitFor()
  await page.locator('summary').filter({ hasText: 'CUDA' }).click()
  await expect(page.getByText(/No NVIDIA driver is installed here|cannot be loaded/)).toBeVisible()

  await section.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await expect(section.getByRole('button', { name: 'Install' })).toBeVisible()
  await expect(page.getByText('Its library is not installed.')).toBeVisible()
  // An index on this machine is no other machine.
  expect((await app.client.call('system.load')).outboundRequests).toBe(0)
})
