/** Presses every button of every screen of the window once, on a history in which none is empty: `npm run test:doors`. */
import type { Page } from '@playwright/test'
import { furnish } from './furnish.ts'
import { expect, test, type App } from './support.ts'

/** What a button shows takes a moment; what it computes is nothing to wait for here. */
const momentMs = 250

/** Asked of other machines, which a test must not do. */
const asksOthers = /hub|hugging ?face|browse models|download|fetch/i

interface Door {
  readonly name: string
  /** What went wrong; null: nothing. */
  readonly fault: string | null
  /** Why it was not pressed; null: it was. */
  readonly notReached: string | null
}

async function show({ page, go }: App, route: string): Promise<void> {
  await page.keyboard.press('Escape')
  await go('/nowhere')
  await go(route)
  await page.locator('main h1').first().waitFor()
  await page.waitForTimeout(momentMs)
}

/** Buttons of the same name on one screen, such as those of rows, do the same. */
async function buttonsOn(
  app: App,
  route: string,
): Promise<readonly (readonly [name: string, place: number])[]> {
  await show(app, route)
  const names = await buttonsOf(app).evaluateAll((buttons) =>
    buttons.map((button) => button.getAttribute('aria-label') ?? button.textContent.trim()),
  )
  return [...new Set(names)].map((name) => [name, names.indexOf(name)])
}

const buttonsOf = ({ page }: App) => page.locator('main').getByRole('button')

async function press(app: App, route: string, name: string, place: number): Promise<Door> {
  const door = { name: `${route} › ${name}`, fault: null, notReached: null }
  if (asksOthers.test(name)) return { ...door, notReached: 'asks another machine' }
  await show(app, route)
  const button = buttonsOf(app).nth(place)
  if (!(await button.isVisible())) return { ...door, notReached: 'is hidden, or not there any more' }
  if (!(await button.isEnabled())) return { ...door, notReached: 'is disabled' }
  const errors: string[] = []
  const note = ({ message }: Error) => errors.push(message)
  app.page.on('pageerror', note)
  try {
    await button.click({ timeout: 20_000 })
    await app.page.waitForTimeout(momentMs)
    const alerts = await alertsOf(app.page)
    const said = [...errors, ...alerts].join(' · ')
    return said === '' ? door : { ...door, fault: said }
  } catch (error) {
    return { ...door, fault: String(error).split('\n')[0] ?? '' }
  } finally {
    app.page.off('pageerror', note)
  }
}

const alertsOf = async (page: Page): Promise<readonly string[]> =>
  (await page.getByRole('alert').allInnerTexts()).filter((text) => text.trim() !== '')

test('every button of every screen can be pressed', async ({ app }) => {
  const routes = await furnish(app)
  await app.page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await app.open()
  const doors: Door[] = []
  for (const route of routes) {
    for (const [name, place] of await buttonsOn(app, route)) doors.push(await press(app, route, name, place))
    console.log(`${route}: ${String(doors.length)} buttons so far`)
  }
  for (const { name, notReached } of doors)
    if (notReached !== null) console.log(`Not reached: ${name} (${notReached})`)
  const shut = doors.flatMap(({ name, fault }) => (fault === null ? [] : [`${name}: ${fault}`]))
  expect(shut).toEqual([])
})
