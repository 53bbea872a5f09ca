import { formatCount } from '#renderer/client/format.ts'
import type { Page } from '@playwright/test'
import { demoConfig, expect, seriousProblems, test, addTrainedRun, untilEnded, type App } from './support.ts'

/** Steps that take a moment. */
const rollout = { promptsPerStep: 4, groupSize: 4, maxNewTokens: 16 }

/** Long enough to be paused, killed and looked at. */
const longRun = () => demoConfig({ name: 'long', steps: 2000, rollout, checkpoints: { every: 2 } })

async function begin(app: App): Promise<string> {
  const { runId } = await app.client.call('runs.start', { config: longRun() })
  await app.open(`/runs/${runId}/overview`)
  return runId
}

const stepOf = async (app: App, runId: string): Promise<number> =>
  (await app.client.call('runs.get', { runId })).step

/** Waits until so many steps have ended. */
const untilStep = (app: App, runId: string, step: number) =>
  expect.poll(() => stepOf(app, runId)).toBeGreaterThanOrEqual(step)

const header = (page: Page) => page.getByRole('main').locator('header').first()

test('watch a run, pause it, let it go on, stop it', async ({ app }) => {
  const { page } = app
  const runId = await begin(app)
  await expect(header(page).getByText('Running')).toBeVisible()
  await untilStep(app, runId, 3)
  const reward = page.getByRole('region', { name: 'Reward', exact: true })
  await expect(reward.getByRole('slider')).toBeVisible()
  await expect(reward.locator('.recharts-line-curve').first()).toBeAttached()
  await expect(
    page.getByRole('region', { name: 'Reward components' }).getByText('correct', { exact: true }),
  ).toBeVisible()

  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  await expect(header(page).getByText('Paused')).toBeVisible()
  const held = await stepOf(app, runId)
  await page.waitForTimeout(1500)
  expect(await stepOf(app, runId)).toBe(held)
  expect(await seriousProblems(page)).toEqual([])

  await page.getByRole('button', { name: 'Resume', exact: true }).click()
  await untilStep(app, runId, held + 2)
  await page.getByRole('button', { name: 'Stop and save' }).click()
  expect(await untilEnded(app.client, runId)).toBe('stopped')
  await expect(header(page).getByText('Stopped')).toBeVisible()
  await expect(reward.locator('.recharts-line-curve').first()).toBeAttached()
  const kept = await app.client.call('checkpoints.list', { runId })
  expect(kept.at(-1)?.step).toBe(await stepOf(app, runId))
})

test('fork from a checkpoint with another learning rate @whole', async ({ app }) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'parent')
  await app.open(`/runs/${runId}/checkpoints`)
  await expect(page.getByRole('table', { name: 'Checkpoints' }).getByText('Best')).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
  await page.getByRole('button', { name: 'Fork from step 3' }).click()
  const dialog = page.getByRole('dialog', { name: 'Fork from step 3' })
  await dialog.getByRole('searchbox').fill('learning rate')
  await dialog.getByRole('button', { name: /^Learning rate/ }).click()
  await dialog.getByRole('textbox', { name: 'Learning rate' }).fill('5e-4')
  expect(await seriousProblems(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Fork with 2 changes' }).click()
  await expect(dialog).toBeHidden()
  await expect(page).not.toHaveURL(new RegExp(runId))

  const forks = (await app.client.call('runs.family', { runId })).filter(({ id }) => id !== runId)
  expect(forks).toHaveLength(1)
  const fork = await app.client.call('runs.get', { runId: forks[0]?.id ?? '' })
  expect(fork).toMatchObject({ parentRunId: runId, parentCheckpointStep: 3 })
  expect(JSON.parse(fork.config)).toMatchObject({ steps: 6, optimization: { learningRate: 5e-4 } })
  expect(await untilEnded(app.client, fork.id)).toBe('finished')
  await app.go(`/runs/${fork.id}/checkpoints`)
  // The notice of the fork says it too, for a while.
  await expect(page.getByText('from step 3', { exact: true })).toBeVisible()
})

test('read a completion token by token and score an edited copy of it', async ({ app }) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'read')
  const [right] = await app.client.call('samples.list', {
    runId,
    step: 0,
    source: 'evaluation',
    minReward: 1,
  })
  if (right === undefined) throw new Error('Expected a right answer.')
  await app.open(`/runs/${runId}/samples?source=evaluation&step=0&sample=${String(right.id)}`)
  const completion = page.getByRole('region', { name: 'Completion', exact: true })
  const tokens = completion.getByRole('group', { name: /^Tokens/ })
  await tokens.focus()
  await page.keyboard.press('ArrowRight')
  await expect(completion.getByText(/^token \d+ “.*” · probability \d/)).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])

  await completion.getByRole('button', { name: 'Show the tokens as a table' }).click()
  await expect(completion.getByRole('columnheader', { name: 'Probability' })).toBeVisible()

  await completion.getByRole('button', { name: 'Edit a copy' }).click()
  const edited = completion.getByRole('region', { name: 'Edited copy' })
  await expect(edited.getByText('as before')).toBeVisible()
  await edited.getByLabel('Completion to score').fill('I will not say')
  await expect(edited.getByText('correct lost')).toBeVisible()
  const kept = await app.client.call('samples.get', { sampleId: right.id })
  expect(kept).toEqual(right)

  await completion.getByRole('button', { name: /^Row \d+ of the data/ }).click()
  await expect(completion.getByText('answer', { exact: true })).toBeVisible()
})

test('brackets walk through the steps, J and K through the completions', async ({ app }) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'walked through')
  await app.open(`/runs/${runId}/samples`)
  const expectPromptsOf = async (step: number) => {
    const [first] = await app.client.call('samples.list', { runId, step, source: 'rollout' })
    const number = formatCount((first?.dataRow ?? NaN) + 1)
    await expect(page.getByRole('option', { name: `row ${number}` })).toBeVisible()
  }
  await expectPromptsOf(3)
  await page.keyboard.press('BracketLeft')
  await expect(page).toHaveURL(/step=2/)
  await expectPromptsOf(2)
  await page.keyboard.press('j')
  await expect(page).toHaveURL(/sample=\d+/)
  await expect(page.getByRole('heading', { name: /^Completion 2 of/ })).toBeVisible()
  await page.keyboard.press('k')
  await expect(page.getByRole('heading', { name: /^Completion 1 of/ })).toBeVisible()
  await page.getByRole('radio', { name: 'Eval' }).click()
  await page.getByRole('radio', { name: 'Over time' }).click()
  await expect(page.getByRole('listbox', { name: 'Steps of this prompt' }).getByRole('option')).toHaveCount(2)
})

test('kill the process of a run and resume it from its page @whole', async ({ app }) => {
  const { page } = app
  const runId = await begin(app)
  await untilStep(app, runId, 4)
  const [worker] = await app.client.call('runs.workers', undefined)
  if (worker?.pid == null) throw new Error('Expected a process that trains.')
  process.kill(worker.pid, 'SIGKILL')
  const alert = page.getByRole('alert')
  await expect(alert).toContainText(/Checkpoint \d+ is complete/)
  expect(await seriousProblems(page)).toEqual([])
  const before = await stepOf(app, runId)
  await alert.getByRole('button', { name: /^Resume from \d+/ }).click()
  await expect(header(page).getByText('Running')).toBeVisible()
  await expect(alert).toBeHidden()
  await untilStep(app, runId, before + 2)
  await app.go(`/runs/${runId}/log`)
  await expect(page.getByText('Resumed from a checkpoint')).toBeVisible()
  await app.client.call('runs.kill', { runId })
  await untilEnded(app.client, runId)
})

test('close the page during a run and come back @whole', async ({ app }) => {
  const { page } = app
  const runId = await begin(app)
  await untilStep(app, runId, 2)
  const before = await stepOf(app, runId)
  await page.goto('about:blank')
  await untilStep(app, runId, before + 2)
  await app.open(`/runs/${runId}/overview`)
  await expect(header(page).getByText('Running')).toBeVisible()
  const plot = page.getByRole('region', { name: 'Reward', exact: true }).getByRole('slider')
  await plot.focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Show its samples' }).click()
  await expect(page).toHaveURL(/samples\?step=\d+$/)
  await app.client.call('runs.kill', { runId })
  await untilEnded(app.client, runId)
})

test('name, tags and deletion of a run', async ({ app }) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'first try')
  await app.open(`/runs/${runId}`)
  await page.getByRole('button', { name: 'first try, rename' }).click()
  await page.getByLabel('Name of the run').fill('sums, small steps')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('button', { name: 'sums, small steps, rename' })).toBeVisible()

  await app.go('/runs') // in a window of 1280 pixels the name is whole
  const listed = page.getByRole('table', { name: 'Runs' }).getByRole('link', { name: 'sums, small steps' })
  const widths = listed
    .locator('span[aria-hidden]')
    .first()
    .evaluate(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])
  const [wanted, given] = await widths
  expect(wanted).toBe(given)
  await app.go(`/runs/${runId}`)

  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Tags and notes' }).click()
  const dialog = page.getByRole('dialog', { name: 'Tags and notes' })
  await dialog.getByLabel('Tags').fill('keep')
  await dialog.getByLabel('Notes').fill('Reward rises at once.')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(dialog).toBeHidden()
  expect(await app.client.call('runs.get', { runId })).toMatchObject({
    tags: ['keep'],
    notes: 'Reward rises at once.',
  })

  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  const asked = page.getByRole('alertdialog')
  await expect(asked.getByRole('list', { name: 'Runs that are deleted' }).getByRole('listitem')).toHaveCount(
    1,
  )
  await asked.getByRole('button', { name: 'Delete 1 run' }).click()
  await expect(page).toHaveURL(/#\/runs$/)
  expect(await app.client.call('runs.list', {})).toEqual([])
})
