import { expect, seriousProblems, starter, test, trainDemo } from './support.ts'

test('a blind vote on the same prompt and seed counts and names are seen after it', async ({ app }) => {
  const { page, client } = app
  const runId = await trainDemo(client, { steps: 2, name: 'two steps' })
  await app.open(`/arena?a=${encodeURIComponent(starter)}&b=${encodeURIComponent(`${starter}~${runId}@2`)}`)
  await page.getByLabel('Prompt', { exact: true }).fill('Please add 42 and 45')
  await page.keyboard.press('Control+Enter')

  const a = page.getByRole('region', { name: 'Column A' })
  await expect(a.getByText('name hidden until you vote')).toBeVisible()
  await page.getByRole('button', { name: 'Column A is better' }).click()
  await expect(a.getByText('Your choice')).toBeVisible()
  await expect(a.getByText('name hidden until you vote')).toBeHidden()

  const table = page.getByRole('table')
  await expect(table.getByRole('row')).toHaveCount(3)
  await expect(table.getByText('100 %', { exact: true })).toBeVisible()
  await expect
    .poll(() => client.call('settings.get', { key: 'arena.votes' }))
    .toMatchObject([{ isBlind: true, seed: 42, prompt: 'Please add 42 and 45' }])
  expect(await seriousProblems(page)).toEqual([])
})

test('an answer is not shown under another model than wrote it, nor voted on', async ({ app }) => {
  const { page, client } = app
  const runId = await trainDemo(client, { steps: 1, name: 'one step' })
  const name = encodeURIComponent(starter)
  await app.open(`/arena?a=${name}&b=${name}`)
  await page.getByLabel('Prompt', { exact: true }).fill('Sort 8 0 5 7')
  await page.getByRole('button', { name: 'Generate' }).click()
  await expect(page.getByRole('button', { name: 'They are alike' })).toBeVisible()
  await app.go(`/arena?a=${encodeURIComponent(`${starter}~${runId}@1`)}&b=${name}`)
  await expect(page.getByText('The answer will appear here.')).toHaveCount(2)
  await expect(page.getByRole('button', { name: 'They are alike' })).toBeHidden()
})

test('greedy answers of one model are the same in both columns', async ({ app }) => {
  const { page } = app
  const name = encodeURIComponent(starter)
  await app.open(`/arena?a=${name}&b=${name}`)
  await page.getByLabel('Prompt', { exact: true }).fill('Sort 8 0 5 7')
  await page.getByRole('button', { name: 'Generate' }).click()
  await expect(page.getByRole('button', { name: 'They are alike' })).toBeVisible()
  const answers = await page
    .getByRole('region', { name: /^Column/ })
    .locator('p')
    .allTextContents()
  expect(answers).toHaveLength(2)
  expect(answers[0]).not.toBe('')
  expect(answers[0]).toBe(answers[1])
})
