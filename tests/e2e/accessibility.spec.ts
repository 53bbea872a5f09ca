import { reflowProblems } from './reflow.ts'
import { furnish } from './furnish.ts'
import { expect, seriousProblems, test } from './support.ts'

test('no screen has a serious or critical fault in light, dark or high contrast', async ({ app }) => {
  const { page, client } = app
  const routes = await furnish(client)
  await app.open()
  const problems: string[] = []
  for (const theme of ['light', 'dark', 'contrast']) {
    await client.call('settings.set', { key: 'appearance.theme', value: theme })
    await expect(page.locator('html')).toHaveAttribute('data-theme', theme)
    for (const route of routes) {
      await app.go(route)
      await expect(page.locator('main h1')).toBeVisible()
      await page.waitForTimeout(300)
      await expect(page.locator('main p[role=status]').filter({ hasText: /…$/ })).toHaveCount(0) // all has been read
      const found = await test.step(`${theme} ${route}`, () => seriousProblems(page))
      problems.push(...found.map((problem) => `${theme} ${route}: ${problem}`))
    }
  }
  expect(problems).toEqual([])
})

/** A phone, a usual window at 200 % zoom, and a small laptop. */
const sizes = [
  { width: 390, height: 844 },
  { width: 720, height: 450 },
  { width: 1024, height: 640 },
]

test('every screen fits into a phone, into a zoomed and into a small window', async ({ app }) => {
  const { page, client } = app
  const routes = await furnish(client)
  await app.open()
  const problems: string[] = []
  for (const size of sizes) {
    await page.setViewportSize(size)
    for (const route of routes) {
      await app.go(route)
      await expect(page.locator('main h1')).toBeAttached()
      await page.waitForTimeout(300)
      await expect(page.locator('main p[role=status]').filter({ hasText: /…$/ })).toHaveCount(0) // all has been read
      const found = await test.step(`${String(size.width)} px ${route}`, () => reflowProblems(page))
      problems.push(...found.map((problem) => `${String(size.width)} px ${route}: ${problem}`))
    }
  }
  expect(problems).toEqual([])
})

test('every empty screen says what it is for', async ({ app }) => {
  const { page } = app
  await app.open()
  for (const route of ['/', '/data', '/rewards', '/runs', '/studies', '/compare', '/models']) {
    await app.go(route)
    await expect(page.locator('main h1')).toBeVisible()
    await expect(page.locator('main').getByRole('button').first()).toBeVisible()
    expect(await seriousProblems(page)).toEqual([])
  }
})
