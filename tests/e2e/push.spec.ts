/** An export goes from its report to a hub: shown before, after the token was allowed for this hub, and as it is on disk. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { startPushHub } from '../host/hub/pushHub.ts'
import { addTrainedRun, expect, expectNoProblems, seriousProblems, test } from './support.ts'

const token = 'hf_secret-of-the-person'

test('an export is pushed to a hub once the token was allowed, and a refusal says what is there', async ({
  app,
}) => {
  const { page } = app
  await using hub = await startPushHub()
  const before = process.env['HF_TOKEN'] ?? ''
  Object.assign(process.env, { HF_TOKEN: token })
  try {
    await app.restart()
  } finally {
    Object.assign(process.env, { HF_TOKEN: before })
  }
  const runId = await addTrainedRun(app, 'short run')
  await app.client.call('settings.set', { key: 'hub.endpoint', value: hub.endpoint })
  await app.open(`/models/export?run=${runId}&step=1`)
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await expect(page.getByRole('heading', { name: 'Exported and checked' })).toBeVisible()

  const push = page.getByRole('button', { name: 'Push', exact: true })
  await expect(page.getByText(`${hub.endpoint}, private`)).toBeVisible()
  await expect(page.getByText('apache-2.0')).toBeVisible()
  await expect(page.getByText('The card names no base model')).toBeVisible()
  await expect(push).toBeDisabled()
  await page.getByLabel('Repository').fill('me/sums')
  await push.click()
  const question = page.getByRole('dialog', { name: 'Send this key?' })
  await expect(question.getByText('HF_TOKEN', { exact: true })).toBeVisible()
  await expect(question.getByText(hub.endpoint, { exact: true })).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
  expect(hub.asked).toEqual([])
  await question.getByRole('button', { name: 'Allow' }).click()
  await expect(question).toBeHidden()

  hub.faults.set('store', { status: 403, error: `not with ${token}` })
  await push.click()
  await expect(page.getByText('may not write to me/sums. It says: “not with •••”')).toBeVisible()
  await expect(page.getByText('The repository is empty: files come into it all together')).toBeVisible()
  hub.faults.clear()
  await push.click()
  await expect(page.getByText('Sent, private:')).toBeVisible()
  await expect(page.getByText(`${hub.endpoint}/me/sums`)).toBeVisible()
  await expectNoProblems(page)

  const { isPrivate, files } = hub.repositories.get('me/sums')!
  expect(isPrivate).toBe(true)
  const folder = path.join(app.dataDirectory, 'exports', 'short-run-step-1-peft')
  const sent = [...files].filter(([name]) => name !== '.gitattributes')
  expect(sent.map(([name]) => name).toSorted()).toEqual([
    ...['README.md', 'adapter_config.json', 'adapter_model.safetensors', 'parity.json'],
  ])
  for (const [name, content] of sent) expect(content.equals(readFileSync(path.join(folder, name)))).toBe(true)
  expect(
    new Set(hub.asked.map(({ step, authorization }) => [step === 'store', authorization].join())),
  ).toEqual(new Set(['true,', `false,Bearer ${token}`]))
})
