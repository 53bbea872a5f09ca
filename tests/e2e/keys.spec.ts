/** Keys of servers: asked about by name and address wherever something would send one, and taken back under Privacy. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { demoConfig, expect, seriousProblems, test } from './support.ts'

/** A folder for pictures to look at; without it none are taken. */
const pictures = process.env['TURNWISE_PICTURES']

test('a key is sent only after its variable and its address were shown and allowed', async ({ app }) => {
  const { page, client } = app
  const heard: (string | undefined)[] = []
  const server = createServer((request, response) => {
    heard.push(request.headers.authorization)
    response.writeHead(400).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`
  const settings = { address: `${origin}/v1`, keyVariable: 'HOME' }
  const dialog = page.getByRole('dialog', { name: 'Send this key?' })
  const picture = async (name: string) => {
    if (pictures === undefined) return
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.screenshot({ path: `${pictures}/${name}-${colorScheme}.png` })
    }
    await page.emulateMedia({ colorScheme: 'light' })
  }

  await test.step('the check of a new run says so, and asks', async () => {
    await app.open('/new-run')
    await page.getByRole('button', { name: 'Fill in the sample run' }).click()
    await expect(page.getByText('The settings fit together')).toBeVisible()
    const text = JSON.stringify(demoConfig({ rewards: [{ function: 'judge', settings }] }))
    await page
      .getByLabel('Config file to open')
      .setInputFiles({ name: 'judged.json', mimeType: 'application/json', buffer: Buffer.from(text) })
    const aside = page.getByRole('complementary', { name: 'The run' })
    await expect(aside.getByText(/^Sending the value of HOME to .* has not been allowed/)).toBeVisible()
    await picture('keys-aside')
    await aside.getByRole('button', { name: 'Allow…' }).click()
    await expect(dialog.getByText('HOME', { exact: true })).toBeVisible()
    await expect(dialog.getByText(origin, { exact: true })).toBeVisible()
    expect(await seriousProblems(page)).toEqual([])
    await picture('keys-dialog')
    await page.keyboard.press('Escape')
    await expect(dialog).toBeHidden()
    await page.getByRole('heading', { level: 2, name: /check/i }).getByRole('button').click()
    await expect(page.getByRole('button', { name: 'Allow…' })).toHaveCount(2)
    await picture('keys-check')
    expect(heard).toEqual([])
  })

  await test.step('so does trying the judge; allowed, it is asked with the key', async () => {
    await app.go('/rewards/builtin.judge')
    const form = page.getByRole('region', { name: 'Judge' })
    await form.getByRole('radio', { name: 'Behind an address' }).click()
    await form.getByLabel('Address', { exact: true }).fill(settings.address)
    await form.getByLabel('Variable with the key', { exact: true }).fill(settings.keyVariable)
    await page.getByRole('textbox', { name: 'Completion', exact: true }).fill('3 8 5')
    await page.getByRole('button', { name: 'Dry-run' }).click()
    await dialog.getByRole('button', { name: 'Allow' }).click()
    await expect(dialog).toBeHidden()
    expect(heard).toEqual([])
    await page.getByRole('button', { name: 'Dry-run' }).click()
    await expect.poll(() => heard.some((header) => header?.includes(process.env['HOME'] ?? ''))).toBe(true)
  })

  await test.step('Privacy shows it and takes it back; a run in the folder then asks again', async () => {
    const { runId } = await client.call('runs.start', {
      config: demoConfig({ steps: 1, rewards: [{ function: 'judge', settings }] }),
    })
    await client.call('runs.kill', { runId }).catch(() => undefined)
    await app.go('/settings/privacy')
    const row = page.getByRole('row', { name: new RegExp(origin) })
    await expect(row).toContainText('HOME')
    expect(await seriousProblems(page)).toEqual([])
    await picture('keys-privacy')
    await row.getByRole('button', { name: /Withdraw/ }).click()
    await expect(page.getByText('None: no key is sent anywhere.')).toBeVisible()
    await expect.poll(async () => (await client.call('runs.get', { runId })).status).not.toBe('running')
    await client.call('runs.resume', { runId })
    await app.go(`/runs/${runId}`)
    await page.getByRole('button', { name: 'Allow keys…' }).click()
    await picture('keys-run')
    await expect(dialog.getByText(origin, { exact: true })).toBeVisible()
  })
  server.close()
})
