/** Writing a workflow: from the gallery over a request that is wrong, step by step, to a run that plays it. */
import type { Locator, Page } from '@playwright/test'
import { demoConfig, demoFile, expect, openView, seriousProblems, test, untilEnded } from './support.ts'

const editor = (page: Page): Locator => page.getByRole('textbox', { name: 'Workflow code' })

/** Replaces all of the code. */
async function write(page: Page, code: string): Promise<void> {
  await editor(page).click()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.insertText(code)
}

const endless = `export default defineWorkflow({
  async episode({ prompt, engine }) {
    for (;;) await engine.generate({ ids: prompt.ids })
  },
})
`

/** The second row, a reward that tools.rewards asks, and short answers. */
async function choose(page: Page): Promise<void> {
  const trial = page.getByRole('region', { name: 'Trial' })
  await expect(trial.getByText('Largest of 4 0 1 0')).toBeVisible()
  await trial.getByRole('button', { name: 'Row after' }).click()
  await expect(trial.getByRole('textbox', { name: /^Row of/ })).toHaveValue('2')
  await trial.getByRole('button', { name: 'Add reward' }).click()
  // The press that opened the menu may end over an item of it.
  await page.getByRole('menuitem', { name: 'length-penalty' }).dispatchEvent('pointerup', { button: 0 })
  await page.getByRole('menuitem', { name: 'starter-correct' }).click()
  await trial.getByLabel('Max new tokens').fill('12')
}

test('a copy of self-correction is broken, repaired, stepped through and trained with @whole', async ({
  app,
}) => {
  const { page, client } = app
  const source = { path: demoFile('train.jsonl') }
  for await (const _ of client.stream('datasets.import', { source, name: 'demo-tasks' })) continue
  await app.open()
  await page.keyboard.press('3')
  await page.getByRole('button', { name: 'Show advanced' }).click()
  await page.getByRole('link', { name: 'Workflows' }).click()
  await expect(openView(page)).toHaveText('Workflows')
  await page.getByRole('link', { name: 'Self-correction', exact: true }).click()
  await page.getByRole('button', { name: 'Make a copy' }).click()
  await expect(editor(page)).toBeVisible()
  const [workflow] = await client.call('rewards.list', { kind: 'workflow' })
  expect(workflow?.name).toBe('Self-correction copy')
  const [first] = await client.call('rewards.versions', { rewardId: workflow!.id })
  // Every answer is told to be wrong, so that there are two turns.
  const code = first!.code.replace('passing: 1,', 'passing: 2,').replace('attempts: 3', 'attempts: 2')
  await choose(page)

  await test.step('the editor knows requests, and a name that is none stands out', async () => {
    await write(page, code.replace('engine.generate({ ids })', 'engine.generate({ ids, maxTokens: 3 })'))
    await expect(page.locator('.cm-lintRange-error').filter({ hasText: 'maxTokens' })).toBeVisible()
    await expect(page.getByText('Loads, 1 type error', { exact: true })).toBeVisible()
    await page.keyboard.press('ControlOrMeta+Enter')
    await expect(page.getByRole('region', { name: 'Result' })).toContainText(/The episode failed.*maxTokens/)
  })

  await test.step('an exception is told on its line', async () => {
    await write(page, code.replace('const [own] =', 'ids.nothing.here\n      const [own] ='))
    await page.keyboard.press('ControlOrMeta+Enter')
    await expect(page.locator('.cm-tw-failed')).toContainText('ids.nothing.here')
    await expect(page.getByRole('list', { name: 'Requests' }).getByRole('region')).toHaveCount(1)
  })

  await test.step('repaired and saved, it is gone through request by request', async () => {
    await write(page, code)
    await expect(page.getByText('Loads. A workflow: episode')).toBeVisible()
    await page.keyboard.press('ControlOrMeta+s')
    await expect(page.getByText('Version 2 is saved.')).toBeVisible()
    const requests = page.getByRole('list', { name: 'Requests' }).getByRole('region')
    const step = page.getByRole('button', { name: 'Step', exact: true })
    await step.click()
    await expect(requests).toHaveCount(1)
    await expect(requests.first()).toContainText('engine.generate')
    await expect(requests.first().getByRole('list', { name: 'Completions' })).toContainText('log-probability')
    await expect(page.getByText('1 request in 1 round so far')).toBeVisible()
    await step.focus()
    await page.keyboard.press('Enter')
    await expect(requests).toHaveCount(2)
    await expect(requests.nth(1)).toContainText('tools.rewards')
    await expect(requests.nth(1)).toContainText('Judged')
    await page.getByRole('button', { name: 'Play on' }).click()
    await expect(requests).toHaveCount(5)
    await expect(requests.nth(2)).toContainText('That is not right. Try again.')
  })

  await test.step('the trajectory tells what is learned from', async () => {
    const result = page.getByRole('region', { name: 'Result' })
    await expect(result).toContainText('1 trajectory after 5 requests in 5 rounds.')
    const trajectory = result.getByRole('region', { name: 'Trajectory' })
    for (const title of ['Prompt', 'Turn 1', 'Answer to turn 1', 'Turn 2'])
      await expect(trajectory.getByText(title, { exact: true })).toBeVisible()
    const coloured = () =>
      trajectory
        .locator('[data-token]')
        .evaluateAll((tokens) => tokens.filter((each) => each.matches('[style*=background]')).length)
    const learned = await trajectory.getByText(/learned from$/).textContent()
    expect(await coloured()).toBe(Number(learned?.split(' ')[0]))
    await trajectory.getByLabel('Colour by').selectOption('Reward')
    await expect(trajectory.getByRole('figure', { name: /^Colours of reward/ })).toBeVisible()
    await trajectory.getByLabel('Colour by').selectOption('Nothing')
    expect(await coloured()).toBe(0)
    expect(await seriousProblems(page)).toEqual([])
  })

  await test.step('an episode without an end is stopped', async () => {
    await write(page, endless)
    await page.getByRole('button', { name: 'Play', exact: true }).click()
    await page.getByRole('button', { name: 'Stop' }).click()
    await expect(page.getByText('Stopped before its end.')).toBeVisible()
    await expect(page.getByRole('region', { name: 'Result' })).toHaveCount(0)
    await page.getByRole('button', { name: 'Discard changes' }).click()
  })

  await test.step('New run takes it, with its settings', async () => {
    await page.getByRole('button', { name: 'Train with it' }).click()
    await page
      .getByRole('heading', { level: 2, name: /reward/i })
      .getByRole('button')
      .click()
    const field = page.getByLabel('Workflow', { exact: true })
    await expect(field).toHaveValue(workflow!.id)
    await expect(page.getByLabel('attempts')).toHaveValue('2')
    await field.selectOption('None: one completion of each prompt, or the environment')
    await expect(page.getByLabel('attempts')).toHaveCount(0)
    await field.selectOption('Copy of Tree of turns')
    await expect(page.getByLabel('branches')).toHaveValue('2')
    expect(await seriousProblems(page)).toEqual([])
  })

  const [newest] = await client.call('rewards.versions', { rewardId: workflow!.id })
  const rollout = { workflow: { function: newest!.file }, promptsPerStep: 4, groupSize: 4, maxNewTokens: 12 }
  const { runId } = await client.call('runs.start', {
    config: demoConfig({
      name: 'Asked twice',
      rollout,
      steps: 1,
      rewards: [{ function: 'starter-correct' }],
    }),
  })
  expect(await untilEnded(client, runId)).toBe('finished')

  await test.step('samples of the run show turns, answers of tools and rewards of turns', async () => {
    await app.go(`/runs/${runId}/samples?step=1`)
    await expect(page.getByText('Answer to turn 1', { exact: true })).toBeVisible()
    await page.getByLabel('Colour by').selectOption('Reward')
    await expect(page.getByRole('figure', { name: /^Colours of reward/ })).toBeVisible()
  })

  await test.step('the workflow knows its runs', async () => {
    await app.go(`/rewards/workflows/${workflow!.id}`)
    await page.getByRole('tab', { name: /^Used by/ }).click()
    await expect(page.getByRole('table', { name: 'Runs' }).getByText('Asked twice')).toBeVisible()
  })
})

test('an episode on a row by hand fits a narrow window', async ({ app }) => {
  const { page } = app
  await page.setViewportSize({ width: 390, height: 844 })
  await app.open('/rewards/workflows/gallery.tree')
  await expect(page.getByRole('button', { name: 'Play', exact: true })).toBeVisible()
  const tab = page.getByRole('tabpanel', { name: 'Try' })
  const row = page.getByRole('region', { name: 'Trial' }).getByLabel('Row', { exact: true })
  await row.fill('{"prompt": "Add 3 and 4."}')
  await tab.scrollIntoViewIfNeeded()
  await page.getByRole('button', { name: 'Play the episode' }).click()
  await expect(page.getByRole('region', { name: 'Result' })).toBeVisible()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  expect(await seriousProblems(page)).toEqual([])
})
