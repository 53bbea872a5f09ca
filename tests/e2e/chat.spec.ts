import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { writeCallingModel } from '../host/environments/callingModel.ts'
import { expect, seriousProblems, test, addTrainedRun, trainDemo } from './support.ts'

test('checkpoints are talked to side by side, edited, read token by token and kept', async ({ app }) => {
  const { page, client } = app
  const runId = await addTrainedRun(app, 'two steps')
  await app.open(`/runs/${runId}/checkpoints`)
  await page.getByRole('button', { name: 'Chat with step 2' }).click()
  await expect(page.getByText(/Loading it takes about .* of memory in f32/)).toBeVisible()
  await page.getByRole('button', { name: 'Settings' }).click()
  await page.getByLabel('Temperature', { exact: true }).fill('0')
  await page.getByRole('button', { name: 'Settings' }).click()
  await page.getByRole('button', { name: 'Add a model: Add one to compare' }).click()
  await page.getByRole('option', { name: /^starter/ }).click()
  await page.getByLabel('Message', { exact: true }).fill('What is 2 + 3?')
  await page.getByRole('button', { name: 'Send' }).click()

  const trained = page.getByRole('article', { name: 'Answer of two steps · step 2' })
  const base = page.getByRole('article', { name: 'Answer of starter' })
  await expect(trained.getByText(/\d+ tokens · .* · seed \d+/)).toBeVisible()
  await expect(base.getByText(/\d+ tokens · .* · seed \d+/)).toBeVisible()
  await expect(page.getByText(/Loaded: about/)).toBeVisible()
  await expect(page.getByText(/[1-9]\d* of 128 tokens of context/)).toBeVisible()

  await base.getByRole('button', { name: 'Token probabilities: starter' }).click()
  await base.locator('[data-token="0"]').hover()
  await expect(base.getByRole('status')).toContainText(/“.*” .* % instead: “/)
  expect(await seriousProblems(page)).toEqual([])

  await base.getByRole('button', { name: 'Good answer: starter' }).click()
  await expect(base.getByRole('button', { name: 'Good answer: starter' })).toHaveAttribute(
    'aria-pressed',
    'true',
  )
  await trained.getByRole('button', { name: /^Bad answer/ }).click()
  await page.getByRole('button', { name: 'Edit message 1' }).click()
  await page.getByLabel('Edit message 1').fill('Sort 8 0 5 7')
  await page.getByRole('button', { name: 'Answer again', exact: true }).click()
  await expect(page.getByRole('region', { name: 'Turn 1' })).toContainText('Sort 8 0 5 7')
  await expect(base.getByText(/\d+ tokens · .* · seed \d+/)).toBeVisible()

  const [kept] = await client.call('chat.list')
  await page.goto('about:blank')
  await app.restart()
  await app.open(`/playground/chat/${kept?.id ?? ''}`)
  await expect(page.getByRole('region', { name: 'Turn 1' })).toContainText('Sort 8 0 5 7')
  await expect(trained).toBeVisible()
  await page.getByRole('button', { name: 'More for this conversation' }).click()
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  await page.getByRole('button', { name: 'Delete conversation' }).click()
  await expect(page.getByText('was deleted.')).toBeVisible()
  expect(await app.client.call('chat.list')).toEqual([])
})

test('by keyboard: sent, stopped, answered again, renamed and copied @whole', async ({ app }) => {
  const { page, client } = app
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await app.open()
  await page.keyboard.press('5')
  const message = page.getByLabel('Message', { exact: true })
  await expect(message).toBeFocused()
  // At such a temperature nearly every token is as likely: the answer goes on to the end of the context.
  const settings = page.getByRole('button', { name: 'Settings' })
  await settings.focus()
  await page.keyboard.press('Enter')
  await page.getByLabel('Temperature', { exact: true }).fill('1000')
  await page.getByLabel('Seed', { exact: true }).fill('1')
  await message.focus()
  await page.keyboard.type('Count')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('button', { name: 'Stop' })).toBeVisible()
  await expect(page.getByRole('article').getByText(/^\d+ tokens?/)).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(
    page.getByRole('article').getByText(/stopped by you|stopped \(EOS\)|length limit/),
  ).toBeVisible()

  await page.getByLabel('Temperature', { exact: true }).fill('0')
  await page.getByRole('button', { name: /^Answer again: / }).press('Enter')
  await expect(page.getByRole('article').getByText(/stopped \(EOS\) · seed 1$/)).toBeVisible()
  await page.getByRole('button', { name: 'More for this conversation' }).press('Enter')
  await page.getByRole('menuitem', { name: 'Rename…' }).press('Enter')
  await page.getByLabel('Name', { exact: true }).fill('Counting')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('navigation', { name: 'Conversations' }).getByText('Counting')).toBeVisible()
  await page.getByRole('button', { name: 'More for this conversation' }).press('Enter')
  await page.getByRole('menuitem', { name: 'Copy as JSONL' }).press('Enter')
  await expect(page.getByText('The conversation was copied as JSONL.')).toBeVisible()
  const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText())) as {
    readonly messages: readonly object[]
  }
  const [kept] = await client.call('chat.list')
  const { turns } = await client.call('chat.get', { id: kept?.id ?? '' })
  expect(copied.messages).toEqual([
    { role: 'user', content: 'Count' },
    { role: 'assistant', content: turns[0]?.answers[0]?.text },
  ])
  expect(await seriousProblems(page)).toEqual([])
})

test('an answer that calls a function shows the call, in both themes', async ({ app }) => {
  const { page, client, dataDirectory } = app
  const folder = path.join(dataDirectory, 'calling')
  mkdirSync(folder)
  writeCallingModel(folder)
  const runId = await trainDemo(client, {
    name: 'asks for codes',
    model: path.join(folder, 'model'),
    rewards: [],
    steps: 120,
    algorithm: { id: 'sft', settings: {} },
    data: { train: path.join(folder, 'calls.jsonl'), heldOut: null, prompt: { column: 'prompt' } },
    optimization: { learningRate: 0.003, weightDecay: 0, tokenBudget: 4096 },
    rollout: { promptsPerStep: 30, maxNewTokens: 16 },
  })
  await app.open(`/runs/${runId}/checkpoints`)
  await page.getByRole('button', { name: 'Chat with step 120' }).click()
  await page.getByRole('button', { name: 'Settings' }).click()
  await page.getByLabel('Temperature', { exact: true }).fill('0')
  const tools = page.getByLabel('Tools', { exact: true })
  await tools.fill('{"type": "function"}')
  await expect(page.getByText('Expected a JSON list of objects.')).toBeVisible()
  await tools.fill('[{"type": "function", "function": {"name": "code", "parameters": {"type": "object"}}}]')
  await expect(page.getByText('Expected a JSON list of objects.')).toBeHidden()
  await page.getByRole('button', { name: 'Settings' }).click()
  await page.getByLabel('Message', { exact: true }).fill('Code of 47')
  await page.getByRole('button', { name: 'Send' }).click()
  const answer = page.getByRole('article', { name: /^Answer of asks for codes/ })
  await expect(answer.locator('code')).toHaveText('code({"n":"47"})')
  for (const theme of ['light', 'dark']) {
    await client.call('settings.set', { key: 'appearance.theme', value: theme })
    await expect(page.locator('html')).toHaveAttribute('data-theme', theme)
    expect(await seriousProblems(page)).toEqual([])
  }
})
