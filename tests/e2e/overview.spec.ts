import type { Page } from '@playwright/test'
import { readNumber } from '#renderer/charts/axes.ts'
import { addTrainedRun, demoConfig, expect, test, trainDemo, untilEnded } from './support.ts'

const rollout = { promptsPerStep: 4, groupSize: 4, maxNewTokens: 16 }
const train = (steps: number, name: string) => ({ name, steps, rollout, checkpoints: { every: 2 } })

const region = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
const panel = (page: Page, title: string) =>
  page.locator('section').filter({ has: page.getByRole('heading', { name: title, exact: true }) })
const xAxis = (page: Page) => page.getByRole('combobox', { name: 'X axis' })

test('curves of a run: axis, scale and smoothing, kept for the next run', async ({ app }) => {
  const { page, client } = app
  const [first, second] = [await addTrainedRun(app, 'first'), await addTrainedRun(app, 'second', 1)]
  await app.open(`/runs/${first}/overview`)
  const reward = region(page, 'Reward')
  await expect(reward.locator('.recharts-line-curve').first()).toBeAttached()
  await expect(page.getByRole('list', { name: 'Marks in the charts' })).toHaveText('checkpoint')

  await expect(xAxis(page).getByRole('option')).toHaveText([
    'Step',
    'Training time',
    'Tokens',
    'Trajectories',
  ])
  // Shares are percent, and say so.
  const read = await client.call('metrics.series', { runIds: [first], metric: 'frac_reward_zero_std' })
  const share = read.runs[0]?.points.at(-1)?.last ?? NaN
  const groups = region(page, 'Zero-variance groups')
  await expect(groups.locator('header')).toContainText('%')
  await expect(groups.locator('header')).toContainText(readNumber(100 * share))

  await xAxis(page).selectOption('time')
  await page.getByRole('radio', { name: 'Log' }).click()
  await page.getByRole('slider', { name: 'Smoothing' }).focus()
  await page.keyboard.press('End')
  await expect(page).toHaveURL(/x=time/)
  await expect(page).toHaveURL(/scale=log/)
  await expect(page).toHaveURL(/smoothing=0\.99/)
  // Ticks of a time axis have units.
  await expect(reward.locator('.recharts-xAxis-tick-labels text').last()).toHaveText(/\d (ms|s|min)$/)

  await app.go(`/runs/${second}/overview`)
  await expect(xAxis(page)).toHaveValue('time')
  await expect(page.getByRole('radio', { name: 'Log' })).toBeChecked()
  await xAxis(page).selectOption('step')
  await app.go(`/runs/${first}/overview?x=tokens`)
  await expect(xAxis(page)).toHaveValue('tokens')
})

test('the cursor stands at the step that is named, and its band is told @whole', async ({ app }) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'three steps')
  await app.open(`/runs/${runId}/overview`)
  const reward = region(page, 'Reward')
  const plot = reward.getByRole('slider')
  await expect(reward.locator('.recharts-line-curve').first()).toBeAttached()
  const ticks = await reward.locator('.recharts-xAxis-tick-labels text').allTextContents()
  expect(ticks.at(-1)).toBe('3')
  const box = (await reward.locator('.recharts-cartesian-grid').boundingBox())!
  const [from, to] = [Number(ticks[0]), 3]
  for (const share of [0.31, 0.5, 0.77]) {
    await page.mouse.move(box.x + share * box.width, box.y + 20)
    const words = reward.getByText(/^step \d+$/)
    await expect(words).toBeVisible()
    const step = Number((await words.textContent())?.replace('step ', ''))
    const line = (await plot.locator('.recharts-tooltip-cursor').boundingBox())!
    expect(Math.abs(line.x - box.x - ((step - from) / (to - from)) * box.width)).toBeLessThan(2)
    expect(Math.abs(step - (from + share * (to - from)))).toBeLessThan(1)
  }
  await expect(reward.getByText(/^\d(\.\d+)?–\d(\.\d+)?$/)).toBeVisible()
})

test('charts fill their panels, also beside a taller one', async ({ app }) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'three steps')
  await app.open(`/runs/${runId}/overview`)
  for (const width of [1440, 1024]) {
    await page.setViewportSize({ width, height: 1400 })
    await expect(region(page, 'Gradient norm').locator('.recharts-line-curve').first()).toBeAttached()
    const rest = () =>
      page.locator('[data-chart]').evaluateAll((panels) =>
        panels.flatMap((panel) => {
          const last = panel.lastElementChild!
          const drawn = last.querySelector('svg.recharts-surface') ?? last
          const left = panel.getBoundingClientRect().bottom - drawn.getBoundingClientRect().bottom
          return left < 4 ? [] : [`${String(panel.getAttribute('data-chart'))}: ${String(left)} px`]
        }),
      )
    await expect.poll(rest).toEqual([])
  }
})

test('charts that never move are one line that can be opened @whole', async ({ app }) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'flat')
  await app.open(`/runs/${runId}/overview`)
  const flat = region(page, 'Flat charts').getByRole('button')
  await expect(flat).toContainText('Flat:')
  await expect(flat).toContainText('Reward failures')
  await expect(flat).toContainText('Loss')
  await expect(region(page, 'Reward failures')).toHaveCount(0)
  await expect(region(page, 'Entropy')).toBeVisible()
  await flat.click()
  await expect(region(page, 'Reward failures')).toBeVisible()
  // A loss of 1e-16 is drawn as what it is.
  const loss = region(page, 'Loss')
  await expect(loss).toBeVisible()
  await expect(loss).not.toContainText('e−')
})

test('Home shows what trains, what went wrong and the best of each task', async ({ app }) => {
  const { page, client } = app
  await addTrainedRun(app, 'sums')
  const other = { ...train(2, 'form'), rewards: [{ function: 'starter-format' }] }
  await trainDemo(client, { ...other, checkpoints: { every: 0 } })
  const killed = await client.call('runs.start', { config: demoConfig(train(2000, 'broken')) })
  await expect
    .poll(async () => (await client.call('runs.get', { runId: killed.runId })).step)
    .toBeGreaterThan(1)
  await client.call('runs.kill', { runId: killed.runId })
  await untilEnded(client, killed.runId)
  const living = await client.call('runs.start', { config: demoConfig(train(2000, 'alive')) })
  await app.open('/')
  const now = panel(page, 'Under way')
  await expect(now.getByText('alive', { exact: true })).toBeVisible()
  await expect(now.getByRole('progressbar', { name: 'Steps of alive' })).toBeVisible()
  await expect(now.getByText(/^step [1-9]\d*\/2000$/)).toBeVisible()
  await expect(panel(page, 'Needs attention').getByText('broken', { exact: true })).toBeVisible()
  const tasks = panel(page, 'Best eval reward of each task').getByRole('listitem')
  await expect(tasks).toHaveCount(2)
  await expect(tasks.filter({ hasText: 'starter-format' })).toContainText('1 run')
  await client.call('runs.stop', { runId: living.runId })
  await untilEnded(client, living.runId)
  await expect(now).toHaveCount(0)
})
