import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Download, Page } from '@playwright/test'
import {
  addTrainedRun,
  demoConfig,
  expect,
  historySettings,
  seriousProblems,
  test,
  trainDemo,
  type App,
} from './support.ts'

const { steps } = historySettings
/** Small groups: what is learned does not matter here. */
const rollout = { promptsPerStep: 4, groupSize: 4, maxNewTokens: 8 }

/** Three short runs: two that differ in their seed only, one with another learning rate. */
async function threeRuns(app: App): Promise<readonly string[]> {
  const optimization = { ...demoConfig().optimization, learningRate: 1e-5 }
  return [
    await addTrainedRun(app, 'seed-1'),
    await addTrainedRun(app, 'seed-2', 1),
    await trainDemo(app.client, { ...historySettings, name: 'slow', optimization }),
  ]
}

async function saved(page: Page, entry: string): Promise<Buffer> {
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: entry }).click(),
  ])
  return fileOf(download)
}

const fileOf = async (download: Download): Promise<Buffer> => readFileSync(await download.path())

/** Width and height from the header of a PNG. */
function pngSize(file: Buffer): readonly [number, number] {
  expect(file.subarray(0, 8).toString('hex')).toBe('89504e470d0a1a0a')
  expect(file.subarray(12, 16).toString()).toBe('IHDR')
  return [file.readUInt32BE(16), file.readUInt32BE(20)]
}

/** Run → step → its cells by column. None of the cells here needs quotes. */
function rowsOf(csv: string) {
  const [head = '', ...lines] = csv.trimEnd().split('\n')
  const columns = head.split(',')
  return lines.map((line) => {
    const cells = line.split(',')
    return new Map(columns.map((column, i) => [column, cells[i] ?? '']))
  })
}

test('three runs are compared and exported', async ({ app }) => {
  const { page, client } = app
  const runIds = await threeRuns(app)

  await test.step('choose them in the table', async () => {
    await app.open('/runs')
    const seeds = page.getByRole('row', { name: /seed 2 seeds/ })
    await expect(seeds.getByTitle(/^Mean with 95 % interval over 2 seeds at step 3$/)).toHaveText(
      /^\d\.\d+( ± \d\.?\d*)?$/,
    )
    await expect(page.getByRole('link', { name: 'seed-1', exact: true })).toBeHidden()
    await seeds.getByRole('button', { name: 'Runs of seed' }).click()
    await expect(page.getByRole('link', { name: 'seed-1', exact: true })).toBeVisible()
    for (const name of ['all seeds of seed', 'slow'])
      await page.getByRole('checkbox', { name: `Select ${name}`, exact: true }).click()
    await expect(page.getByRole('checkbox', { name: 'Select seed-2' })).toBeChecked()
    await expect(page.getByText('3 runs selected')).toBeVisible()
    expect(await seriousProblems(page)).toEqual([])
    await page.getByRole('button', { name: 'Compare 3 runs' }).click()
    await expect(page).toHaveURL(new RegExp(`#/runs/compare\\?runs=${runIds.join('%2C')}`))
  })

  await test.step('curves, differences, gap', async () => {
    const reward = page.getByRole('region', { name: 'Reward', exact: true })
    await expect(reward.getByRole('slider')).toHaveAccessibleName(/seed-1: Reward .* over 3 steps/)
    // The list beside the panels is the legend of them all.
    await expect(reward.getByRole('listitem')).toHaveCount(0)
    const legend = page.getByRole('complementary', { name: 'Compared runs' })
    for (const name of ['seed-1', 'seed-2', 'slow'])
      await expect(legend.getByText(name, { exact: true }).first()).toBeVisible()
    await reward.getByRole('slider').focus()
    await page.keyboard.press('End')
    await expect(reward.getByRole('slider')).toHaveAttribute('aria-valuetext', /^step 3: /)
    const differences = page.getByRole('group', { name: 'Settings that differ' })
    await expect(differences.getByRole('rowheader')).toHaveText(['Learning rate', 'Seed'])
    await expect(differences.getByRole('rowheader').first()).toHaveAttribute(
      'title',
      'optimization.learningRate',
    )
    await expect(page.getByText(/seeds of “seed” end between/)).toBeVisible()
    await expect(page.getByRole('list', { name: 'Means with 95 % interval' })).toHaveText(
      /^seed · 2 seeds\d\.\d{3}( ± \d\.?\d*)?$/,
    )
    expect(await seriousProblems(page)).toEqual([])
  })

  await test.step('the way it is looked at is in the address', async () => {
    await page.getByLabel('Group runs').selectOption('seed')
    await expect(page.getByRole('radio', { name: '95 % interval' })).toBeChecked()
    await page.getByLabel('X axis').selectOption('time')
    await expect(page).toHaveURL(/x=time/)
    await expect(page.getByText('seed · 2 seeds').first()).toBeVisible()
    await page.reload()
    await expect(page.getByText('seed · 2 seeds').first()).toBeVisible()
    await expect(page.getByLabel('X axis')).toHaveValue('time')
  })

  await test.step('a picture', async () => {
    // A picture has the panels that are there.
    await expect(page.getByRole('slider').nth(3)).toBeVisible()
    const file = await saved(page, 'Panels as PNG')
    const [width, height] = pngSize(file)
    expect(width).toBe(2 * 2 * 720)
    expect(height).toBeGreaterThan(2 * 320)
    expect(file.length).toBeGreaterThan(20_000)
    const svg = (await saved(page, 'Panels as SVG')).toString()
    expect(svg).toMatch(/^<svg /)
    expect(svg).not.toMatch(/var\(|NaN/)
    // Curves with their numbers along both axes, and their names.
    expect(svg).toMatch(/recharts-xAxis-tick-labels[\s\S]*recharts-yAxis-tick-labels/)
    expect(svg).toMatch(/recharts-line-curve/)
  })

  await test.step('every value', async () => {
    const rows = rowsOf((await saved(page, 'All values as CSV')).toString())
    for (const runId of runIds) {
      const table = await client.call('metrics.table', { runId })
      for (const metric of ['reward', 'entropy']) {
        const column = table.metrics.indexOf(metric)
        const expected = table.rows.flatMap(({ step, values }) => {
          const value = values[column] ?? null
          return value === null ? [] : [[String(step), value] as const]
        })
        const found = rows
          .filter((row) => row.get('run') === runId && row.get(metric) !== '')
          .map((row) => [row.get('step'), Number(row.get(metric))])
        expect(expected).toHaveLength(steps)
        expect(found).toEqual(expected)
      }
    }
  })

  await test.step('a report that needs nothing else: it opens where no other machine is', async () => {
    const html = (await saved(page, 'Report as HTML')).toString()
    expect(html).toContain('title="optimization.learningRate">Learning rate<')
    const file = path.join(app.dataDirectory, 'report.html')
    writeFileSync(file, html)
    const browser = page.context().browser()
    const context = await browser!.newContext({ offline: true, colorScheme: 'dark' })
    const offline = await context.newPage()
    const problems: string[] = []
    offline.on('console', (message) => problems.push(message.text()))
    offline.on('request', (request) => {
      if (!request.url().startsWith('file:')) problems.push(request.url())
    })
    await offline.goto(`file://${file}`)
    await expect(offline.getByRole('heading', { level: 1 })).toHaveText(/^Comparison of \d runs$/)
    await expect(offline.getByRole('heading', { name: 'Is the gap real?' })).toBeVisible()
    const chart = offline.getByRole('img', { name: 'Reward', exact: true })
    await expect(chart.locator('path.line').first()).toBeVisible()
    for (const colorScheme of ['dark', 'light'] as const) {
      await offline.emulateMedia({ colorScheme })
      expect(await seriousProblems(offline)).toEqual([])
    }
    await offline.setViewportSize({ width: 390, height: 800 })
    expect(await offline.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
    expect(problems).toEqual([])
    await context.close()
  })
})

test('runs are renamed, tagged, filtered and deleted in the table', async ({ app }) => {
  const { page, client } = app
  const kept = await addTrainedRun(app, 'kept')
  const dropped = await trainDemo(client, { ...demoConfig(), steps: 1, rollout, name: 'dropped' })
  await app.open('/runs')

  await page.getByRole('button', { name: 'Actions of kept' }).click()
  await page.getByRole('menuitem', { name: 'Rename' }).click()
  await page.getByLabel('Name of kept').fill('keeper')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('link', { name: 'keeper' })).toBeVisible()

  await page.getByRole('button', { name: 'Add tags to keeper' }).click()
  await page.getByLabel('Tags of keeper, separated by commas').fill('good, first')
  await page.keyboard.press('Enter')
  await expect
    .poll(async () => (await client.call('runs.get', { runId: kept })).tags.toSorted())
    .toEqual(['first', 'good'])

  await page.getByRole('row').nth(1).focus()
  await page.keyboard.press('x')
  await expect(page.getByText('1 run selected')).toBeVisible()
  await page.keyboard.press('j')
  await page.keyboard.press('x')
  await expect(page.getByText('2 runs selected')).toBeVisible()
  await page.getByRole('button', { name: 'Clear selection' }).click()
  await page.keyboard.press('/')
  await expect(page.getByRole('searchbox', { name: 'Filter runs' })).toBeFocused()
  await page.keyboard.type('drop')
  await expect(page.getByText('1 of 2 runs')).toBeVisible()
  await page.getByRole('checkbox', { name: 'Select dropped' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  const asked = page.getByRole('alertdialog')
  await expect(asked.getByRole('list', { name: 'Runs that are deleted' }).getByRole('listitem')).toHaveText([
    /^dropped/,
  ])
  const remove = page.getByRole('button', { name: 'Delete 1 run' })
  const known = async () => (await client.call('runs.list', {})).map(({ id }) => id).toSorted()
  await remove.click()
  await expect.poll(known).toEqual([kept])

  // Taken back at once, and once more from the trash, with what was written about it.
  await client.call('runs.setNotes', { runId: kept, notes: 'stays' })
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(known).toEqual([kept, dropped].toSorted())
  await client.call('runs.setNotes', { runId: dropped, notes: 'comes back' })
  await page.getByRole('checkbox', { name: 'Select dropped' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await remove.click()
  await page.getByRole('button', { name: 'Deleted (1)' }).click()
  expect(await seriousProblems(page)).toEqual([])
  await page.getByRole('button', { name: 'Restore dropped' }).click()
  await expect(page.getByText('The trash is empty.')).toBeVisible()
  expect(await client.call('runs.get', { runId: dropped })).toMatchObject({
    name: 'dropped',
    notes: 'comes back',
  })
})

const codeOf = (bonus: number): string => `export function short({ completion }) {
  const words = completion.trim().split(/\\s+/).length
  return words < 4 ? ${String(bonus)} : 0
}
`

test('reward code and completions of two runs stand beside each other @whole', async ({ app }) => {
  const { page, client } = app
  const reward = await client.call('rewards.create', { kind: 'reward', name: 'brevity' })
  const runIds: string[] = []
  for (const bonus of [1, 2]) {
    const { file } = await client.call('rewards.save', {
      rewardId: reward.id,
      language: 'ts',
      code: codeOf(bonus),
    })
    const rewards = [{ function: `${file}#short`, name: 'short' }]
    runIds.push(await trainDemo(client, { steps: 1, rollout, rewards, name: `bonus ${String(bonus)}` }))
  }
  await app.open(`/runs/compare?runs=${runIds.join(',')}&baseline=${runIds[0] ?? ''}`)
  const code = page.getByLabel('Code of short')
  await expect(code).toContainText('return words < 4 ? 2 : 0')
  await expect(code).toContainText('return words < 4 ? 1 : 0')
  const prompts = page.getByRole('combobox', { name: 'Prompt', exact: true })
  await expect(prompts.locator('option').first()).toContainText('(2 runs)')
  await page.getByRole('button', { name: 'Next prompt' }).click()
  await expect(page.getByText('eval, greedy')).toHaveCount(2)
})

test('while it is being read, a comparison shows shapes, not an empty field and no values @whole', async ({
  app,
}) => {
  const { page } = app
  const ids = [await addTrainedRun(app, 'first'), await addTrainedRun(app, 'second', 1)]
  const held: (() => void)[] = []
  await page.routeWebSocket(/.*/, (socket) => {
    const server = socket.connectToServer()
    socket.onMessage((message) => {
      const send = () => server.send(message)
      if (String(message).includes('metrics.names')) held.push(send)
      else send()
    })
  })
  await app.open(`/compare?runs=${ids.join(',')}`)
  const list = page.getByRole('complementary', { name: 'Compared runs' })
  await expect(page.getByRole('status', { name: 'Reading the curves…' }).first()).toBeVisible()
  await expect(list.getByRole('status', { name: 'Reading the value…' })).toHaveCount(2)
  await expect(list.getByLabel('Metric of the list')).toHaveCount(0)
  expect(await seriousProblems(page)).toEqual([])
  for (const send of held.splice(0)) send()
  await expect(list.getByLabel('Metric of the list')).toHaveValue('reward')
  await expect(page.getByRole('status', { name: /^Reading the/ })).toHaveCount(0)
})
