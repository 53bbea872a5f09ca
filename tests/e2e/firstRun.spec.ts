import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import { addTrainedRun, demoFile, expect, openView, seriousProblems, test, type App } from './support.ts'

/** Answers by prompt, of the demo's validation rows. */
const expectedAnswers = new Map(
  readFileSync(demoFile('heldout.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { prompt: string; answer: string })
    .map(({ prompt, answer }) => [prompt, answer]),
)

/** The only run there is, as the host knows it. */
async function onlyRun({ client }: App) {
  const runs = await client.call('runs.list', {})
  expect(runs).toHaveLength(1)
  return runs[0]!
}

const guide = (page: Page) => page.getByRole('complementary', { name: 'Guide' })

test('from an empty data directory to a rising reward curve, with the guide @whole', async ({ app }) => {
  const { page } = app
  await app.open()
  expect(await seriousProblems(page)).toEqual([])
  await page.getByRole('button', { name: 'Start the first run' }).click()

  // The live page: a chart of the reward, the guide pointing at it.
  const chart = page.locator('[data-chart]').first()
  await expect(chart).toBeVisible()
  await expect(guide(page)).toContainText('The reward rises as the model learns')
  expect(await seriousProblems(page)).toEqual([])

  await expect.poll(async () => (await onlyRun(app)).status).toBe('finished')
  const { id, rewardBefore, rewardAfter } = await onlyRun(app)
  expect(rewardAfter! - rewardBefore!).toBeGreaterThan(0.25)
  const { runs } = await app.client.call('metrics.series', { runIds: [id], metric: 'reward' })
  const points = runs[0]?.points ?? []
  expect(points.at(-1)!.mean).toBeGreaterThan(points[0]!.mean + 0.2)
  await expect(chart.locator('.recharts-line-curve').first()).toBeAttached()

  for (const words of [
    'Read every answer',
    'Colours show each token’s part',
    'Checkpoints keep what was learned',
  ]) {
    await guide(page).getByRole('button', { name: 'Next' }).click()
    await expect(guide(page)).toContainText(words)
    expect(await seriousProblems(page)).toEqual([])
  }
  await guide(page).getByRole('button', { name: 'Finish' }).click()
  await expect(guide(page).getByRole('heading', { name: /^It worked: 0\.32 → 0\.8\d$/ })).toBeVisible()
  await expect(guide(page)).toContainText('The eval reward went from 0.316 to')
  await guide(page).getByRole('button', { name: 'Compare before and after' }).click()

  // What is offered first is right after the training and wrong before; what still fails is said to.
  const { learned, failing } = await app.client.call('samples.telling', { runId: id })
  expect(learned).toHaveLength(2)
  await expect(page.getByLabel('Prompt', { exact: true })).toHaveValue(learned[0]!)
  await expect(page.getByRole('group', { name: 'Failed before, passes now' })).toContainText(learned[1]!)
  await expect(page.getByRole('group', { name: 'Still fails' })).toContainText(failing!)
  expect(await seriousProblems(page)).toEqual([])
  await page.getByRole('button', { name: 'Generate' }).click()
  await page
    .getByRole('button', { name: /is better$/ })
    .first()
    .click()
  const right = expectedAnswers.get(learned[0]!)!
  const columns = page.getByRole('region', { name: /^Column/ })
  await expect(columns.filter({ hasText: 'Demo' }).locator('p')).toHaveText(right)
  await expect(columns.filter({ hasNotText: 'Demo' }).locator('p')).not.toContainText(right)

  // The sample goes away with one click, and nothing of it stays.
  await app.go('/')
  const next = page.getByRole('main').getByRole('list').filter({ hasText: 'A real model' })
  await expect(next.getByRole('listitem')).toHaveCount(3)
  await expect(next).toContainText(/Instruct: [\d.]+ MB to download/)
  await page.getByRole('button', { name: 'Remove the sample' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove the sample' }).click()
  await expect(page.getByRole('button', { name: 'Start the first run' })).toBeVisible()
  expect(await app.client.call('runs.list', {})).toEqual([])
})

/** Presses Tab until an element of that role and name has the focus, as someone without a mouse does. */
async function tabTo(page: Page, name: string | RegExp, key = 'Tab'): Promise<void> {
  const target = page
    .getByRole('button', { name })
    .or(page.getByRole('link', { name }))
    .or(page.getByRole('tab', { name }))
  await expect(target.first()).toBeVisible()
  for (let presses = 0; presses < 120; presses++) {
    await page.keyboard.press(key)
    if ((await target.and(page.locator(':focus')).count()) > 0) return
  }
  throw new Error(`The focus never came to ${String(name)}.`)
}

test('the same first run with the keyboard alone', async ({ app }) => {
  const { page, client } = app
  await app.open()
  await tabTo(page, 'Start the first run')
  await page.keyboard.press('Enter')
  await expect(page.locator('[data-chart]').first()).toBeVisible()
  await expect(guide(page)).toContainText('The reward rises as the model learns')
  await client.call('runs.kill', { runId: (await onlyRun(app)).id })

  // Through the guide to its end, on one that is over.
  const runId = await addTrainedRun(app, 'trained')
  await client.call('runs.setTags', { runId, tags: ['sample'] })
  await app.go(`/runs/${runId}/overview`)
  await expect(page.getByRole('button', { name: 'trained, rename' })).toBeVisible()
  for (const words of ['Next', 'Next', 'Next', 'Finish']) {
    await tabTo(page, words)
    await page.keyboard.press('Enter')
  }
  await expect(guide(page)).toContainText('The eval reward went from')
  await tabTo(page, 'Close the guide')
  await page.keyboard.press('Enter')
  await expect(guide(page)).toBeHidden()

  // To the list by its key, the run selected and compared, then its adapter out.
  await page.keyboard.press('4')
  await expect(page.getByRole('heading', { name: 'Runs' })).toBeVisible()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('arena')
  await page.keyboard.press('Enter')
  await expect(openView(page)).toHaveText('Blind vote')
})
