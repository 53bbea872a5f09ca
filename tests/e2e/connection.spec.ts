/** Second tabs, bookmarks, reloads, and windows that the host turns away. */
import type { Page } from '@playwright/test'
import { expect, seriousProblems, test, addTrainedRun, type App } from './support.ts'

const originOf = (app: App): string => new URL(app.url).origin

/** The key that another window of this browser was given must be enough. */
async function expectRunShown(page: Page): Promise<void> {
  await expect(page.getByText('Connected', { exact: true })).toBeVisible()
  await expect(page.getByRole('heading', { name: 'bookmarked' })).toBeVisible()
}

test('a second tab, a bookmark and a click with Ctrl open the run they name', async ({ app }) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'bookmarked')
  await app.open('/runs')
  const clicked = page.context().waitForEvent('page')
  await page
    .getByRole('link', { name: 'bookmarked' })
    .first()
    .click({ modifiers: ['ControlOrMeta'] })
  const tab = await clicked
  await expectRunShown(tab)
  await tab.reload()
  await expectRunShown(tab)
  const bookmark = await page.context().newPage()
  await bookmark.goto(`${originOf(app)}/#/runs/${runId}/overview`)
  await expectRunShown(bookmark)
})

test('the address with the key may carry a route, in a new window and in an open one @whole', async ({
  app,
}) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'bookmarked')
  await page.goto(`${app.url}/runs/${runId}/overview`)
  await expectRunShown(page)
  expect(new URL(page.url()).hash).toBe(`#/runs/${runId}/overview`)
  await page.goto(`${app.url}/data`)
  await expect(page.getByRole('heading', { name: 'Data', exact: true })).toBeVisible()
  expect(new URL(page.url()).hash).toBe('#/data')
})

test('a window without its key says so, claims nothing and takes the key', async ({ app, browser }) => {
  const runId = await addTrainedRun(app, 'bookmarked')
  await using context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(`${originOf(app)}/#/runs/${runId}/overview`)
  await expect(page.getByRole('alert')).toContainText(
    'This window needs its key: open the address that the terminal printed',
  )
  await expect(page.getByText('Nothing is training')).toBeHidden()
  await expect(page.getByText('Connected', { exact: true })).toBeHidden()
  expect(await seriousProblems(page)).toEqual([])
  const field = page.getByLabel('Address or key')
  await field.fill('http://127.0.0.1/')
  await page.getByRole('button', { name: 'Connect' }).click()
  await expect(page.getByText('This address has no key.')).toBeVisible()
  await field.fill(app.url)
  await page.getByRole('button', { name: 'Connect' }).click()
  await expectRunShown(page)
})

test('without a host the foot says why and does not say that nothing is training', async ({
  app,
  browser,
}) => {
  await using context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(app.url)
  await expect(page.getByText('Nothing is training')).toBeVisible()
  await app.restart() // at another port: for this page the host is gone
  await expect(page.getByText('The host does not answer. Trying again')).toBeVisible()
  await expect(page.getByText('Nothing is training')).toBeHidden()
})
