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
  const better = page.getByRole('button', { name: 'Column A is better' })
  await expect(better).toBeEnabled()
  await expect(a).toContainText(/\d+ tokens?/)
  await expect(a).not.toContainText('tokens/s') // an adapter is slower than its base
  await better.click()
  await expect(a.getByText('Your choice')).toBeVisible()
  await expect(a).toContainText('tokens/s')
  await expect(a.getByText('name hidden until you vote')).toBeHidden()

  const table = page.getByRole('table')
  await expect(table.getByRole('row')).toHaveCount(3)
  await expect(table.getByText('100 %', { exact: true })).toBeVisible()
  await expect
    .poll(() => client.call('settings.get', { key: 'arena.votes' }))
    .toMatchObject([{ isBlind: true, seed: 42, prompt: 'Please add 42 and 45' }])
  expect(await seriousProblems(page)).toEqual([])
})

test('answers of a vote are labelled by keys; the vote is a row of pairs, until it is taken back', async ({
  app,
}) => {
  const { page, client } = app
  const runId = await addTrainedRun(app, 'two steps')
  await app.open(
    `/playground/vote?a=${encodeURIComponent(starter)}&b=${encodeURIComponent(`${starter}~${runId}@3`)}`,
  )
  await page.getByLabel('Prompt', { exact: true }).fill('Please add 42 and 45')
  await page.keyboard.press('Control+Enter')
  const tally = page.getByRole('region', { name: 'Labels' })
  await expect(tally).toContainText('No labels yet')
  const b = page.getByRole('region', { name: 'Column B' })
  await page.getByRole('heading', { level: 1 }).click() // out of the prompt
  await page.keyboard.press('j')
  await expect(b).toHaveAttribute('aria-current', 'true')
  await page.keyboard.press('d')
  await expect(b.getByRole('button', { name: 'Bad answer: Column B' })).toHaveAttribute(
    'aria-pressed',
    'true',
  )
  await b.getByRole('button', { name: 'Edit the answer of Column B' }).click()
  await page.getByRole('textbox', { name: 'Edit the answer of Column B' }).fill('87')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await expect(b).toContainText('Edited to')
  await page.keyboard.press('f')
  await expect(b.getByText('Your choice')).toBeVisible()
  await expect(tally).toContainText('1 bad · 1 preferred · 1 edited')
  expect(await seriousProblems(page)).toEqual([])

  await page.keyboard.press('z')
  await expect(tally).toContainText('1 bad · 1 edited')
  await expect(page.getByRole('button', { name: 'Column B is better' })).toBeVisible()
  expect(await client.call('settings.get', { key: 'arena.votes' })).toEqual([])
  await tally.getByRole('button', { name: 'Make a data set…' }).click()
  await page.getByRole('radio', { name: 'Pairs, for DPO (1)' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Make a data set' }).click()
  await expect(page.getByText('labels-pairs').first()).toBeVisible()
  const [set] = await client.call('datasets.list')
  const versionId = set?.versions[0]?.id ?? ''
  const [row] = (await client.call('datasets.rows', { versionId, from: 0, count: 1 })).rows
  expect(row).toMatchObject({ prompt: [{ role: 'user', content: 'Please add 42 and 45' }], chosen: '87' })
})

test('the models that were chosen stay from mode to mode, up to four, each once @whole', async ({ app }) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'three steps')
  await app.open(`/playground/vote?a=${encodeURIComponent(starter)}`)
  const models = page.getByRole('main').getByRole('group', { name: 'Models' })
  await expect(page.getByText('Which one is better?')).toBeVisible()
  await models.getByRole('button', { name: 'Add a model: Add one to compare' }).click()
  await page.getByRole('option', { name: /^three steps/ }).click()
  await expect(page.getByRole('region', { name: 'Column B' })).toContainText('three steps · step 3')

  for (const view of ['Chat', 'Evaluate on rows', 'Blind vote']) {
    await page.getByRole('link', { name: view, exact: true }).click()
    await expect(models.getByRole('button', { name: /^Model 1: starter/ })).toBeVisible()
    await expect(models.getByRole('button', { name: /^Model 2: three steps/ })).toBeVisible()
    await expect.poll(() => decodeURIComponent(page.url())).toContain(`${runId}@3`)
  }
  await models.getByRole('button', { name: 'Add a model: Add one to compare' }).click()
  await page.getByRole('option', { name: /^three steps/ }).click()
  await expect(page.getByText('three steps · step 3 is there already.')).toBeVisible()
  await models.getByRole('button', { name: 'Remove starter' }).click()
  await expect(models.getByRole('button', { name: /^Model: three steps/ })).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
})

test('an answer is not shown under another model than wrote it, nor voted on @whole', async ({ app }) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'one step')
  const name = encodeURIComponent(starter)
  await app.open(`/playground/vote?a=${name}&b=${name}`)
  await page.getByLabel('Prompt', { exact: true }).fill('Sort 8 0 5 7')
  await page.getByRole('button', { name: 'Generate' }).click()
  await expect(page.getByRole('button', { name: 'Tie', exact: true })).toBeVisible()
  await app.go(`/playground/vote?a=${encodeURIComponent(`${starter}~${runId}@1`)}&b=${name}`)
  await expect(page.getByText('The answer will appear here.')).toHaveCount(2)
  await expect(page.getByRole('button', { name: 'Tie', exact: true })).toBeHidden()
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
  await expect(page.getByRole('button', { name: 'Tie', exact: true })).toBeVisible()
  await expect(foot).toContainText('Nothing is training')
  const answers = await page
    .getByRole('region', { name: /^Column/ })
    .locator('p')
    .allTextContents()
  expect(answers).toHaveLength(2)
  expect(answers[0]).not.toBe('')
  expect(answers[0]).toBe(answers[1])
})

test('votes of two tabs are all counted @whole', async ({ app }) => {
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
    await expect(tab.getByRole('button', { name: 'Tie', exact: true })).toBeVisible()
  }
  const alike = (tab: Page) =>
    tab.getByRole('button', { name: 'Tie', exact: true }).evaluate((button: HTMLElement) => button.click())
  const votes = () => client.call('settings.get', { key: 'arena.votes' })
  await alike(page)
  await expect.poll(votes, { intervals: [10] }).toHaveLength(1)
  await alike(other)
  await expect(page.getByText('2 blind votes')).toBeVisible()
  await expect(other.getByText('2 blind votes')).toBeVisible()
  expect(await votes()).toHaveLength(2)
  await other.close()
})
