/** Populations, sweeps and seeds are set up in New run, checked and started, by mouse and by keyboard. */
import type { Page } from '@playwright/test'
import { expect, seriousProblems, test, type App } from './support.ts'

const step = (page: Page, name: string) =>
  page.getByRole('heading', { level: 2, name: new RegExp(`(^|[^a-z])${name}`) }).getByRole('button')
const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true }).first()

/** The sample run, cut down to so many steps. */
async function openSample({ page, open }: App, steps: string): Promise<void> {
  await open('/new-run')
  await page.getByRole('button', { name: 'Fill in the sample run' }).click()
  await expect(page.getByText('The settings fit together')).toBeVisible()
  await step(page, 'Method').click()
  await field(page, 'Steps').fill(steps)
  await field(page, 'Prompts per step').fill('2')
  await field(page, 'Group size').fill('4')
}

async function finished({ client }: App) {
  for await (const _ of client.follow('studies.watch')) {
    const [found] = (await client.call('studies.list')).studies
    if (found !== undefined && !['running', 'waiting'].includes(found.status))
      return client.call('studies.get', { id: found.id })
  }
  throw new Error('The feed ended.')
}

test('a population is set up by mouse, checked and started @whole', async ({ app }) => {
  const { page, client } = app
  await openSample(app, '2')
  await page.getByRole('radio', { name: 'Population' }).click()
  await expect(step(page, 'Population')).toContainText('6 members')
  await field(page, 'Members').fill('2')
  await field(page, 'Steps per generation').fill('5')
  // What the host finds wrong stands beside its setting.
  await expect(page.getByText('5, but trials have only 2 steps.').first()).toBeVisible()
  await field(page, 'Steps per generation').fill('1')
  await page.getByRole('textbox', { name: 'Learning rate: to' }).fill('1e-3')
  await page.getByRole('button', { name: /^Search over another setting/ }).click()
  await page.getByRole('combobox', { name: /Search/ }).fill('weight decay')
  await page.getByRole('option', { name: /Weight decay/ }).click()
  await expect(page.getByRole('group', { name: 'Weight decay' })).toBeVisible()
  await page.getByRole('button', { name: 'Do not search over Weight decay' }).first().click()
  await expect(page.getByText('The settings fit together')).toBeVisible()
  await expect(page.getByText(/2 members, \d at a time: \d+ cores? \//)).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])

  // The file of the study is what JSON view and saving show.
  await page.getByRole('button', { name: 'Config file' }).click()
  await page.getByRole('menuitem', { name: 'Edit as JSON' }).click()
  await expect(page.getByRole('dialog')).toContainText('"population"')
  await page.getByRole('button', { name: 'Cancel' }).click()

  await page
    .getByRole('button', { name: /^Check/ })
    .first()
    .click()
  await expect(page.getByText('Whole study')).toBeVisible()
  await expect(page.getByText(/of weights once \+ \d × .* free\./)).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
  await page.getByRole('button', { name: /^Start population/ }).click()
  await page.waitForURL(/#\/runs\/studies\/st_/)
  const study = await finished(app)
  expect(study).toMatchObject({ status: 'finished', search: { kind: 'population', size: 2, every: 1 } })
  const runs = await client.call('runs.list', {})
  expect(runs.every(({ studyId }) => studyId === study.id)).toBe(true)

  // Its file comes back as a draft.
  await app.go(`/runs/studies/${study.id}`)
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Start again with changes' }).click()
  await expect(step(page, 'Population')).toContainText('2 members · generations of 1 step · Learning rate')
})

test('a sweep is set up and started from the keyboard alone', async ({ app }) => {
  const { page } = app
  await openSample(app, '1')
  await page.getByRole('radio', { name: 'Run', exact: true }).focus()
  await page.keyboard.press('ArrowRight')
  await expect(page.getByRole('radio', { name: 'Sweep' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(step(page, 'Sweep')).toBeVisible()
  await page.getByRole('radio', { name: 'Values' }).focus()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('group', { name: 'Learning rate' })).toContainText('0.01')
  await page.getByRole('combobox', { name: 'Method' }).focus()
  await page.keyboard.press('g')
  await expect(page.getByText('The settings fit together')).toBeVisible()
  // A setting is put into the search where it stands.
  await step(page, 'Method').focus()
  await page.keyboard.press('Enter')
  const search = page.getByRole('button', { name: 'Search over Max new tokens' }).first()
  await search.focus()
  await page.keyboard.press('Enter')
  await expect(page.getByText(/^Searched from \d+ to \d+$/).first()).toBeVisible()
  await page.getByRole('button', { name: 'Do not search over Max new tokens' }).first().focus()
  await page.keyboard.press('Enter')
  await expect(page.getByText('The settings fit together')).toBeVisible()
  await page.keyboard.press('Control+Enter')
  await expect(page.getByText('Whole study')).toBeVisible()
  await page.keyboard.press('Control+Enter')
  await page.waitForURL(/#\/runs\/studies\/st_/)
  const { status, trials } = await finished(app)
  expect(status).toBe('finished')
  expect(trials.map(({ settings }) => settings['optimization.learningRate'])).toEqual([0.00001, 0.01])
})

test('seeds are a number or a list, and going back to one run keeps its settings', async ({ app }) => {
  const { page } = app
  await openSample(app, '3')
  await page.getByRole('radio', { name: 'Seeds' }).click()
  await expect(step(page, 'Seeds')).toContainText('3 seeds')
  await field(page, 'Seeds').fill('7, 8')
  await expect(step(page, 'Seeds')).toContainText('seeds 7, 8')
  await expect(page.getByText(/2 runs, \d at a time/)).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
  await page.getByRole('radio', { name: 'Run', exact: true }).click()
  await expect(page.getByRole('button', { name: /Seeds/ })).toHaveCount(0)
  await expect(step(page, 'Method')).toContainText('3 steps')
  await page.getByRole('radio', { name: 'Seeds' }).click()
  await expect(step(page, 'Seeds')).toContainText('seeds 7, 8')
})
