/** From answers to a data set to a run that learns from them, without another tool. */
import type { Page } from '@playwright/test'
import { addTrainedRun, expect, expectNoProblems, test, untilEnded } from './support.ts'

test('answers are labelled by keys in Samples and in Chat, survive a restart, and KTO learns from them @whole', async ({
  app,
}) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'three steps')
  await app.open(`/runs/${runId}/samples`)
  const pane = page.getByRole('region', { name: 'Completion', exact: true })
  const tally = page.getByRole('region', { name: 'Labels' })

  await test.step('a thumb for each completion; the last one is taken back', async () => {
    await expect(tally).toContainText('No labels yet')
    await expect(pane).toBeVisible()
    for (const key of ['u', 'd', 'u']) {
      await page.keyboard.press(key)
      await expect(page.getByRole('button', { name: /^(?:Good|Bad) answer/, pressed: true })).toBeVisible()
      await page.keyboard.press('j')
      await expect(page.getByRole('button', { name: /^(?:Good|Bad) answer/, pressed: true })).toHaveCount(0)
    }
    await expect(tally).toContainText('2 good · 1 bad')
    await page.keyboard.press('f')
    await expect(page.getByRole('button', { name: /^Better than the others/, pressed: true })).toBeVisible()
    await page.keyboard.press('z')
    await expect(tally.getByRole('status')).toHaveText('2 good · 1 bad')
    await page.keyboard.press('f')
    await expect(tally).toContainText('1 preferred')
  })

  await test.step('an edited copy is scored and kept as the better answer', async () => {
    await page.keyboard.press('e')
    await page.getByLabel('Completion to score').fill('The sum of both')
    await page.getByRole('button', { name: 'Keep as the better answer' }).click()
    await expect(pane).toContainText('Edited to')
    await expect(tally).toContainText('2 good · 1 bad · 1 preferred · 1 edited')
    await expectNoProblems(page)
  })

  await test.step('an answer of Chat', async () => {
    await app.go('/playground/chat')
    await page.getByRole('button', { name: 'Settings' }).click()
    await page.getByLabel('Temperature', { exact: true }).fill('0')
    await page.getByRole('button', { name: 'Settings' }).click()
    await page.getByLabel('Message', { exact: true }).fill('What is 2 + 3?')
    await page.keyboard.press('Enter')
    const answer = page.getByRole('article', { name: /^Answer of/ })
    await answer.getByText(/\d+ tokens · .* · seed \d+/).click()
    await expect(tally.getByRole('status')).toHaveText('No labels yet')
    await expect(tally.getByRole('button', { name: 'Undo' })).toBeDisabled() // those of Samples stay
    await page.keyboard.press('d')
    await expect(answer.getByRole('button', { name: /^Bad answer/, pressed: true })).toBeVisible()
    await answer.getByRole('button', { name: /^Edit the answer/ }).click()
    await page.getByRole('textbox', { name: /^Edit the answer/ }).fill('5')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await expect(tally.getByRole('status')).toHaveText('1 bad · 1 edited')
    await tally.getByRole('button', { name: 'Undo' }).click()
    await expect(tally.getByRole('status')).toHaveText('1 bad')
    await expectNoProblems(page)
  })

  await test.step('nothing is lost with the host, and all of it becomes a data set', async () => {
    const { pathname, hash } = new URL(page.url())
    await page.goto('about:blank')
    await app.restart()
    await app.open(hash.slice(1) || pathname)
    await expect(tally.getByRole('status')).toHaveText('1 bad')
    // A few more, so that some are left for validation.
    for (const { id: sampleId, reward } of await app.client.call('samples.list', { runId, step: 2 })) {
      const rating = (reward ?? 0) > 0.5 ? ('good' as const) : ('bad' as const)
      await app.client.call('labels.set', { answered: { kind: 'sample', sampleId }, changes: { rating } })
    }
    await tally.getByRole('button', { name: 'Make a data set…' }).click()
    await page.getByRole('radio', { name: 'Everything' }).click()
    await expect(page.getByRole('radio', { name: /^Ratings, for KTO \([1-9]\d+\)$/ })).toBeChecked()
    await expectNoProblems(page)
    await page.getByRole('dialog').getByRole('button', { name: 'Make a data set' }).click()
    await expect(page.getByText('labels-ratings').first()).toBeVisible()
  })

  await test.step('KTO learns from it, set up in New run', async () => {
    await learnFrom(page, 'KTO')
    const learned = idIn(page.url())
    expect(learned).not.toBe(runId)
    expect(await untilEnded(app.client, learned)).toBe('finished')
  })
})

test('a better answer chosen in Samples becomes pairs, and DPO learns from them', async ({ app }) => {
  const { page, client } = app
  const runId = await addTrainedRun(app, 'three steps')
  // Most by another hand; the last one in the window.
  const ofStep = await client.call('samples.list', { runId, step: 2 })
  const firsts = new Map(ofStep.toReversed().map(({ row, id }) => [row, id]))
  for (const sampleId of [...firsts.values()].slice(1)) {
    await client.call('labels.set', {
      answered: { kind: 'sample', sampleId },
      changes: { isPreferred: true },
    })
  }
  await app.open(`/runs/${runId}/samples?step=2`)
  const tally = page.getByRole('region', { name: 'Labels' })
  await expect(page.getByRole('region', { name: 'Completion', exact: true })).toBeVisible()
  await page.keyboard.press('f')
  await expect(page.getByRole('button', { name: /^Better than the others/, pressed: true })).toBeVisible()
  await tally.getByRole('button', { name: 'Make a data set…' }).click()
  await page.getByRole('radio', { name: /^Pairs, for DPO \([1-9]\d*\)$/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Make a data set' }).click()
  await expect(page.getByText('labels-pairs').first()).toBeVisible()
  await learnFrom(page, 'DPO')
  const { algorithm } = await client.call('runs.get', { runId: idIn(page.url()) })
  expect(algorithm).toBe('dpo')
  expect(await untilEnded(client, idIn(page.url()))).toBe('finished')
})

const idIn = (url: string): string => /run_[0-9a-f-]+/.exec(url)?.[0] ?? ''

/** From the page of a data set through New run and its check to a started run of two steps. */
async function learnFrom(page: Page, method: 'KTO' | 'DPO'): Promise<void> {
  await page
    .getByRole('button', { name: 'Train on this' })
    .or(page.getByRole('link', { name: 'Train on this' }))
    .click()
  await page.waitForURL(/#\/new-run$/) // the rows of the address are in the draft
  await page.getByRole('button', { name: 'Model: Choose a model' }).click()
  await page.getByRole('option', { name: /^starter/ }).click()
  await page
    .getByRole('heading', { level: 2, name: /Method/ })
    .getByRole('button')
    .click()
  await expect(page.getByRole('radio', { name: method, exact: true })).toBeChecked()
  await page.getByRole('button', { name: /^Quick look/ }).click()
  await page.getByRole('textbox', { name: 'Steps', exact: true }).first().fill('2')
  await expect(page.getByText('The settings fit together')).toBeVisible()
  await page.keyboard.press('Control+Enter')
  await expect(page.getByText('What it learns from')).toBeVisible()
  await page.keyboard.press('Control+Enter')
  await page.waitForURL(/#\/runs\/run_/)
}
