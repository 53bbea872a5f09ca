import { demoConfig, expect, seriousProblems, test, untilEnded } from './support.ts'

const rollout = { promptsPerStep: 2, groupSize: 4, maxNewTokens: 8 }

test('pause a run, change its learning rate and length, and let it go on', async ({ app }) => {
  const { page, client } = app
  const config = demoConfig({ name: 'steered', steps: 900, rollout, checkpoints: { every: 50 } })
  const { runId } = await client.call('runs.start', { config })
  await app.open(`/runs/${runId}/overview`)
  const step = async () => (await client.call('runs.get', { runId })).step
  await expect.poll(step).toBeGreaterThan(1)
  const change = page.getByRole('button', { name: 'Change settings' })
  await expect(change).toBeHidden()
  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  await expect(change).toBeVisible()
  const held = await step()

  // By keyboard alone.
  await change.focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Change settings' })
  await expect(dialog.getByRole('searchbox')).toBeFocused()
  await page.keyboard.type('group size')
  await expect(dialog.getByText('Stays: baselines and advantages')).toBeVisible()
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type('learning rate')
  await dialog.getByRole('button', { name: /^Learning rate/ }).focus()
  await page.keyboard.press('Enter')

  // By mouse.
  const resume = dialog.getByRole('button', { name: /^Resume with/ })
  await expect(resume).toBeDisabled()
  await dialog.getByRole('textbox', { name: 'Learning rate' }).fill('5e-4')
  await dialog.getByRole('searchbox').fill('')
  await dialog.getByRole('button', { name: /^Steps/ }).click()
  await dialog.getByRole('textbox', { name: 'Steps' }).fill('1')
  await expect(dialog.getByText('the run would have nothing left to do')).toBeVisible()
  await expect(resume).toBeDisabled()
  await dialog.getByRole('textbox', { name: 'Steps' }).fill(String(held + 2))
  const effect = dialog.getByRole('region', { name: 'What changes' })
  await expect(effect.getByText(`From step ${String(held + 1)} on`)).toBeVisible()
  await expect(effect.getByText('2 steps left instead of')).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
  await resume.click()
  await expect(dialog).toBeHidden()

  expect(await untilEnded(client, runId)).toBe('finished')
  const run = await client.call('runs.get', { runId })
  expect(run).toMatchObject({ step: held + 2, steps: held + 2 })
  expect(run.settingChanges.map(({ step: at, key, to }) => [at, key, to])).toEqual([
    [held, 'optimization.learningRate', 5e-4],
    [held, 'steps', held + 2],
  ])
  const { learning_rate: rate } = await client.call('metrics.latest', { runId })
  expect(rate?.value).toBeCloseTo(5e-4, 6)
  await page.getByRole('tab', { name: 'Log' }).click()
  await expect(page.getByText(`Settings changed after step ${String(held)}`)).toBeVisible()
  await page.getByRole('tab', { name: 'Config' }).click()
  await expect(page.getByText(`after step ${String(held)}: 0.0005`)).toBeVisible()
})
