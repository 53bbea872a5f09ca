/** What a search says of its settings: brushed by mouse and by keyboard, and compared. */
import type { Locator } from '@playwright/test'
import { demoConfig, expect, seriousProblems, test, type App } from './support.ts'

const rollout = { promptsPerStep: 2, groupSize: 2, maxNewTokens: 4 }
const evaluation = { every: 1, rows: 2 }
const parameters = {
  'optimization.learningRate': { min: 1e-5, max: 1e-2 },
  'rollout.temperature': { values: [0.8, 1.2] },
}

/** Four trials: two learning rates with two temperatures each. */
async function openSweep({ client, open }: App): Promise<void> {
  const sweep = { method: 'grid', points: 2, parameters }
  const file = { ...demoConfig(), steps: 1, rollout, evaluation, sweep }
  const { id } = await client.call('studies.start', { file })
  for await (const _ of client.follow('studies.watch')) {
    const { status } = await client.call('studies.get', { id })
    if (status === 'finished') break
    expect(status).toMatch(/running|waiting/)
  }
  await open(`/runs/studies/${id}?tab=settings`)
}

async function center(end: Locator): Promise<{ readonly x: number; readonly y: number }> {
  const box = await end.boundingBox()
  if (box === null) throw new Error('Expected the axis to be in sight.')
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
}

test('trials of a sweep are brushed by mouse and by keyboard, several axes at once, and compared', async ({
  app,
}) => {
  const { page } = app
  await openSweep(app)
  await expect(page.getByText('4 results so far. It takes 12 to tell what each setting does.')).toBeVisible()
  const chart = page.getByRole('group', { name: 'Settings of each trial and its result' })
  const end = (name: string) => chart.getByRole('slider', { name, exact: true })
  const rows = page.getByRole('table', { name: 'Trials' }).getByRole('row')
  const count = page.getByRole('status').filter({ hasText: 'trials' })
  await expect(count).toHaveText('4 trials')
  await chart.scrollIntoViewIfNeeded()

  await test.step('a stretch drawn with the mouse', async () => {
    const [from, to] = [await center(end('Learning rate, from')), await center(end('Learning rate, to'))]
    await page.mouse.move(to.x, to.y + 5)
    await page.mouse.down()
    await page.mouse.move(to.x, (from.y + to.y) / 2, { steps: 4 })
    await page.mouse.up()
    await expect(count).toHaveText('2 of 4 trials')
    await expect(rows).toHaveCount(3)
  })

  await test.step('the end of another axis moved by keys', async () => {
    const temperature = end('Temperature, to')
    await temperature.focus()
    await expect(temperature).toHaveAttribute('aria-valuetext', '1.2')
    await temperature.press('ArrowDown')
    await expect(temperature).toHaveAttribute('aria-valuetext', '0.8')
    await expect(count).toHaveText('1 of 4 trials')
    await expect(page.getByRole('button', { name: 'Compare these' })).toBeDisabled()
    await temperature.press('Escape')
    await expect(count).toHaveText('2 of 4 trials')
  })

  expect(await seriousProblems(page)).toEqual([])
  await page.getByRole('button', { name: 'Compare these' }).click()
  await page.waitForURL(/#\/runs\/compare\?runs=/)
  await expect(page.getByRole('complementary', { name: 'Compared runs' }).getByRole('link')).toHaveCount(2)
  await page.goBack()

  await test.step('a click on an axis lets its brush go', async () => {
    await expect(count).toHaveText('4 trials')
    const from = end('Learning rate, from')
    await from.focus()
    await from.press('End')
    await expect(count).toHaveText('2 of 4 trials')
    const { x, y } = await center(from)
    await page.mouse.click(x, y + 40)
    await expect(count).toHaveText('4 trials')
  })
})
