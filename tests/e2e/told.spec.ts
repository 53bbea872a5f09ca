import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Page } from '@playwright/test'
import { demoConfig, demoFile, expect, test, type App } from './support.ts'

function writeRows({ dataDirectory }: App, name: string, rows: readonly object[]): string {
  const file = path.join(dataDirectory, name)
  writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'))
  return file
}

async function importFile({ client }: App, file: string, name: string): Promise<string> {
  for await (const item of client.stream('datasets.import', { source: { path: file }, name })) {
    if ('result' in item) return item.result.version.id
  }
  throw new Error('The import told no result.')
}

const tab = (page: Page, name: string) => page.getByRole('tab', { name: new RegExp(`^${name}`) }).click()

test('prompts of several turns that end with the user are taken whole @whole', async ({ app }) => {
  const { page, client } = app
  await app.open('/data')
  const chat = [
    { role: 'user', content: '2 + 2?' },
    { role: 'assistant', content: '4' },
    { role: 'user', content: 'And 3 more?' },
  ]
  const rows = Array.from({ length: 5 }, (_, i) => ({ messages: chat, answer: String(i) }))
  await page.getByRole('main').drop({ files: [writeRows(app, 'turns.jsonl', rows)] })
  await expect(page.getByRole('heading', { name: 'Add turns.jsonl' })).toBeVisible()
  await expect(page.getByLabel('Expected answer comes from', { exact: true })).toHaveValue('answer')
  await expect(page.getByText('No row is left.')).toBeHidden()
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await expect(page).toHaveURL(/#\/data\/[0-9a-f]{64}/)
  const [dataSet] = await client.call('datasets.list')
  const versionId = dataSet?.versions[0]?.id ?? ''
  const { rows: imported } = await client.call('datasets.rows', { versionId, from: 0, count: 1 })
  expect(imported[0]).toEqual({ prompt: chat, answer: '0' })
})

test('lengths leave out what does not fit the model, and rewards are tried on the prompt of runs', async ({
  app,
}) => {
  const { page, client } = app
  await app.open('/data')
  const rows = [3, 4, 5].map((n) => ({ prompt: `${String(n)}+1=`, answer: String(n + 1) }))
  const long = { prompt: Array(200).fill('12+3=').join(' '), answer: '15' }
  const versionId = await importFile(app, writeRows(app, 'sums.jsonl', [...rows, long]), 'sums')
  await importFile(app, demoFile('heldout.jsonl'), 'newer')

  await test.step('lengths', async () => {
    await app.go(`/data/${versionId}?tab=lengths`)
    await expect(page.getByText(/1 row left out/)).toBeVisible()
    await expect(page.getByText(/the prompt may have .* of the model’s .* tokens/)).toBeVisible()
    await expect(page.getByText('No row is left out.')).toBeHidden()
  })

  await test.step('the prompt kept for runs is the one rewards see, of the set that was used last', async () => {
    await client.call('settings.set', {
      key: `data.preparation.${versionId}`,
      value: { prompt: { template: '{prompt} Reply with the number alone.' } },
    })
    await app.open('/data')
    await app.go(`/data/${versionId}`)
    await expect(page.getByRole('heading', { name: 'sums' })).toBeVisible()
    await tab(page, 'Rows')
    await app.go('/rewards')
    await page.getByRole('button', { name: 'New reward', exact: true }).first().click()
    await page.getByLabel('Name').fill('Sums')
    await page.getByRole('button', { name: 'Create' }).click()
    const list = page.getByRole('list', { name: 'Rows of the data set' })
    await expect(list.getByText('3+1= Reply with the number alone.')).toBeVisible()
  })
})

test('impossible settings are refused and unwise ones warned of; what runs says how long it takes', async ({
  app,
}) => {
  const { page, client } = app
  await app.open('/new-run')
  await page.getByRole('button', { name: 'Fill in the sample run' }).click()
  await expect(page.getByText('The settings fit together')).toBeVisible()
  const write = (config: object) => client.call('runs.check', { config: { ...demoConfig(), ...config } })

  const refused = await write({ adapter: { rank: 9_999 } })
  expect(JSON.stringify(refused)).toContain("the model's hidden size is 192")
  const cut = await write({ rollout: { maxNewTokens: 128 } })
  expect(JSON.stringify(cut)).toContain('the model reads 128 tokens')
  const unwise = await write({ optimization: { learningRate: 0.1 } })
  expect(unwise).toMatchObject({
    warnings: [{ path: 'optimization.learningRate', code: 'unwise' }],
  })

  const rate = page.getByRole('textbox', { name: 'Learning rate', exact: true }).first()
  if (!(await rate.isVisible()))
    await page
      .getByRole('button', { name: /Method/ })
      .first()
      .click()
  await rate.fill('0.1')
  await expect(page.getByText('1 warning', { exact: true })).toBeVisible()
  await expect(page.getByText('The settings fit together')).toBeHidden()
  await rate.fill('1e999')
  await rate.blur()
  await expect(rate).not.toHaveValue('Infinity')
  await rate.fill('7')
  await expect(page.getByText(/at most 1, got 7/).first()).toBeVisible()
})

test('a run tells evaluations apart, how long it takes, and still does after a reload @whole', async ({
  app,
}) => {
  const { page, client } = app
  await app.open('/')
  const { runId } = await client.call('runs.start', {
    config: demoConfig({
      steps: 400,
      evaluation: { every: 3, rows: 100 },
      rollout: { promptsPerStep: 1, groupSize: 2, maxNewTokens: 4 },
      optimization: { learningRate: 0.002 },
    }),
  })
  await app.go(`/runs/${runId}/overview`)
  const foot = page.getByRole('contentinfo')
  const left = page.locator('dt', { hasText: /^Left$/ }).locator('xpath=following-sibling::dd')
  await expect(foot.getByText(/Evaluating \d+ of 100/)).toBeVisible()
  await expect(foot.getByText(/ left$/)).toBeVisible()
  await expect(left).toBeVisible()
  // As the check tells it, and as the system shows it for this process.
  await expect(page.getByText(/^[\d.]+ .B private \+ [\d.]+ .B mapped weights$/)).toBeVisible()
  await app.open(`/runs/${runId}/overview`)
  await expect(left).toBeVisible()
  const told = async () => {
    const [inFoot, onPage] = [await foot.textContent(), await left.textContent()]
    return inFoot?.includes(`${onPage ?? '?'} left`)
  }
  await expect.poll(told).toBe(true)
  await expect(foot).not.toContainText('CPU 0 %')
  await app.go('/settings/devices')
  await expect(page.getByText(/private \+ .* mapped weights/)).toBeVisible()
  await client.call('runs.kill', { runId })
})
