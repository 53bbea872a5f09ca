import type { Page } from '@playwright/test'
import { expect, expectNoProblems, starter, test } from './support.ts'

const notices = (page: Page) => page.getByRole('region', { name: 'Notices' })

/** Names of the controls that something lies over, as far as the window shows them. */
const covered = (page: Page, inside: string): Promise<string[]> =>
  page.evaluate((selector) => {
    const controls = document.querySelectorAll<HTMLElement>(`${selector} :is(a, button, input, textarea)`)
    return [...controls].flatMap((control) => {
      const { left, top, width, height } = control.getBoundingClientRect()
      const hit = document.elementFromPoint(left + width / 2, top + height / 2)
      const isFree = width === 0 || hit === null || control.contains(hit)
      return isFree ? [] : [control.getAttribute('aria-label') ?? control.innerText]
    })
  }, inside)

test('a notice lies over no control of a page or a dialog', async ({ app }) => {
  const { page, client } = app
  for await (const item of client.stream('models.import', { path: starter, name: 'copy' }))
    expect(item).toBeDefined()
  // They stay, however long the rest takes.
  await page.addInitScript(() => {
    const own = window.setTimeout.bind(window)
    Object.assign(window, { setTimeout: (then: () => void, ms = 0) => own(then, ms < 6000 ? ms : 1e9) })
  })
  await app.open('/models/copy')
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete model' }).click()
  await expect(notices(page).getByText('“copy” was deleted.')).toBeVisible()
  await app.go('/models/starter')
  await expect(page.getByRole('button', { name: 'Train this' })).toBeVisible()
  expect(await covered(page, 'main')).toEqual([])

  // The tallest dialog, in a window that is too low for it.
  await page.setViewportSize({ width: 800, height: 420 })
  await page.keyboard.press('Control+Slash')
  const dialog = page.getByRole('dialog', { name: 'Keys' })
  await expect(dialog).toBeVisible()
  await expect(notices(page).getByText('“copy” was deleted.')).toBeVisible()
  expect(await covered(page, '[role=dialog]')).toEqual([])
  const [box, row] = [(await dialog.boundingBox())!, (await notices(page).boundingBox())!]
  expect(box.y + box.height).toBeLessThanOrEqual(row.y)
  await dialog.getByRole('button', { name: 'Close' }).click()
  await expect(dialog).toBeHidden()
  await expectNoProblems(page)
})
