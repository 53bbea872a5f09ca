import type { Page } from '@playwright/test'
import { slowDown } from './slow.ts'
import { expect, seriousProblems, starter, test, addTrainedRun } from './support.ts'

test('a blind vote on the same prompt and seed counts and names are seen after it', async ({ app }) => {
  const { page, client } = app
  const runId = await addTrainedRun(app, 'two steps')
  await app.open(
    `/playground/vote?a=${encodeURIComponent(starter)}&b=${encodeURIComponent(`${starter}~${runId}@2`)}`,
  )
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
  const { page } = app
  const runId = await addTrainedRun(app, 'one step')
  const name = encodeURIComponent(starter)
  await app.open(`/playground/vote?a=${name}&b=${name}`)
  await page.getByLabel('Prompt', { exact: true }).fill('Sort 8 0 5 7')
  await page.getByRole('button', { name: 'Generate' }).click()
  await expect(page.getByRole('button', { name: 'They are alike' })).toBeVisible()
  await app.go(`/playground/vote?a=${encodeURIComponent(`${starter}~${runId}@1`)}&b=${name}`)
  await expect(page.getByText('The answer will appear here.')).toHaveCount(2)
  await expect(page.getByRole('button', { name: 'They are alike' })).toBeHidden()
})

test('greedy answers of one model are the same in both columns', async ({ app }) => {
  const { page } = app
  const name = encodeURIComponent(starter)
  await app.open(`/playground/vote?a=${name}&b=${name}`)
  await page.getByLabel('Prompt', { exact: true }).fill('Sort 8 0 5 7')
  const foot = page.getByRole('contentinfo')
  await expect(foot).toContainText('Nothing is training')
  await page.getByRole('button', { name: 'Generate' }).click()
  await expect(foot).toContainText('Generating for the blind vote')
  await expect(foot).not.toContainText('Nothing is training')
  await expect(page.getByRole('button', { name: 'They are alike' })).toBeVisible()
  await expect(foot).toContainText('Nothing is training')
  const answers = await page
    .getByRole('region', { name: /^Column/ })
    .locator('p')
    .allTextContents()
  expect(answers).toHaveLength(2)
  expect(answers[0]).not.toBe('')
  expect(answers[0]).toBe(answers[1])
})

test('votes of two tabs are all counted', async ({ app }) => {
  const { page, client } = app
  const name = encodeURIComponent(starter)
  await app.open(`/playground/vote?a=${name}&b=${name}`)
  const other = await page.context().newPage()
  await slowDown(other, 'answers') // it hears of the first vote only after its own
  await other.goto(app.url)
  await other.getByText('Connected', { exact: true }).waitFor()
  await other.evaluate((hash) => void (location.hash = hash), `/playground/vote?a=${name}&b=${name}`)
  for (const tab of [page, other]) {
    await tab.getByLabel('Prompt', { exact: true }).fill('Sort 8 0 5 7')
    await tab.getByRole('button', { name: 'Generate' }).click()
    await expect(tab.getByRole('button', { name: 'They are alike' })).toBeVisible()
  }
  const alike = (tab: Page) =>
    tab.getByRole('button', { name: 'They are alike' }).evaluate((button: HTMLElement) => button.click())
  const votes = () => client.call('settings.get', { key: 'arena.votes' })
  await alike(page)
  await expect.poll(votes, { intervals: [10] }).toHaveLength(1)
  await alike(other)
  await expect(page.getByText('2 blind votes')).toBeVisible()
  await expect(other.getByText('2 blind votes')).toBeVisible()
  expect(await votes()).toHaveLength(2)
  await other.close()
})
