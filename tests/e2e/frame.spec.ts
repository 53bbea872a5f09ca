import { keyTable } from '#shared/keyTable.ts'
import { places } from '#shared/places.ts'
import { reflowProblems } from './reflow.ts'
import { demoConfig, expect, seriousProblems, test } from './support.ts'

test('the palette finds places and the keys go to them', async ({ app }) => {
  const { page } = app
  await app.open()
  await page.keyboard.press('Control+k')
  const palette = page.getByRole('dialog', { name: 'Search and commands' })
  await palette.getByRole('combobox').fill('dark theme')
  await page.keyboard.press('Enter')
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
  await expect(palette).toBeHidden()
  await page.keyboard.press('Shift+Slash')
  const keys = page.getByRole('dialog', { name: 'Keys' })
  await expect(keys).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
  await page.keyboard.press('Escape')
  await expect(keys).toBeHidden()
})

test('the key that the menu prints for a place goes there', async ({ app }) => {
  const { page } = app
  await app.open()
  const rail = page.getByRole('navigation', { name: 'Places' })
  await expect(rail.getByRole('link')).toHaveText(places.map(({ title }) => title))
  for (const { id, title } of places.toReversed()) {
    await page.keyboard.press(keyTable[id].keys.at(-1)!.replace('Mod', 'Control'))
    await expect(rail.locator('[aria-current=page]')).toHaveText(title)
  }
})

test('the first key press on a page offers to skip the places', async ({ app }) => {
  const { page } = app
  await app.open('/runs')
  await page.getByRole('searchbox', { name: 'Filter runs' }).or(page.getByRole('main')).first().waitFor()
  await page.keyboard.press('Tab')
  const skip = page.getByRole('button', { name: 'Skip to the content' })
  await expect(skip).toBeFocused()
  await expect(skip).toBeInViewport()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('main')).toBeFocused()
  await page.keyboard.press('Tab')
  await expect(page.getByRole('main').locator(':focus')).toHaveCount(1)
  await expect(page).toHaveURL(/#\/runs$/)
})

test('an address that names nothing says so on every page', async ({ app }) => {
  const { page } = app
  await app.open()
  for (const [route, words] of [
    ['/nowhere', 'There is nothing at this address.'],
    ['/data/nope', 'There is no data set at this address.'],
    ['/runs/nope', 'There is no run at this address.'],
    ['/rewards/nope', 'This reward no longer exists.'],
    ['/models/nope', 'There is no model'],
    ['/runs/%E0%A4%A', 'There is no run at this address.'],
  ] as const) {
    await app.go(route)
    await expect(page.getByText(words)).toBeVisible()
    await expect(page.getByText(/is not valid:|must match pattern/)).toBeHidden()
  }
})

test('the foot says what trains and how long, in the smallest windows too, while two runs train @whole', async ({
  app,
}) => {
  const { page, client } = app
  for (const name of ['the first of two long runs', 'the second of two long runs'])
    await client.call('runs.start', { config: demoConfig({ name, steps: 400 }) })
  await app.open('/settings/about')
  const foot = page.getByRole('contentinfo')
  await expect(foot.getByText(/left/)).toBeVisible()
  for (const [width, height] of [
    [1440, 900],
    [1024, 640], // the smallest that is supported
    [640, 400], // 1280 × 800 at twice the size
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height })
    await expect(foot).not.toContainText('s/step') // its panel says it, and nothing else
    for (const words of [/^the .* long runs$/, /^step \d+\/400$/, /left$/, /and 1 run more|\+1/]) {
      const said = foot.getByText(words).filter({ visible: true })
      await expect(said).toBeInViewport({ ratio: 1 })
    }
    expect(await reflowProblems(page)).toEqual([])
  }
})
