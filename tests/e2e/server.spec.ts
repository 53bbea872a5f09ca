import { expect, seriousProblems, test } from './support.ts'

test('a model is served to other programs, seen everywhere, and stopped', async ({ app }) => {
  const { page, client } = app
  await app.open('/settings/server')
  await expect(page.getByLabel('Base model')).toHaveValue('starter')
  const port = page.getByLabel('Port')
  await port.fill('70000')
  await expect(page.getByText('A whole number from 0 to 65535.')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Start the server' })).toBeDisabled()
  await port.fill('0')
  expect(await seriousProblems(page)).toEqual([])

  // By keyboard from here.
  await port.press('Tab')
  await expect(page.getByRole('button', { name: 'Start the server' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('button', { name: 'Stop the server' })).toBeVisible()
  const [address = '', key = ''] = await page
    .getByRole('region', { name: 'Models for other programs' })
    .locator('code')
    .allTextContents()
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/)
  await expect(page.getByRole('button', { name: 'Copy the API key' })).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])

  const messages = [{ role: 'user', content: 'What is 2 + 3?' }]
  const answered = await fetch(`${address}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: 'starter', messages, max_tokens: 8 }),
  })
  expect(await answered.json()).toMatchObject({ choices: [{ message: { role: 'assistant' } }] })
  await expect(page.getByText(/0 now, 1 answered with \d+ tokens?/)).toBeVisible()

  await app.go('/')
  await page.getByRole('link', { name: 'Serving starter' }).click()
  await page.getByRole('button', { name: 'Stop the server' }).click()
  await expect(page.getByRole('link', { name: 'Serving starter' })).toBeHidden()
  await expect(fetch(`${address}/models`)).rejects.toThrow()

  await page.getByRole('button', { name: 'Make a new key' }).click()
  await expect(page.getByText('Programs and agents that have the old keys are locked out.')).toBeVisible()
  await client.call('serving.start', { model: 'starter' })
  const status = await client.call('serving.status')
  expect(status).toMatchObject({ state: 'on' })
  expect(status).not.toMatchObject({ key })
})

test('what keeps it from starting is told where it is started', async ({ app }) => {
  const { page } = app
  // The port of the window's own host is taken.
  const taken = new URL(app.url).port
  await app.open('/settings/server')
  await page.getByLabel('Port').fill(taken)
  await page.getByRole('button', { name: 'Start the server' }).click()
  await expect(page.getByRole('alert')).toContainText(`Port ${taken} is in use by another program.`)
  expect(await seriousProblems(page)).toEqual([])
})
