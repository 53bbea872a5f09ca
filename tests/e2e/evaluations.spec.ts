import path from 'node:path'
import type { Api } from '#shared/api/api.ts'
import type { Client } from '#shared/api/client.ts'
import { addTrainedRun, demoFile, expect, seriousProblems, starter, test, trainDemo } from './support.ts'

const over = (client: Client<Api>) =>
  expect
    .poll(async () => (await client.call('evaluations.list', {})).map(({ status }) => status))
    .not.toEqual(expect.arrayContaining([expect.stringMatching(/waiting|running/)]))

test('a checkpoint is evaluated beside its base model, whether anybody looks or not', async ({ app }) => {
  const { page, client } = app
  const runId = await addTrainedRun(app, 'three steps')
  await app.open(`/runs/${runId}/checkpoints`)
  await page.getByRole('button', { name: 'Evaluate step 3' }).click()
  const form = page.getByRole('dialog', { name: 'Evaluate' })
  await expect(form).toContainText('The run’s validation rows and prompts, scored by correct, format.')
  await expect(form.getByRole('button', { name: 'Model' }).first()).toBeFocused()
  await expect(form.getByRole('checkbox', { name: 'Also evaluate the base model' })).toBeChecked()
  expect(await seriousProblems(page)).toEqual([])
  await form.getByRole('button', { name: 'Evaluate', exact: true }).click()
  await expect(page.getByRole('heading', { name: 'three steps, step 3' })).toBeVisible()
  await page.goto('about:blank')
  await over(client)

  await app.open('/playground/evaluate')
  const table = page.getByRole('table', { name: 'Evaluations' })
  await expect(table.getByRole('row')).toHaveCount(3)
  const all = await client.call('evaluations.list', { runId })
  const [base, trained] = [null, 3].map((step) => all.find((each) => each.step === step)!)
  const verdict = await client.call('evaluations.compare', { a: base!.id, b: trained!.id })
  await expect(page.getByText(verdict.words)).toBeVisible() // of either
  await table.getByRole('row', { name: /three steps, step 3/ }).click()
  await expect(page.getByText(verdict.words)).toBeVisible()
  await expect(page.getByRole('heading', { name: 'Result on 150 prompts' })).toBeVisible()

  await page.getByLabel('Column', { exact: true }).selectOption('task')
  const groups = page.getByRole('table', { name: 'Means by task' })
  await expect(groups.getByRole('row')).toHaveCount(6)
  await expect(page.getByText('Please add 42 and 45')).toBeVisible()
  await page.getByRole('button', { name: 'Next' }).click()
  await expect(page.getByText('21–40 of 150 prompts')).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
})

test('several models are evaluated at once, on the same rows, and compared with each other', async ({
  app,
}) => {
  const { page, client } = app
  const runId = await addTrainedRun(app, 'three steps')
  const chosen = [2, 3].map(
    (step, at) => `${'ab'[at] ?? ''}=${encodeURIComponent(`${starter}~${runId}@${step}`)}`,
  )
  await app.open(`/playground/evaluate?${chosen.join('&')}&new=any`)
  const form = page.getByRole('dialog', { name: 'Evaluate' })
  await expect(form.getByRole('button', { name: /^Model [12]/ })).toHaveCount(2)
  await form.getByRole('checkbox', { name: 'Also evaluate the base model' }).uncheck()
  await form.getByRole('button', { name: 'Evaluate', exact: true }).click()
  await expect.poll(async () => (await client.call('evaluations.list', {})).length).toBe(2)
  await over(client)
  const all = await client.call('evaluations.list', { runId })
  expect(all.map(({ step, status }) => `${String(step)} ${status}`).sort()).toEqual([
    '2 finished',
    '3 finished',
  ])
  await page
    .getByRole('table', { name: 'Evaluations' })
    .getByRole('row', { name: /step 3/ })
    .click()
  const [a, b] = [2, 3].map((step) => all.find((each) => each.step === step)!.id)
  const verdict = await client.call('evaluations.compare', { a: a!, b: b! })
  // Without a base model, the only other one is what it is compared with.
  await expect(page.getByText(verdict.words)).toBeVisible()
})

test('a checkpoint of a run with a workflow is played by it, or without @whole', async ({ app }) => {
  const { page, client } = app
  const file = path.join(import.meta.dirname, '../../resources/workflows/self-correction.ts')
  const rollout = { promptsPerStep: 4, groupSize: 4, maxNewTokens: 16, workflow: { function: file } }
  const runId = await trainDemo(client, { steps: 1, rollout })
  await app.open(`/runs/${runId}/checkpoints`)
  await page.getByRole('button', { name: 'Evaluate step 1' }).click()
  const form = page.getByRole('dialog', { name: 'Evaluate' })
  const workflow = form.getByRole('combobox', { name: 'Workflow' })
  await expect(workflow).not.toHaveValue('')
  expect(await seriousProblems(page)).toEqual([])
  await form.getByRole('textbox', { name: 'Number of rows' }).fill('4')
  await form.getByText('Also evaluate the base model').click()
  await form.getByRole('button', { name: 'Evaluate', exact: true }).click()
  await expect(page.getByRole('heading', { name: 'Result on 4 prompts' })).toBeVisible()
  await expect(page.getByText('self-correction.ts')).toBeVisible()
  await expect(page.getByText('Metric “attempts”')).toBeVisible()

  await app.open(`/runs/${runId}/checkpoints`)
  await page.getByRole('button', { name: 'Evaluate step 1' }).click()
  await workflow.selectOption('')
  await form.getByRole('textbox', { name: 'Number of rows' }).fill('4')
  await form.getByRole('button', { name: 'Evaluate', exact: true }).click()
  await expect.poll(async () => (await client.call('evaluations.list', { runId })).length).toBe(3)
  await over(client)
  const all = await client.call('evaluations.list', { runId })
  expect(all.map(({ step, config }) => [step, config.rollout.workflow?.function ?? null])).toEqual([
    [null, null],
    [1, null],
    [1, file],
  ])
})

test('a model on a data set, sampled: stopped, gone on with, deleted @whole', async ({ app }) => {
  const { page, client } = app
  const source = { path: demoFile('heldout.jsonl') }
  for await (const _ of client.stream('datasets.import', { source, name: 'tasks' }));
  await app.open(`/playground/evaluate?new=any&a=${encodeURIComponent(starter)}`)
  const form = page.getByRole('dialog', { name: 'Evaluate' })
  await expect(form.getByRole('button', { name: 'Evaluate', exact: true })).toBeDisabled()
  await form.getByRole('button', { name: 'Data set' }).click()
  await page.getByRole('option', { name: /tasks/ }).click()
  await form.getByRole('button', { name: 'Add reward' }).click()
  await page.getByRole('menuitem', { name: 'exact-match' }).click()
  await form.getByText('Sampled: several completions').click()
  await form.getByRole('textbox', { name: 'Samples per prompt' }).fill('256')
  await form.getByRole('textbox', { name: 'Number of rows' }).fill('6')
  await form.getByRole('button', { name: 'Evaluate', exact: true }).click()
  await page.getByRole('button', { name: 'Stop' }).click()
  await expect(page.getByText(/^Stopped after \d of 6 prompts/)).toBeVisible()
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect(page.getByRole('heading', { name: 'Result on 6 prompts' })).toBeVisible()
  await expect(page.getByText('pass@256')).toBeVisible()
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete evaluation' }).click()
  await expect(page.getByText('Did it get better?')).toBeVisible()
  expect(await client.call('evaluations.list', {})).toEqual([])
})
