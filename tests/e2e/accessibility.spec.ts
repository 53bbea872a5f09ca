import type { Locator, Page } from '@playwright/test'
import { isWhole } from '../sweeps.ts'
import { reflowProblems } from './reflow.ts'
import { furnish } from './furnish.ts'
import {
  addTrainedRun,
  colourRules,
  demoConfig,
  expect,
  seriousProblems,
  starter,
  test,
  type App,
} from './support.ts'

/** A phone; in the whole run a usual window at 200 % zoom and a small laptop as well. */
const sizes = [
  { width: 390, height: 844 },
  ...(isWhole
    ? [
        { width: 720, height: 450 },
        { width: 1024, height: 640 },
      ]
    : []),
]

/** The colours of the other themes are compared by contrast.test.ts in every run, on the screens themselves in the whole one. */
const themes = ['light', ...(isWhole ? ['dark', 'contrast'] : [])]

/** Waits until all of a screen has been read. */
async function settled(page: Page): Promise<void> {
  await expect(page.locator('main h1')).toBeAttached()
  await page.waitForTimeout(300)
  await expect(page.locator('main p[role=status]').filter({ hasText: /…$/ })).toHaveCount(0)
}

/** Waits for the second frame: in the first, parts of the page hear of their new sizes. */
const drawn = (page: Page): Promise<void> =>
  page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))),
  )

/** In one theme after the other: what axe finds on the screen that is open. */
async function inThemes({ page, client }: App): Promise<readonly string[]> {
  const problems: string[] = []
  for (const theme of themes) {
    await client.call('settings.set', { key: 'appearance.theme', value: theme })
    await expect(page.locator('html')).toHaveAttribute('data-theme', theme)
    await expect(page.locator('main h1')).toBeVisible()
    const found = await seriousProblems(page, theme === 'light' ? undefined : colourRules)
    problems.push(...found.map((problem) => `${theme}: ${problem}`))
  }
  return problems
}

/** In one size after the other: what does not fit. */
async function inSizes({ page }: App): Promise<readonly string[]> {
  const problems: string[] = []
  const usual = page.viewportSize()!
  for (const size of sizes) {
    await page.setViewportSize(size)
    await drawn(page)
    if ((await reflowProblems(page)).length > 0) await settled(page) // something may still move
    problems.push(...(await reflowProblems(page)).map((problem) => `${String(size.width)} px: ${problem}`))
  }
  await page.setViewportSize(usual)
  return problems
}

test(`every screen is accessible in ${themes.join(', ')}, and fits into small windows`, async ({ app }) => {
  const routes = await furnish(app)
  await app.open()
  const problems: string[] = []
  for (const route of routes) {
    await test.step(route, async () => {
      await app.go(route)
      await settled(app.page)
      const found = [...(await inThemes(app)), ...(await inSizes(app))]
      problems.push(...found.map((problem) => `${route} ${problem}`))
    })
  }
  expect(problems).toEqual([])
})

/** Middles of controls that stand on one line are as high as each other. */
async function expectOneLine(...controls: readonly Locator[]): Promise<void> {
  const heights: number[] = []
  for (const control of controls) {
    const box = (await control.boundingBox())!
    heights.push(box.y + box.height / 2)
  }
  expect(Math.max(...heights) - Math.min(...heights)).toBeLessThan(8)
}

test('lists and toolbars fit into a window of 1024 pixels', async ({ app }) => {
  const { page } = app
  const routes = await furnish(app)
  const routeLike = (pattern: RegExp) => routes.find((route) => pattern.test(route))!
  await page.setViewportSize({ width: 1024, height: 640 })
  await app.open()
  for (const [route, label] of [
    ['/runs', 'Runs'],
    ['/runs/studies', 'Studies'],
    ['/playground/evaluate', 'Evaluations'],
  ] as const) {
    await app.go(route)
    const table = page.getByRole('table', { name: label, exact: true })
    await expect(table.getByRole('row').nth(1)).toBeVisible()
    await settled(page)
    expect(await table.evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0)
  }

  await app.go(routeLike(/samples/))
  await settled(page)
  const samples = page.getByRole('main')
  await expectOneLine(
    samples.getByRole('radio', { name: 'One step' }),
    samples.getByRole('button', { name: 'Newest' }),
    samples.getByRole('button', { name: 'Filter' }),
  )
  await app.go(routeLike(/compare\?/))
  const curves = page.getByRole('toolbar', { name: 'Curves' })
  await expectOneLine(
    curves.getByLabel('Group runs'),
    curves.getByRole('checkbox', { name: 'Events' }),
    curves.getByRole('checkbox', { name: 'Clip spikes' }),
  )
})

test('a long name keeps its start, and lies over nothing, in lists, pickers and the tree of forks', async ({
  app,
}) => {
  const { page, client } = app
  const name = 'GRPO · SmolLM2-135M · Year 4 word problems'
  const runId = await addTrainedRun(app, name)
  await client.call('runs.fork', { runId, step: 3, changes: { steps: 4 }, start: false })
  await page.setViewportSize({ width: 390, height: 844 })
  await app.open()
  const chosen = encodeURIComponent(`${starter}~${runId}@3`)
  for (const route of ['/runs', '/runs/compare', `/playground/vote?a=${chosen}`]) {
    await app.go(route)
    const cut = page.getByRole('main').locator(`[title="${name}"]`).first()
    await expect(cut).toBeVisible()
    await settled(page)
    expect(await cut.evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0)
    const start = cut.getByText('GRPO', { exact: false }).first()
    expect(await start.evaluate((each) => each.clientWidth)).toBeGreaterThan(20)
  }

  // The end of a shorter one stays whole.
  await client.call('runs.rename', { runId, name: 'Broken: constant reward' })
  await app.go('/runs')
  const parts = page.getByRole('main').locator('[title="Broken: constant reward"] > span')
  await expect(parts).toHaveText(['Broken: constant', 'reward'])
  await settled(page)
  expect(await parts.last().evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0)

  await client.call('runs.rename', { runId, name })
  await app.go(`/runs/${runId}/checkpoints`)
  const tree = page.locator('section, div', { has: page.getByText('Compare all') }).getByRole('listitem')
  await expect(tree).toHaveCount(2)
  await settled(page)
  for (const row of await tree.all())
    expect(await row.evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0)
  expect((await reflowProblems(page)).filter((problem) => /lies over|sideways/.test(problem))).toEqual([])
})

test('a live run, its queue and a dialog fit into small windows', async ({ app }) => {
  const { page, client } = app
  const rollout = { promptsPerStep: 2, groupSize: 2, maxNewTokens: 8 }
  const config = (name: string) => demoConfig({ name, steps: 2000, rollout })
  const { runId } = await client.call('runs.start', { config: config('a run with a name of some length') })
  await client.call('runs.start', { config: config('another one that waits'), queue: true })
  await expect.poll(async () => (await client.call('runs.get', { runId })).step).toBeGreaterThan(0)
  await page.setViewportSize({ width: 1024, height: 640 })

  await app.open('/')
  const queue = page.getByRole('list', { name: 'Queue' })
  const row = queue.getByRole('listitem')
  await expect(row.getByRole('link', { name: 'another one that waits' })).toBeVisible()
  expect(await row.evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0)
  const panel = (await page.locator('section', { has: queue }).boundingBox())!
  const list = (await queue.boundingBox())!
  expect(list.x + list.width).toBeLessThan(panel.x + panel.width)

  await app.go(`/runs/${runId}/overview`)
  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  await expect(page.locator('main header').first().getByText('Paused')).toBeInViewport({ ratio: 1 })
  await client.call('runs.kill', { runId })

  const trained = await addTrainedRun(app, 'trained')
  await page.setViewportSize({ width: 390, height: 844 })
  await app.go(`/runs/${trained}/checkpoints`)
  await page.getByRole('button', { name: /Fork/ }).first().click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByRole('button', { name: 'Open in New run' })).toBeInViewport({ ratio: 1 })
  const aside = (await dialog.getByRole('button', { name: 'Open in New run' }).boundingBox())!
  expect(aside.x).toBeGreaterThan((await dialog.boundingBox())!.x)
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
