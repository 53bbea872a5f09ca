import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { allowAgent, mayAgent } from '#host/consents/agents.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { expect, seriousProblems, test, addTrainedRun, trainDemo } from './support.ts'

test('a key is set by pressing it, a collision is told, all goes back', async ({ app }) => {
  const { page, client } = app
  await app.open('/settings/keys')
  const row = page.getByRole('row', { name: /^Compare what is selected/ })
  await page.getByRole('button', { name: 'Change the keys of Compare what is selected' }).click()
  await expect(row.getByText('Press the new keys')).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(row.getByText('C', { exact: true })).toBeVisible()

  await page.getByRole('button', { name: 'Change the keys of Runs' }).click()
  await page.keyboard.press('r')
  await expect(page.getByRole('row', { name: /^Runs/ }).getByText('R', { exact: true })).toBeVisible()
  await expect.poll(() => client.call('settings.get', { key: 'keys.bindings' })).toEqual({ runs: ['KeyR'] })
  await page.keyboard.press('r')
  await expect(page.getByRole('heading', { level: 1, name: 'Runs' })).toBeVisible()

  await app.go('/settings/keys')
  await page.getByRole('button', { name: 'Change the keys of Compare what is selected' }).click()
  await page.keyboard.press('r')
  await expect(row.getByText('Also: Runs')).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])

  await page.getByRole('switch', { name: /without Ctrl/ }).click()
  await page.keyboard.press('r')
  await expect(page.getByRole('heading', { level: 1, name: 'Settings' })).toBeVisible()
  await expect(row.getByText('Off with the single letters')).toBeVisible()

  await page.getByRole('button', { name: 'Reset all' }).click()
  await expect(row.getByText('C', { exact: true })).toBeVisible()
  await expect.poll(() => client.call('settings.get', { key: 'keys.bindings' })).toEqual({})
})

test('the quick self-test runs live and says what it found @whole', async ({ app }) => {
  const { page } = app
  await app.open('/settings/self-test')
  await page.getByRole('button', { name: 'Run the full test' }).click()
  await expect(page.getByText(/Full test on the CPU: [1-9]\d* checks? done/)).toBeVisible()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await expect(page.getByText(/Stopped early/)).toBeVisible()

  await page.getByRole('button', { name: 'Run the quick test' }).click()
  await expect(page.getByText(/All \d+ checks passed/)).toBeVisible()
  await expect(page.getByText('Softmax', { exact: true }).first()).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
})

test('storage tells what takes space, clears what can be made again, deletes a run', async ({ app }) => {
  const { page, client } = app
  const runId = await addTrainedRun(app, 'to go')
  await app.open('/settings/storage')
  await expect(page.getByText(app.dataDirectory).first()).toBeVisible()
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('denied'))
  })
  await page.getByRole('button', { name: 'Copy the path' }).first().click()
  await expect(page.getByText(/^The browser did not let this window copy/)).toBeVisible()
  await page.getByRole('button', { name: 'Clear the cache' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Clear the cache' }).click()
  await expect(page.getByText(/freed/)).toBeVisible()

  await page.getByRole('button', { name: 'Delete to go' }).click()
  const dialog = page.getByRole('alertdialog')
  await expect(dialog.getByRole('list', { name: 'Runs that are deleted' })).toContainText('to go')
  await dialog.getByRole('button', { name: 'Delete 1 run' }).click()
  await expect(page.getByRole('link', { name: 'to go' })).toHaveCount(0)
  await expect(client.call('runs.get', { runId })).rejects.toThrow()
})

test('a theme is chosen by a click', async ({ app }) => {
  const { page } = app
  await app.open('/settings/appearance')
  for (const [name, theme] of [
    ['Light', 'light'],
    ['Dark', 'dark'],
    ['High contrast', 'contrast'],
  ] as const) {
    await page.getByRole('radio', { name, exact: true }).click()
    await expect(page.locator('html')).toHaveAttribute('data-theme', theme)
  }
})

test('what assistants may do is listed, and withdrawn one by one', async ({ app }) => {
  const { page, client, dataDirectory } = app
  for (const may of ['start', 'send https://judge.example'])
    allowAgent('My assistant', may, consentsFile(dataDirectory))
  await app.open('/settings/assistants')
  const section = page.getByRole('region', { name: 'Assistants allowed on this machine' })
  await expect(section).toContainText('start, change, stop and evaluate runs on this machine')
  await expect(section).toContainText('send prompts, completions and answers to https://judge.example')
  expect(await seriousProblems(page)).toEqual([])
  await section.getByRole('button', { name: 'Withdraw send prompts' }).click()
  await expect(section).not.toContainText('judge.example')
  expect(await client.call('agents.allowed')).toMatchObject([{ client: 'My assistant', may: 'start' }])
  expect(mayAgent('My assistant', 'send https://judge.example', consentsFile(dataDirectory))).toBe(false)
})

test('a tab that nobody looks at tells of a finished run once, and leads to it', async ({ app }) => {
  const { page } = app
  // What a system shows cannot be read by a test: the browser's class is taken down where it would be shown.
  await page.addInitScript(() => {
    const shown: { title: string; body: string; press: () => void }[] = []
    class Shown {
      static permission = 'default'
      static requestPermission() {
        Shown.permission = 'granted'
        return Promise.resolve('granted')
      }
      onclick: (() => void) | null = null
      constructor(title: string, { body }: { body: string }) {
        shown.push({ title, body, press: () => this.onclick?.() })
      }
      close() {}
    }
    Object.assign(window, { Notification: Shown, shown })
    Object.defineProperty(document, 'hidden', { get: () => (window as { isAway?: boolean }).isAway === true })
  })
  const shownIn = () =>
    page.evaluate(() => (window as unknown as { shown: { title: string }[] }).shown.map(({ title }) => title))
  await app.open('/settings/notifications')
  await page.getByRole('button', { name: 'Show notifications' }).click()
  await expect(page.getByText('This browser shows them while you look elsewhere.')).toBeVisible()
  const short = { rollout: { promptsPerStep: 2, groupSize: 2, maxNewTokens: 8 } }
  const seen = await trainDemo(app.client, { ...short, name: 'looked at', steps: 1 })
  await expect(page.getByText('Nothing is training')).toBeVisible()
  expect(await shownIn()).toEqual([])
  await page.evaluate(() => void Object.assign(window, { isAway: true }))
  const runId = await trainDemo(app.client, { ...short, name: 'left alone', steps: 1 })
  expect(runId).not.toBe(seen)
  await expect.poll(shownIn).toEqual([expect.stringContaining('left alone')])
  await page.evaluate(() => {
    ;(window as unknown as { shown: { press: () => void }[] }).shown[0]?.press()
  })
  await expect(page).toHaveURL(new RegExp(`#/runs/${runId}`))
})

test('a webhook is allowed, tried and removed; its address is not given back', async ({ app }) => {
  const { page, client } = app
  const heard: string[] = []
  const server = createServer((request, response) => {
    request.setEncoding('utf8')
    request.on('data', (piece: string) => heard.push(piece))
    request.on('end', () => response.writeHead(204).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`
  await app.open('/settings/notifications')
  const section = page.getByRole('region', { name: 'Notifications' })
  await section.getByLabel('Webhook').fill(`${origin}/hooks/secret-part`)
  await section.getByRole('button', { name: 'Allow and save' }).click()
  await section.getByRole('button', { name: 'Send a test' }).click()
  await expect(page.getByText('The webhook was told.')).toBeVisible()
  expect(heard.join('')).toContain('This is a test')
  await expect(section.getByLabel('Webhook')).toHaveAttribute('placeholder', `${origin}/…`)
  expect(JSON.stringify(await client.call('settings.all'))).not.toContain('secret-part')
  expect(await client.call('keys.allowed')).toMatchObject([
    { variable: 'WEBHOOK', origin: expect.stringContaining(`${origin} (webhook`) },
  ])
  expect(await seriousProblems(page)).toEqual([])

  await section.getByRole('button', { name: 'Remove', exact: true }).click()
  await expect(section.getByRole('button', { name: 'Send a test' })).toBeHidden()
  expect(await client.call('keys.allowed')).toEqual([])
  server.close()
})
