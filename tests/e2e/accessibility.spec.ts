import { reflowProblems } from './reflow.ts'
import { furnish } from './furnish.ts'
import { expect, seriousProblems, test, type App } from './support.ts'

/** Goes through the screens; resolves with what is found on them, with their routes. */
async function walk(
  { page, go }: App,
  routes: readonly string[],
  label: string,
  find: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const problems: string[] = []
  for (const route of routes) {
    await go(route)
    await expect(page.locator('main h1')).toBeAttached()
    await page.waitForTimeout(300)
    await expect(page.locator('main p[role=status]').filter({ hasText: /…$/ })).toHaveCount(0) // all has been read
    const found = await test.step(`${label} ${route}`, find)
    problems.push(...found.map((problem) => `${label} ${route}: ${problem}`))
  }
  return problems
}

/** A phone, a usual window at 200 % zoom, and a small laptop. */
const sizes = [
  { width: 390, height: 844 },
  { width: 720, height: 450 },
  { width: 1024, height: 640 },
]

test('every screen is accessible in light, dark and high contrast, and fits into small windows', async ({
  app,
}) => {
  const { page, client } = app
  const routes = await furnish(app)
  await app.open()
  const problems: string[] = []
  for (const theme of ['light', 'dark', 'contrast']) {
    await client.call('settings.set', { key: 'appearance.theme', value: theme })
    await expect(page.locator('html')).toHaveAttribute('data-theme', theme)
    // Themes differ in nothing but colours.
    const rules = theme === 'light' ? undefined : ['color-contrast', 'link-in-text-block']
    problems.push(
      ...(await walk(app, routes, theme, async () => {
        await expect(page.locator('main h1')).toBeVisible()
        return seriousProblems(page, rules)
      })),
    )
  }
  for (const size of sizes) {
    await page.setViewportSize(size)
    problems.push(...(await walk(app, routes, `${String(size.width)} px`, () => reflowProblems(page))))
  }
  expect(problems).toEqual([])
})

test('every empty screen says what it is for', async ({ app }) => {
  const { page } = app
  await app.open()
  for (const route of ['/', '/data', '/rewards', '/runs', '/runs/studies', '/runs/compare', '/models']) {
    await app.go(route)
    await expect(page.locator('main h1')).toBeVisible()
    await expect(page.locator('main').getByRole('button').first()).toBeVisible()
    expect(await seriousProblems(page)).toEqual([])
  }
})
