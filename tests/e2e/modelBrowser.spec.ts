import { cpSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Locator, Page } from '@playwright/test'
import { rememberThroughput } from '#host/devices/deviceRecords.ts'
import { fittingPrecisions } from '#host/devices/memoryFit.ts'
import { startHub, type ListedEntry } from '../host/hub/loopbackHub.ts'
import { reflowProblems } from './reflow.ts'
import { expect, expectNoProblems, starter, test } from './support.ts'

const others: readonly ListedEntry[] = [
  {
    id: 'org/tiny-moe',
    downloads: 900,
    tags: [],
    config: { model_type: 'mixtral' },
    siblings: [{ rfilename: 'config.json' }, { rfilename: 'model.safetensors' }],
  },
]

/** The starter model with a card and a licence, on a hub of this machine. */
async function startLicensedHub(dataDirectory: string) {
  const source = path.join(dataDirectory, 'hub-model')
  cpSync(starter, source, { recursive: true })
  rmSync(path.join(source, 'README.md'), { force: true })
  writeFileSync(path.join(source, 'README.md'), '---\nlicense: mit\nlicense_link: LICENSE\n---\n# Tiny\n')
  writeFileSync(path.join(source, 'LICENSE'), 'Permission is hereby granted, free of charge.\n')
  return startHub(source, undefined, others)
}

test('a model is searched for, its licence accepted, downloaded and kept with it', async ({ app }) => {
  const { page, client, dataDirectory } = app
  await using hub = await startLicensedHub(dataDirectory)
  await client.call('settings.set', { key: 'hub.endpoint', value: hub.endpoint })
  await app.open('/models')
  await page.getByRole('link', { name: 'Find a model' }).click()
  await expect(page.getByRole('table', { name: 'Recommended models' })).toBeVisible()
  await expect(page.getByText('Qwen/Qwen3-0.6B', { exact: true })).toBeVisible()
  await expectNoProblems(page)
  expect(hub.fault.asked).toEqual([])

  await page.getByRole('searchbox').fill('tiny')
  await page.getByRole('checkbox', { name: 'Only what opens here' }).click()
  await page.getByRole('button', { name: 'Search the hub' }).click()
  const rows = page.getByRole('table', { name: 'Models on the hub' }).getByRole('row')
  await expect(rows).toHaveCount(3)
  await expect(rows.nth(1)).toContainText(/someone\/tinyllama.*mit/)
  await expect(rows.nth(2)).toContainText('No. It is for a model of type “mixtral”')
  await expectNoProblems(page)

  await page.getByRole('button', { name: 'Get someone/tiny' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Look it up' }).click()
  await expect(dialog.getByText('yes, as llama')).toBeVisible()
  await expect(dialog.getByText('Permission is hereby granted')).toBeVisible()
  await expect(dialog.getByRole('button', { name: 'Download' })).toBeDisabled()
  expect(hub.fault.asked.some((line) => line.includes('.safetensors'))).toBe(false)
  await expectNoProblems(page)
  await dialog.getByRole('checkbox', { name: 'I have read and accept the licence mit' }).click()
  await dialog.getByRole('button', { name: 'Download' }).click()
  await expect(dialog).toBeHidden()
  await page.getByLabel('Name', { exact: true }).fill('found')
  await page.getByRole('button', { name: 'Import model' }).click()
  await expect(page.getByRole('heading', { name: 'found' })).toBeVisible()
  await expect(page.getByText(/^mit · accepted on/)).toBeVisible()
  await expect(page.getByText(/\/someone\/tiny\/blob\/c0ffee0*\/LICENSE$/)).toBeVisible()
})

test('models are found by keys alone, also on a phone; speeds come from what was measured @whole', async ({
  app,
}) => {
  const { page, client, dataDirectory } = app
  await using hub = await startLicensedHub(dataDirectory)
  await client.call('settings.set', { key: 'hub.endpoint', value: hub.endpoint })
  await app.open('/models/browse')
  await expect(page.getByText('is not known yet')).toBeVisible()
  await press(page, page.getByRole('button', { name: 'Measure this machine' }))
  await press(page, page.getByRole('button', { name: 'Cancel' }))
  await expect(page.getByRole('button', { name: 'Measure this machine' })).toBeVisible()
  const rates = fittingPrecisions.map((precision) => ({ precision, generating: 4e9, learning: 2e10 }))
  const measured = { at: Date.UTC(2026, 0, 2), parameters: 26_741_248, rates }
  rememberThroughput({ kind: 'cpu', deviceId: 0 }, path.join(dataDirectory, 'cache'), measured)
  await app.go('/models')
  await page.reload()
  await app.go('/models/browse')
  await expect(page.getByText('Speeds are estimated for the CPU')).toBeVisible()
  await expect(page.getByText(/tok\/s/).first()).toBeVisible()
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await reflowProblems(page)).toEqual([])

  await page.getByRole('searchbox').focus()
  await page.keyboard.type('tiny')
  await page.keyboard.press('Enter')
  const first = page.getByRole('table', { name: 'Models on the hub' }).getByRole('row').nth(1)
  await expect(first).toContainText('someone/tiny')
  await first.focus()
  await page.keyboard.press('Enter')
  await press(page, page.getByRole('button', { name: 'Look it up' }))
  await expect(page.getByText('yes, as llama')).toBeVisible()
  expect(await reflowProblems(page)).toEqual([])
  const accept = page.getByRole('checkbox', { name: /I have read/ })
  await accept.focus()
  await page.keyboard.press('Space')
  await expect(page.getByRole('button', { name: 'Download' })).toBeEnabled()
  await page.keyboard.press('Escape')
  await expect(page.getByRole('dialog')).toBeHidden()
})

async function press(page: Page, button: Locator): Promise<void> {
  await button.focus()
  await page.keyboard.press('Enter')
}
