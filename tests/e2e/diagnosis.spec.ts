import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { addTrainedRun, demoConfig, demoFile, expect, seriousProblems, test, untilEnded } from './support.ts'

/**
 * Fifty times the demo's learning rate, with a checkpoint after every step and time to be looked at. Only right answers
 * earn: for the format alone, a destroyed policy may earn as much as before, and then nothing has fallen.
 */
const destructive = demoConfig({
  name: 'too fast',
  steps: 400,
  rewards: [{ function: 'starter-correct', name: 'correct', weight: 1 }],
  rollout: { promptsPerStep: 8, groupSize: 4, maxNewTokens: 6 },
  optimization: { learningRate: 0.1 },
  checkpoints: { every: 1, keepLast: 1000 },
  evaluation: { every: 0, rows: 10 },
})

test('a run that destroys its policy says so while it goes on, and the fix goes back to before it @whole', async ({
  app,
}) => {
  const { page } = app
  const { runId } = await app.client.call('runs.start', { config: destructive })
  await app.open(`/runs/${runId}/overview`)
  const alert = page.getByRole('alert').filter({ hasText: 'The policy was destroyed after step' })
  await expect(alert).toBeVisible()
  await expect(page.getByRole('main').locator('header').first()).toContainText('Running')
  await app.client.call('runs.pause', { runId }) // it has gone on; what is read now may stay as it is
  expect(await seriousProblems(page)).toEqual([])

  await app.go('/runs')
  const row = page.getByRole('row').filter({ hasText: 'too fast' })
  await expect(row).toContainText('problem in the diagnosis')
  await app.go('/')
  const home = page
    .getByRole('link')
    .filter({ hasText: 'too fast' })
    .filter({ hasText: 'problem in the diagnosis' })
  await expect(home.first()).toBeVisible()

  await app.go(`/runs/${runId}/samples`)
  await alert.getByRole('button', { name: 'Show diagnosis' }).click()
  // There the finding stands below, with what to do about it.
  await expect(page.getByRole('article').filter({ hasText: 'The policy was destroyed' })).toBeVisible()
  await expect(alert).toBeHidden()
  const { soundUntil } = await app.client.call('runs.diagnosis', { runId })
  expect(soundUntil).not.toBeNull()
  const step = String(soundUntil)
  const card = page.getByRole('article').filter({ hasText: 'The policy was destroyed' })
  await expect(card).toContainText(`Fork from step ${step}, before it began, with a learning rate of 0.001.`)
  await expect(page.getByText('Raise max new tokens')).toBeHidden()
  await card
    .getByRole('button', { name: `Fork from step ${step}` })
    .first()
    .click()
  const dialog = page.getByRole('dialog', { name: `Fork from step ${step}` })
  await expect(dialog.getByRole('textbox', { name: 'Learning rate' })).toHaveValue('0.001')
  await dialog.getByRole('button', { name: 'Cancel' }).click()

  await app.client.call('runs.stop', { runId })
  expect(await untilEnded(app.client, runId)).toBe('stopped')
  await app.go('/runs')
  await expect(row).toContainText('Stopped, problem in the diagnosis')
})

test('where its config wants that, the run ends on it and says which checkpoint is sound', async ({
  app,
}) => {
  const { page } = app
  const config = { ...destructive, name: 'stopped early', diagnosis: { stopOn: 'destroyed' as const } }
  const { runId } = await app.client.call('runs.start', { config })
  expect(await untilEnded(app.client, runId)).toBe('failed')
  await app.open(`/runs/${runId}/overview`)
  const alert = page.getByRole('alert').filter({ hasText: 'Stopped after step' })
  await expect(alert).toContainText(/The checkpoint of step \d+, from before it, is kept\./)
  await expect(page.getByRole('button', { name: /^Resume from/ })).toBeHidden()
  await alert.getByRole('button', { name: 'Show diagnosis' }).click()
  await expect(page.getByRole('article').filter({ hasText: 'The policy was destroyed' })).toBeVisible()
  await expect(alert).toContainText('as “Stop early on a finding” asks. The checkpoint of step')
  await expect(alert).not.toContainText('The policy was destroyed')
  const { step } = await app.client.call('runs.get', { runId })
  expect(step).toBeLessThan(60)
})

test('an update that cannot be right is skipped or ends the run, and the window says which @whole', async ({
  app,
}) => {
  const { page } = app
  const reward = path.join(app.dataDirectory, 'huge.js')
  writeFileSync(reward, 'export default ({ completion }) => 1e30 * completion.length')
  const config = (name: string, unsoundUpdates: 'stop' | 'skip') =>
    demoConfig({
      name,
      data: { train: demoFile('train.jsonl'), prompt: { column: 'prompt' } },
      rewards: [{ function: reward }],
      algorithm: { id: 'rloo', settings: { klCoefficient: 0 } },
      rollout: { promptsPerStep: 2, groupSize: 4, maxNewTokens: 6 },
      optimization: { maxGradNorm: null, unsoundUpdates },
      steps: 2,
    })
  const skipping = await app.client.call('runs.start', { config: config('skips', 'skip') })
  expect(await untilEnded(app.client, skipping.runId)).toBe('finished')
  await app.open(`/runs/${skipping.runId}/overview`)
  await expect(
    page.getByRole('alert').filter({ hasText: '2 updates were skipped since step 1' }),
  ).toBeVisible()
  await app.go(`/runs/${skipping.runId}/log`)
  const words = 'The update of step 2 was skipped, and the adapter left unchanged: the gradient norm became'
  await expect(page.getByText(words)).toBeVisible()

  const stopping = await app.client.call('runs.start', { config: config('stops', 'stop') })
  expect(await untilEnded(app.client, stopping.runId)).toBe('failed')
  await app.go(`/runs/${stopping.runId}/overview`)
  const ended = page.getByRole('alert').filter({ hasText: 'In step 1 the gradient norm became' })
  await expect(ended).toContainText('The adapter is unchanged, and earlier checkpoints are intact.')
  await expect(ended).toContainText('Scale rewards to about 1')
  await app.go(`/runs/${stopping.runId}/diagnosis`)
  const card = page.getByRole('article').filter({ hasText: 'the numbers of an update could not be right' })
  await expect(card).toContainText('Earlier training is intact.')
})

test('of a run that does well the checks are listed with their figures', async ({ app }) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'sound')
  await app.open(`/runs/${runId}/diagnosis`)
  await expect(page.getByText('Nothing looks wrong in steps 1–3.')).toBeVisible()
  const checks = page.getByRole('table', { name: 'Checks' })
  // A figure beside “below the start” must not read as if it were so.
  await expect(checks.getByRole('columnheader', { name: 'Warns when' })).toBeInViewport()
  await expect(checks.getByRole('row').filter({ hasText: 'Truncated completions' })).toContainText(
    'above 50 %',
  )
  expect(await seriousProblems(page)).toEqual([])
})
