/** The six places with their views: where they are, what fits, and what leads there. */
import type { Page } from '@playwright/test'
import { places, type Place, type View } from '#shared/places.ts'
import { reflowProblems } from './reflow.ts'
import { addTrainedRun, expect, seriousProblems, test } from './support.ts'

/** A folder for pictures to look at; without it none are taken. */
const pictures = process.env['TURNWISE_PICTURES']

/** Between them the layout changes; accessibility.spec.ts has all screens in more sizes and themes. */
const looks = [
  { theme: 'dark', width: 1440, height: 900 },
  { theme: 'light', width: 390, height: 844 },
]

/** Opens a view by its tab; resolves with what is wrong with it. */
async function problemsOf(page: Page, { title, views }: Place, view: View): Promise<readonly string[]> {
  const bar = page.getByRole('navigation', { name: `Views of ${title}` })
  if (views.filter(({ isTab }) => isTab !== false).length > 1) {
    await bar.getByRole('link', { name: view.title, exact: true }).click()
    await expect(bar.locator('[aria-current=page]')).toHaveText(view.title)
  }
  await expect(page.locator('main h1')).toBeVisible()
  await expect(page).toHaveTitle(new RegExp(`${title}.*Turnwise$`))
  await expect(page.locator('main p[role=status]').filter({ hasText: /…$/ })).toHaveCount(0)
  return [...(await seriousProblems(page)), ...(await reflowProblems(page))]
}

test('all places and their views are reached by rail and tabs, fit and are accessible @whole', async ({
  app,
}) => {
  const { page, client } = app
  await addTrainedRun(app, 'first')
  await addTrainedRun(app, 'second', 1)
  await client.call('settings.set', { key: 'window.advanced', value: true })
  await app.open()
  const rail = page.getByRole('navigation', { name: 'Places' })
  const problems: string[] = []
  const look = async (place: Place, label: string) => {
    await rail.getByRole('link', { name: place.title, exact: true }).click()
    await expect(rail.locator('[aria-current=page]')).toHaveText(place.title)
    await expect(rail.getByRole('link', { name: 'Settings', exact: true })).toBeInViewport({ ratio: 1 })
    const tabs = place.views.filter(({ isTab }) => isTab !== false)
    for (const view of tabs) {
      const found = await test.step(`${label} ${view.route}`, () => problemsOf(page, place, view))
      problems.push(...found.map((problem) => `${label} ${view.route}: ${problem}`))
      if (pictures !== undefined)
        await page.screenshot({ path: `${pictures}/${label.replace(' ', '-')}-${view.id}.png` })
    }
  }
  for (const { theme, ...size } of looks) {
    await client.call('settings.set', { key: 'appearance.theme', value: theme })
    await expect(page.locator('html')).toHaveAttribute('data-theme', theme)
    await page.setViewportSize(size)
    for (const place of places) await look(place, `${theme} ${String(size.width)}`)
  }
  expect(problems).toEqual([])
})

test('nothing of the rail is cut off in a small window or at 200 % zoom', async ({ app }) => {
  const { page } = app
  await app.open()
  const links = page.getByRole('navigation', { name: 'Places' }).getByRole('link')
  for (const size of [
    { width: 1024, height: 640 },
    { width: 720, height: 450 },
    { width: 512, height: 320 },
  ]) {
    await page.setViewportSize(size)
    await expect(links.last()).toBeInViewport({ ratio: 1 })
    for (const link of await links.all()) {
      await link.scrollIntoViewIfNeeded()
      await expect(link).toBeInViewport({ ratio: 1 })
    }
  }
})

test('workflows and losses stay out of sight until they are asked for, which is remembered', async ({
  app,
}) => {
  const { page } = app
  await app.open('/rewards')
  const bar = page.getByRole('navigation', { name: 'Views of Rewards' })
  await expect(bar.getByRole('link')).toHaveText(['Rewards', 'Environments', 'Judges'])
  await bar.getByRole('button', { name: 'Show advanced' }).click()
  await bar.getByRole('link', { name: 'Losses' }).click()
  await expect(page).toHaveURL(/#\/rewards\/losses/)
  await page.reload()
  await expect(bar.getByRole('link')).toHaveText(['Rewards', 'Environments', 'Judges', 'Workflows', 'Losses'])
  await bar.getByRole('button', { name: 'Hide advanced' }).click()
  await expect(bar.getByRole('link')).toHaveText(['Rewards', 'Environments', 'Judges', 'Losses'])
  await bar.getByRole('link', { name: 'Rewards' }).click()
  await expect(bar.getByRole('link')).toHaveText(['Rewards', 'Environments', 'Judges'])
})

test('old addresses and old words lead to the new places', async ({ app }) => {
  const { page } = app
  await app.open()
  for (const [from, to] of [
    ['/compare?runs=a', '/runs/compare?runs=a'],
    ['/arena', '/playground/vote'],
    ['/settings/privacy', '/settings/access?at=privacy'],
  ] as const) {
    await app.go(from)
    await page.waitForURL((url) => url.hash === `#${to}`)
  }
  await expect(page.getByRole('heading', { name: 'What can make a connection' })).toBeInViewport()
  for (const [word, hash] of [
    ['Arena', '/playground/vote'],
    ['Evaluate', '/playground/evaluate'],
    ['Studies', '/runs/studies'],
    ['Losses', '/rewards/losses'],
  ] as const) {
    await page.keyboard.press('Control+k')
    const palette = page.getByRole('dialog', { name: 'Search and commands' })
    await palette.getByRole('combobox').fill(word)
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.hash.startsWith(`#${hash}`))
  }
})

test('an empty list of studies begins a sweep, and New run offers each kind', async ({ app }) => {
  const { page } = app
  await app.open('/runs/studies')
  await page.getByRole('button', { name: 'Set up a sweep' }).click()
  const kinds = page.getByRole('radiogroup', { name: 'What to start' })
  await expect(kinds.getByRole('radio', { name: 'Sweep' })).toBeChecked()
  await page.getByRole('link', { name: 'Runs', exact: true }).first().click()
  for (const kind of ['Population', 'Seeds', 'Run']) {
    await page.getByRole('button', { name: 'Choose what to start' }).first().click()
    await page.getByRole('menuitem', { name: kind, exact: true }).click()
    await expect(kinds.getByRole('radio', { name: kind })).toBeChecked()
    await page.getByRole('link', { name: 'Runs', exact: true }).first().click()
  }
})
