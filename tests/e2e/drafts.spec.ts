/** What is being set up, decided about or named is never mixed with, or taken for, something else. */
import path from 'node:path'
import { writeFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import { formatCount } from '#renderer/client/format.ts'
import { demoConfig, demoFile, expect, test, addTrainedRun, trainDemo } from './support.ts'

test('training on other rows takes their held-out part along and puts the unfinished run aside @whole', async ({
  app,
}) => {
  const { page, client, dataDirectory } = app
  const runId = await addTrainedRun(app, 'demo')
  const file = path.join(dataDirectory, 'other.jsonl')
  writeFileSync(
    file,
    Array.from({ length: 60 }, (_, i) =>
      JSON.stringify({ question: `How many? ${String(i)}`, answer: String(i) }),
    ).join('\n'),
  )
  let versionId = ''
  for await (const item of client.stream('datasets.import', { source: { path: file } }))
    if ('result' in item) versionId = item.result.version.id
  await app.open(`/new-run?copy=${runId}`)
  await expect(page.getByText(/evaluated on heldout\.jsonl/)).toBeVisible()
  await app.go(`/data/${versionId}`)
  await page.getByRole('button', { name: 'Train on this' }).click()
  await expect(page.getByText(/10 % validation/).first()).toBeVisible()
  await expect(page.getByRole('button', { name: /^Reward/ }).getByText(/starter-correct/)).toHaveCount(0)

  const aside = page.getByRole('list', { name: 'Put aside' })
  await expect(aside.getByRole('listitem')).toHaveText([/heldout\.jsonl/])
  await page.reload()
  await aside.getByRole('button', { name: 'Bring it back' }).click()
  await expect(aside.getByRole('listitem')).toHaveText([/10 % validation/])

  // One that takes the place again, or is put aside again, is not put aside twice.
  await app.go(`/data/${versionId}`)
  await page.getByRole('button', { name: 'Train on this' }).click()
  await expect(aside.getByRole('listitem')).toHaveText([/heldout\.jsonl/])
  await app.go(`/new-run?copy=${runId}`)
  await expect(aside.getByRole('listitem')).toHaveText([/10 % validation/])
})

test('rows whose path is typed are not measured on the held-out rows of others @whole', async ({ app }) => {
  const { page, dataDirectory } = app
  const runId = await addTrainedRun(app, 'demo')
  const file = path.join(dataDirectory, 'poems.jsonl')
  writeFileSync(
    file,
    Array.from({ length: 40 }, (_, i) => JSON.stringify({ prompt: `Rhyme ${String(i)}`, answer: 'a' })).join(
      '\n',
    ),
  )
  await app.open(`/new-run?copy=${runId}`)
  await expect(page.getByText(/evaluated on heldout\.jsonl/)).toBeVisible()
  await page.getByRole('button', { name: /Data ?train\.jsonl/ }).click()
  const typed = page.getByRole('textbox', { name: 'Path', exact: true })
  await expect(typed).toHaveValue(demoFile('train.jsonl'))
  await typed.fill(file)
  await expect(page.getByText(/poems\.jsonl.*10 % validation/).first()).toBeVisible()
  await expect(page.getByText(/heldout\.jsonl/)).toHaveCount(0)
  await expect(page.getByText('The settings fit together')).toBeVisible()
})

test('an edited copy, and notes that are written, stay with what they were begun on', async ({ app }) => {
  const { page, client } = app
  const { runId } = await client.call('runs.start', {
    config: demoConfig({
      steps: 400,
      evaluation: { every: 0, rows: 10 },
      rollout: { promptsPerStep: 2, groupSize: 2, maxNewTokens: 8 },
    }),
  })
  const stepOf = async () => (await client.call('runs.get', { runId })).step
  await app.open(`/runs/${runId}/samples`)
  await page.getByRole('button', { name: 'Edit a copy' }).click()
  const edited = page.getByLabel('Completion to score')
  await edited.fill('mine')
  const before = await stepOf()
  await expect.poll(stepOf).toBeGreaterThan(before + 2)
  await expect(edited).toHaveValue('mine')

  // Notes that another window writes while a tag is added here.
  await client.call('runs.setNotes', { runId, notes: 'first' })
  const dialog = page.getByRole('dialog', { name: 'Tags and notes' })
  await expect(async () => {
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Tags and notes' }).click()
    const notes = await dialog.getByRole('textbox', { name: 'Notes' }).inputValue()
    // It may have been opened before the window heard of them, and stays as it was then.
    if (notes !== 'first') await page.keyboard.press('Escape')
    expect(notes).toBe('first')
  }).toPass()
  await client.call('runs.setNotes', { runId, notes: 'from elsewhere' })
  await dialog.getByRole('textbox').first().fill('tried')
  await expect.poll(async () => (await client.call('runs.get', { runId })).notes).toBe('from elsewhere')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await expect(dialog).toBeHidden()
  expect(await client.call('runs.get', { runId })).toMatchObject({ tags: ['tried'], notes: 'from elsewhere' })
  await client.call('runs.kill', { runId })
})

test('a file that is dropped while another waits is the one that is shown; what failed goes away @whole', async ({
  app,
}) => {
  const { page } = app
  await app.open('/data')
  const drop = (name: string, text: string) =>
    page.evaluate(
      ([fileName = '', content = '']) => {
        const data = new DataTransfer()
        data.items.add(new File([content], fileName))
        for (const type of ['dragenter', 'dragover', 'drop'])
          document.body.dispatchEvent(
            new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }),
          )
      },
      [name, text],
    )
  const shown = page
    .getByRole('navigation', { name: 'Files to import or discard' })
    .locator('[aria-current=true]')
  await drop('first.jsonl', '{"prompt":"a","answer":"b"}\n')
  await expect(page.getByText('first.jsonl').first()).toBeVisible()
  await drop('second.jsonl', '{"prompt":"c","answer":"d"}\n')
  await expect(shown).toHaveText('second.jsonl')
  await drop('notes.pdf', 'no data')
  const notices = page.getByRole('region', { name: 'Notices' })
  await expect(notices.getByText(/notes\.pdf/)).toBeVisible()
  await expect(notices.getByText(/notes\.pdf/)).toBeHidden()
})

test('a fork has a name of its own, and its row is that of the data set @whole', async ({ app }) => {
  const { page, client } = app
  let versionId = ''
  for await (const item of client.stream('datasets.import', { source: { path: demoFile('train.jsonl') } }))
    if ('result' in item) versionId = item.result.version.id
  const { version } = await client.call('datasets.version', { versionId })
  const runId = await trainDemo(client, {
    steps: 2,
    name: 'sums',
    checkpoints: { every: 1 },
    data: {
      train: version.directory,
      heldOut: { share: 0.4, seed: 3 },
      prompt: { messages: [{ role: 'user', content: '{prompt}' }] },
    },
  })
  await client.call('runs.fork', {
    runId,
    step: 1,
    changes: { 'optimization.learningRate': 0.001 },
    start: false,
  })
  await app.open('/runs')
  await expect(page.getByRole('link', { name: 'sums · learning rate 0.001' })).toBeVisible()

  const [sample] = await client.call('samples.list', { runId, source: 'rollout' })
  await app.go(`/runs/${runId}/samples?sample=${String(sample?.id)}&step=${String(sample?.step)}`)
  const number = (sample?.dataRow ?? 0) + 1
  const shown = formatCount(number)
  await page.getByRole('button', { name: `Row ${shown} of the data` }).click()
  await page.getByRole('link', { name: 'Show in Data' }).click()
  await expect(page).toHaveURL(new RegExp(`#/data/${versionId}\\?row=${String(number)}$`))
  const { rows } = await client.call('datasets.rows', { versionId, from: number - 1, count: 1 })
  await expect(page.getByRole('region', { name: `Row ${String(number)}` })).toContainText(
    String(rows[0]?.['prompt']),
  )
})

test('a run that is set up in two tabs is one: the newer settings are in both', async ({ app }) => {
  const { page, client } = app
  await app.open('/new-run')
  await page.getByRole('button', { name: 'Fill in the sample run' }).click()
  await expect(page.getByText('The settings fit together')).toBeVisible()
  const other = await secondTab(app)
  const name = (tab: Page) => tab.getByRole('textbox', { name: 'Name', exact: true })
  const said = (tab: Page) => tab.getByText(/^Just changed in another tab or window/)

  await name(other).fill('from the second')
  await expect(name(page)).toHaveValue('from the second')
  await expect(said(page)).toBeVisible()
  await expect(said(other)).toBeHidden()
  await name(page).fill('from the first')
  await expect(name(other)).toHaveValue('from the first')
  await expect(said(other)).toBeVisible()
  await expect(said(page)).toBeHidden()
  const kept = async () => (await client.call('settings.get', { key: 'newRun.draft' })) as { config: object }
  await expect.poll(kept).toMatchObject({ config: { name: 'from the first', steps: 30 } })
  await other.close()
})

test('a run that is set up in two tabs and started over in one is empty in both @whole', async ({ app }) => {
  const { page } = app
  await app.open('/new-run')
  const sample = (tab: Page) => tab.getByRole('button', { name: 'Fill in the sample run' })
  for (const again of [false, true]) {
    await sample(page).click()
    await expect(page.getByText('The settings fit together')).toBeVisible()
    const other = await secondTab(app)
    await expect(other.getByText('The settings fit together'), `again: ${String(again)}`).toBeVisible()
    await other.getByRole('button', { name: 'Config file' }).click()
    await other.getByRole('menuitem', { name: 'Start over' }).click()
    await expect(sample(other)).toBeVisible()
    await expect(sample(page)).toBeVisible()
    await other.close()
  }
})

async function secondTab({ page, url }: { readonly page: Page; readonly url: string }): Promise<Page> {
  const other = await page.context().newPage()
  await other.goto(url)
  await other.getByText('Connected', { exact: true }).waitFor()
  await other.evaluate(() => void (location.hash = '/new-run'))
  return other
}
