/** The way that most people take, with the settings that the program comes with: check, start, watch, compare, export, chat. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect, test, addTrainedRun } from './support.ts'

test('the sample run is checked, started, watched, compared, exported and talked to', async ({ app }) => {
  const { page, client, dataDirectory } = app
  const other = await addTrainedRun(app, 'other')

  await test.step('checked', async () => {
    await app.open('/new-run')
    await page.getByRole('button', { name: 'Fill in the sample run' }).click()
    await expect(page.getByText('The settings fit together')).toBeVisible()
    await page.keyboard.press('Control+Enter')
    await expect(page.getByText('First completions')).toBeVisible()
    await expect(page.getByText('30 steps and 4 evaluations')).toBeVisible()
    await expect(page.getByRole('alert')).toHaveCount(0)
  })

  const runId = await test.step('started and watched', async () => {
    await page.keyboard.press('Control+Enter')
    await page.waitForURL(/#\/runs\/run_/)
    const chart = page.locator('[data-chart]').first()
    await expect(chart.locator('.recharts-line-curve').first()).toBeAttached()
    const id = /run_[0-9a-f-]+/.exec(page.url())?.[0] ?? ''
    await expect.poll(async () => (await client.call('runs.get', { runId: id })).status).toBe('finished')
    const { rewardBefore, rewardAfter, steps } = await client.call('runs.get', { runId: id })
    expect(steps).toBe(30)
    expect((rewardAfter ?? 0) - (rewardBefore ?? 0)).toBeGreaterThan(0.25)
    return id
  })

  await test.step('compared', async () => {
    await app.go(`/runs/compare?runs=${runId},${other}`)
    const reward = page.getByRole('region', { name: 'Reward', exact: true })
    const legend = page.getByRole('complementary', { name: 'Compared runs' })
    await expect(legend.getByText('other', { exact: true }).first()).toBeVisible()
    await expect(reward.locator('.recharts-line-curve').first()).toBeAttached()
  })

  await test.step('exported', async () => {
    await app.go(`/models/export?run=${runId}`)
    await page.getByRole('button', { name: 'Export', exact: true }).click()
    await expect(page.getByRole('heading', { name: 'Exported and checked' })).toBeVisible()
    await expect(page.getByText('Passed')).toHaveCount(4)
    const folder = await page
      .getByRole('main')
      .getByText(path.join(dataDirectory, 'exports'))
      .first()
      .innerText()
    expect(existsSync(path.join(folder.trim(), 'adapter_model.safetensors'))).toBe(true)
  })

  await test.step('talked to', async () => {
    await app.go(`/runs/${runId}/checkpoints`)
    await page.getByRole('button', { name: 'Chat with step 30' }).click()
    await page.getByLabel('Message', { exact: true }).fill('Sort 8 0 5 7')
    await page.getByRole('button', { name: 'Send' }).click()
    await expect(page.getByText(/\d+ tokens · .* · seed \d+/).first()).toBeVisible()
  })
})
