import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Page } from '@playwright/test'
import { startHub } from '../host/hub/loopbackHub.ts'
import { demoFile, expect, expectNoProblems, test, type App } from './support.ts'

const questions = [
  'id,question,solution,level',
  ...Array.from(
    { length: 40 },
    (_, at) => `${String(at)},What is ${String(at)} plus 3?,${String(at + 3)},easy`,
  ),
  '40,one value too few',
].join('\n')

function writeFile({ dataDirectory }: App, name: string, text: string): string {
  const file = path.join(dataDirectory, name)
  writeFileSync(file, text)
  return file
}

const drop = (page: Page, ...files: string[]) => page.getByRole('main').drop({ files })
const tab = (page: Page, name: string) => page.getByRole('tab', { name: new RegExp(`^${name}`) }).click()

async function importDemo({ client }: App, name = 'tasks'): Promise<string> {
  const source = { path: demoFile('heldout.jsonl') }
  for await (const item of client.stream('datasets.import', { source, name })) {
    if ('result' in item) return item.result.version.id
  }
  throw new Error('The import told no result.')
}

test('a dropped file is looked at, mapped, imported and seen as tokens', async ({ app }) => {
  const { page, client } = app
  await app.open('/data')
  await expect(page.getByText('Add tasks to train a model on')).toBeVisible()
  await expectNoProblems(page)

  await drop(page, writeFile(app, 'sums.csv', questions))
  await expect(page.getByRole('heading', { name: 'Add sums.csv' })).toBeVisible()
  await expect(page.getByLabel('Prompt comes from', { exact: true })).toHaveValue('question')
  await expect(page.getByLabel('Expected answer comes from', { exact: true })).toHaveValue('solution')
  expect(await client.call('datasets.list')).toEqual([])

  await page.goto('about:blank') // as after a tab was closed: what was sent is offered again
  await app.open('/data')
  await expect(page.getByRole('list', { name: 'Not imported yet' })).toContainText('sums.csv')
  await expectNoProblems(page)
  await page.getByRole('button', { name: 'Look at it' }).click()
  const split = page.getByRole('checkbox', { name: /^Keep 10 % of the rows for validation/ })
  await expect(split).toBeChecked()

  await page.getByRole('checkbox', { name: 'Keep level' }).click()
  await page.getByRole('button', { name: 'Rename id' }).click()
  await page.getByLabel('New name of id').fill('number')
  await expect(page.getByRole('columnheader', { name: 'number', exact: true })).toBeVisible()
  await expect(page.getByRole('columnheader', { name: 'level', exact: true })).toBeHidden()
  await expectNoProblems(page)

  await tab(page, 'Problems')
  await expect(page.getByRole('row').filter({ hasText: '42' })).toContainText(/column|value|field/i)
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await expect(page.getByText('Imported 40 rows as “sums”. 1 row left out.')).toBeVisible()
  await expect(page).toHaveURL(/#\/data\/[0-9a-f]{64}/)

  const [dataSet] = await client.call('datasets.list')
  const versionId = dataSet?.versions[0]?.id ?? ''
  const { rows } = await client.call('datasets.rows', { versionId, from: 0, count: 2 })
  expect(rows[0]).toEqual({ number: '0', question: 'What is 0 plus 3?', answer: '3' })

  await tab(page, 'Prompt')
  const first = page.getByRole('group', { name: /^Row 1, \d+ tokens/ })
  await expect(first).toContainText('What is 0 plus 3?')
  await expect(first).toContainText('<|user|>')
  await first.focus()
  await page.keyboard.press('ArrowRight')
  await expect(page.getByText(/^Token 1 of \d+ · id \d+/)).toBeVisible()

  await page.getByLabel('Message 1', { exact: true }).fill('Answer briefly: ')
  await expect(page.getByText('No column is used: every prompt would be the same.')).toBeVisible()
  await page.getByRole('button', { name: '{question}' }).click()
  await expect(first).toContainText('Answer briefly: What is 0 plus 3?')
  await page.getByRole('button', { name: 'Use for runs' }).click()
  await expect(page.getByRole('button', { name: 'Reset to detected' })).toBeVisible()
  await expect
    .poll(() => client.call('settings.get', { key: `data.preparation.${versionId}` }))
    .toMatchObject({
      prompt: { messages: [{ role: 'user', content: 'Answer briefly: {question}' }] },
      heldOut: { share: 0.1, seed: 42 },
    })
  await expectNoProblems(page)
})

test('the part kept for validation survives a prompt that is stored before the settings are read again', async ({
  app,
}) => {
  const { page, client } = app
  let isHeld = false
  await page.routeWebSocket(/.*/, (socket) => {
    const asked = new Set<unknown>()
    const server = socket.connectToServer()
    socket.onMessage((message) => {
      const { id, name } = JSON.parse(String(message)) as { id?: unknown; name?: string }
      if (isHeld && name === 'settings.all') asked.add(id)
      server.send(message)
    })
    server.onMessage((message) => {
      if (!asked.has((JSON.parse(String(message)) as { id?: unknown }).id)) socket.send(message)
    })
  })
  await app.open('/data')
  await drop(page, writeFile(app, 'sums.csv', questions))
  await expect(page.getByRole('checkbox', { name: /^Keep 10 % of the rows for validation/ })).toBeChecked()
  isHeld = true
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await expect(page).toHaveURL(/#\/data\/[0-9a-f]{64}/)
  const [dataSet] = await client.call('datasets.list')
  const versionId = dataSet?.versions[0]?.id ?? ''
  await tab(page, 'Prompt')
  await page.getByLabel('Message 1', { exact: true }).fill('Answer briefly: ')
  await page.getByRole('button', { name: '{question}' }).click()
  await page.getByRole('button', { name: 'Use for runs' }).click()
  await expect
    .poll(() => client.call('settings.get', { key: `data.preparation.${versionId}` }))
    .toMatchObject({ prompt: { messages: [{ role: 'user', content: 'Answer briefly: {question}' }] } })
  expect(await client.call('settings.get', { key: `data.preparation.${versionId}` })).toMatchObject({
    heldOut: { share: 0.1, seed: 42 },
  })
})

test('several files are decided about one by one; the same rows are not there twice @whole', async ({
  app,
}) => {
  const { page, client } = app
  await importDemo(app)
  await app.open('/data')
  await drop(page, demoFile('heldout.jsonl'), writeFile(app, 'sums.csv', questions))
  await expect(page.getByText('2 files to decide about')).toBeVisible()
  await page.getByRole('button', { name: 'heldout.jsonl' }).click()
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await expect(page.getByText('These rows were already imported.')).toBeVisible()
  await expect(page.getByRole('heading', { name: 'Add sums.csv' })).toBeVisible()
  await page.getByRole('button', { name: 'Discard', exact: true }).click()
  await expect(
    page.getByRole('table', { name: 'Data sets' }).getByText('tasks', { exact: true }),
  ).toBeVisible()
  expect(await client.call('datasets.list')).toHaveLength(1)
})

test('lengths, split and what is alike', async ({ app }) => {
  const { page, client } = app
  const versionId = await importDemo(app)
  await app.open(`/data/${versionId}?tab=lengths`)
  const line = page.getByRole('slider', { name: 'Max prompt tokens, on the axis' })
  await expect(page.getByText('No row is left out.')).toBeVisible()
  await line.press('ArrowLeft')
  await expect(page.getByText(/rows? left out \(/)).toBeVisible()
  const limit = await line.getAttribute('aria-valuenow')
  await expect(page.getByLabel('Max prompt tokens', { exact: true })).toHaveValue(limit ?? '')
  await expectNoProblems(page)

  await tab(page, 'Split')
  await page.getByRole('radio', { name: 'A number' }).click()
  await page.getByLabel('Rows', { exact: true }).fill('30')
  await expect(page.getByText('30 validation rows')).toBeVisible()
  await expect(page.getByText('120 training rows')).toBeVisible()
  await page.getByRole('checkbox', { name: 'task', exact: true }).click()
  await expect(page.getByRole('table', { name: 'Validation rows that are also trained on' })).toBeVisible()
  await expectNoProblems(page)
  await expect
    .poll(() => client.call('settings.get', { key: `data.preparation.${versionId}` }))
    .toMatchObject({ maxPromptTokens: Number(limit), heldOut: { rows: 30, seed: 42 } })
})

test('the pass rate of rows under a model tells which are worth training on @whole', async ({ app }) => {
  const { page, client } = app
  const versionId = await importDemo(app)
  await app.open(`/data/${versionId}?tab=difficulty`)
  await expect(page.getByText('How hard are these rows?')).toBeVisible()
  await page.getByLabel('Sample size (of 150 rows)', { exact: true }).fill('20')
  await page.getByLabel('Max new tokens', { exact: true }).fill('12')
  await page.getByRole('button', { name: 'Measure', exact: true }).click()
  const table = page.getByRole('table', { name: 'Rows by pass rate' })
  await expect(page.getByRole('combobox', { name: 'Measurement' })).toBeVisible()
  await expect(page.getByText('20 rows', { exact: true })).toBeVisible()
  await expect(table.getByRole('row').nth(1)).toContainText('%')

  const { known } = await client.call('datasets.difficulties', { versionId })
  const [summary] = known
  const { rows } = await client.call('datasets.difficultyRows', { versionId, id: summary?.id ?? '' })
  const hard = rows.filter(({ values }) => values.every((value) => (value ?? 0) < 0.5)).length
  await page.getByRole('radio', { name: 'Too hard' }).click()
  await expect(page.getByText(`${String(hard)} row${hard === 1 ? '' : 's'}`, { exact: true })).toBeVisible()
  await expectNoProblems(page)

  await page.getByRole('radio', { name: 'All' }).click()
  await page.getByRole('button', { name: 'Keep these rows' }).click()
  await expect(page.getByRole('columnheader', { name: 'difficulty' })).toBeVisible()
  const [dataSet] = await client.call('datasets.list')
  expect(dataSet?.versions.map((version) => version.rows).toSorted()).toEqual([150, 20])
})

test('the right answers of a teacher become a data set to learn from @whole', async ({ app }) => {
  const { page, client } = app
  const versionId = await importDemo(app)
  await app.open(`/data/${versionId}?tab=answers`)
  await expect(page.getByText('Learn from a teacher')).toBeVisible()
  await page.getByRole('button', { name: 'Add reward' }).click()
  await page.getByRole('menuitem', { name: 'exact-match' }).click()
  await page.getByLabel('Answers per row', { exact: true }).fill('3')
  await page.getByLabel('Temperature', { exact: true }).fill('0')
  await expect(page.getByText('Above 0 for several answers')).toBeVisible()
  await page.getByLabel('Temperature', { exact: true }).fill('1')
  await page.getByLabel('Max new tokens', { exact: true }).fill('16')
  await page.getByLabel('Rows (of 150)', { exact: true }).fill('20')
  await page.getByLabel('Name of the new data set', { exact: true }).fill('taught')
  await expectNoProblems(page)
  await page.getByRole('button', { name: 'Answer the rows' }).click()
  await expect(page.getByText(/^Kept \d+ of 60 answers/)).toBeVisible()
  const table = page.getByRole('table', { name: 'Answers of the teacher' })
  await expect(table.getByText('too low').first()).toBeVisible()
  await expectNoProblems(page)

  const taught = (await client.call('datasets.list')).find(({ name }) => name === 'taught')
  const { id = '', rows: count = 0 } = taught?.versions[0] ?? {}
  const { rows } = await client.call('datasets.rows', { versionId: id, from: 0, count: 500 })
  expect(count).toBeGreaterThan(2)
  expect(rows.map(({ completion }) => completion)).toEqual(rows.map(({ answer }) => answer))
  await page.getByRole('link', { name: 'Open the new data set' }).click()
  await expect(page.getByRole('heading', { name: /taught/ })).toBeVisible()
})

test('a data set is renamed, gets a new version, and is deleted once it is known what reads it', async ({
  app,
}) => {
  const { page, client } = app
  const versionId = await importDemo(app)
  await app.open(`/data/${versionId}`)
  await expect(page.getByRole('table', { name: 'Rows' }).getByText('Please add 42 and 45')).toBeVisible()
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Rename' }).click()
  await page.getByLabel('Name', { exact: true }).fill('held out')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { name: /held out/ })).toBeVisible()
  await expectNoProblems(page)

  writeFile(app, 'more.csv', questions)
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'New version from a file' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Folder', { exact: true }).fill(app.dataDirectory)
  await dialog.getByRole('button', { name: 'Go', exact: true }).click()
  await dialog.getByRole('button', { name: /^more\.csv/ }).click()
  await dialog.getByRole('button', { name: 'Open' }).click()
  await expect(page.getByLabel('Import as')).toHaveValue(/^ds_/)
  await page.getByRole('button', { name: 'Import as new version' }).click()
  await expect(page.getByLabel('Version', { exact: true }).locator('option')).toHaveCount(2)
  expect((await client.call('datasets.list')).map(({ versions }) => versions.length)).toEqual([2])

  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await expect(page.getByText('No run uses it.')).toBeVisible()
  await page.getByRole('button', { name: 'Delete data set' }).click()
  await expect(page.getByText('Add tasks to train a model on')).toBeVisible()
  expect(await client.call('datasets.list')).toEqual([])
})

test('a split is fetched from a hub, looked at as one table, and imported', async ({ app }) => {
  const { page, client, dataDirectory } = app
  const source = path.join(dataDirectory, 'hub-data')
  mkdirSync(path.join(source, 'main'), { recursive: true })
  mkdirSync(path.join(source, 'extra'))
  const row = (at: number) =>
    `${JSON.stringify({ question: `What is ${String(at)} plus 1?`, answer: at + 1 })}\n`
  writeFileSync(path.join(source, 'main/train-00000-of-00002.jsonl'), [0, 1, 2].map(row).join(''))
  writeFileSync(path.join(source, 'main/train-00001-of-00002.jsonl'), [3, 4].map(row).join(''))
  writeFileSync(path.join(source, 'main/test-00000-of-00001.jsonl'), row(9))
  writeFileSync(path.join(source, 'extra/rows.csv'), 'question,answer\nWhy?,so\n')
  await using hub = await startHub(source, source)
  await client.call('settings.set', { key: 'hub.endpoint', value: hub.endpoint })
  await app.open('/data')
  await page.getByRole('button', { name: 'From a hub' }).click()
  await page.getByRole('textbox', { name: 'Address' }).fill('someone/none')
  await page.getByRole('button', { name: 'Show its files' }).click()
  await expect(page.getByText('The hub has no data set “someone/none”')).toBeVisible()
  await page.getByRole('textbox', { name: 'Address' }).fill(`${hub.endpoint}/datasets/someone/rows`)
  await page.getByRole('textbox', { name: 'Address' }).press('Enter')
  await expect(page.getByRole('combobox', { name: 'Config' })).toHaveValue('extra')
  await page.getByRole('combobox', { name: 'Config' }).selectOption('main')
  await expect(page.getByRole('combobox', { name: 'Split' })).toHaveValue('train')
  await expect(page.getByRole('combobox', { name: 'Split' })).toContainText(/test · \d+ bytes in 1 file/)
  await expectNoProblems(page)
  await page.getByRole('button', { name: 'Fetch rows' }).click()
  await expect(page.getByRole('heading', { name: 'Add rows-main-train' })).toBeVisible()
  await expect(page.getByText('All 5 rows')).toBeVisible()
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await expect(page.getByText('Imported 5 rows as “rows-main-train”.')).toBeVisible()
  const [dataSet] = await client.call('datasets.list')
  expect(dataSet?.versions[0]).toMatchObject({
    rows: 5,
    source: expect.stringMatching(/^someone\/rows \(main, train\)/),
  })
  // A hub on this machine is no other machine.
  expect((await client.call('system.load')).outboundRequests).toBe(0)
})

test('texts run in the direction of their script', async ({ app }) => {
  const { page, client } = app
  const file = writeFile(app, 'hebrew.jsonl', `${JSON.stringify({ prompt: 'כמה זה 2 + 3?', answer: '5' })}\n`)
  let versionId = ''
  for await (const item of client.stream('datasets.import', { source: { path: file }, name: 'hebrew' }))
    if ('result' in item) versionId = item.result.version.id
  await app.open(`/data/${versionId}`)
  const question = page.getByRole('cell', { name: /^כמה/ }).locator('[dir]')
  await expect(question).toHaveCSS('direction', 'rtl')
  await expect(page.getByRole('cell', { name: '5', exact: true }).locator('[dir]')).toHaveCSS(
    'direction',
    'ltr',
  )
})

test('an empty file is called empty @whole', async ({ app }) => {
  const { page } = app
  await app.open('/data')
  await drop(page, writeFile(app, 'empty.csv', ''))
  await expect(page.getByText('The file is empty: it has no rows.')).toBeVisible()
  await expect(page.getByText('No known kind of data set')).toHaveCount(0)
})

test('two answers and a winner become pairs; columns without a known name start with a template @whole', async ({
  app,
}) => {
  const { page, client } = app
  await app.open('/data')
  const row = { prompt: '2 + 3?', response_1: '5', response_2: '6', winner: 'response_1', score: 3 }
  await drop(page, writeFile(app, 'battles.jsonl', `${JSON.stringify(row)}\n`))
  await expect(page.getByText('Two answers, one of them preferred')).toBeVisible()
  await expect(
    page.getByText('“score” (how good an answer is) is not used: no algorithm learns from it.'),
  ).toBeVisible()
  await expectNoProblems(page)
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await expect(page.getByText('Imported 1 row as “battles”.')).toBeVisible()
  const [imported] = await client.call('datasets.list')
  const versionId = imported!.versions[0]!.id
  const { rows } = await client.call('datasets.rows', { versionId, from: 0, count: 1 })
  expect(rows[0]).toMatchObject({ prompt: '2 + 3?', chosen: '5', rejected: '6' })

  await app.open('/data')
  await drop(page, writeFile(app, 'unknown.csv', 'body_text,n\nWhat is 2 + 3?,nan\n'))
  await expect(page.getByText('No known kind of data set has these columns.')).toBeVisible()
  await page.getByRole('button', { name: '{body_text}', exact: true }).click()
  await expect(page.getByLabel('Template of the prompt')).toHaveValue('{body_text}')
  await expectNoProblems(page)
})

test('an address without a data set says so @whole', async ({ app }) => {
  const { page } = app
  await app.open('/data/nope')
  await expect(page.getByRole('main')).toContainText('There is no data set at this address.')
  await expect(page.getByText('is not valid')).toHaveCount(0)
  await app.go(`/data/${'0'.repeat(64)}`)
  await expect(page.getByRole('alert')).toContainText('This version of a data set does not exist.')
  await page.getByRole('button', { name: 'All data sets' }).click()
  await expect(page).toHaveURL(/#\/data$/)
})

test('a file says what it was taken for, what stays aside, and asks which list has the rows @whole', async ({
  app,
}) => {
  const { page, client } = app
  await app.open('/data')
  const rows = [
    {
      Question: 'Which is even?',
      Choices: ['1', '2', '3'],
      Answer: 1,
      system: 'Be brief.',
      images: ['a.png'],
    },
    { Question: 'Which is odd?', Choices: ['2', '4', '5'], Answer: 2, system: '', images: [] },
    { Question: 'Which is 1?', Choices: ['1', '2', '3'], Answer: 0, system: '', images: ['b.png'] },
  ]
  await drop(page, writeFile(app, 'quiz.json', JSON.stringify({ easy: rows, hard: rows.slice(2) })))
  await expect(page.getByText('holds several lists: “easy” (3), “hard” (1)')).toBeVisible()
  await page.getByLabel('List with the rows').fill('easy')
  await page.getByRole('button', { name: 'Read', exact: true }).click()

  await expect(page.getByText('Recognised by the columns “Question” and “Answer”.')).toBeVisible()
  await expect(page.getByText('Read the list “easy”; left aside: “hard” (1).')).toBeVisible()
  await expect(page.getByText('“images” (images; only text is read) is not used.')).toBeVisible()
  await expect(
    page.getByText('“Answer” is read as the position of the right choice, counted from 0.'),
  ).toBeVisible()
  await expect(page.getByLabel('What the prompt is made of', { exact: true })).toContainText(
    '“system”, then “Question” and “Choices” as one message',
  )
  await expectNoProblems(page)
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await expect(page.getByText('Imported 3 rows as “quiz”.')).toBeVisible()
  const [imported] = await client.call('datasets.list')
  const { rows: kept } = await client.call('datasets.rows', {
    versionId: imported!.versions[0]!.id,
    from: 0,
    count: 1,
  })
  expect(kept[0]).toMatchObject({
    prompt: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Which is even?\n\nA. 1\nB. 2\nC. 3' },
    ],
    answer: 'B',
  })
})
