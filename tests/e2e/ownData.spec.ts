/** From a file of one's own to a run: the whole way by hand, in one go. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Page } from '@playwright/test'
import { demoFile, expect, test, untilEnded } from './support.ts'

const buggy = `export default function score({ completion, row }) {
  return completion.trim() === row.solution.trim() ? 1 : 0
}
`
const fixed = buggy.replace('row.solution', 'row.answer')

/** Exercises the starter model can learn, as a table with names of its own. */
function writeTable(folder: string): string {
  const rows = readFileSync(demoFile('train.jsonl'), 'utf8').trim().split('\n').slice(0, 120)
  const lines = rows.map((line) => {
    const { prompt, answer } = JSON.parse(line) as { prompt: string; answer: string }
    return `"${prompt}","${answer}",made`
  })
  const file = path.join(folder, 'exercises.csv')
  writeFileSync(file, ['task,result,origin', ...lines].join('\n'))
  return file
}

async function writeCode(page: Page, code: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Reward code' }).click()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.insertText(code)
}

async function choose(page: Page, button: string | RegExp, option: RegExp): Promise<void> {
  await page.getByRole('button', { name: button }).click()
  await page.getByRole('option', { name: option }).click()
}

test('a dropped table, a reward with a bug that is found and fixed, a dry run, a start', async ({ app }) => {
  const { page, client } = app
  await app.open('/')

  await test.step('the table is dropped on whatever is open, mapped and imported', async () => {
    await page.getByRole('main').drop({ files: writeTable(app.dataDirectory) })
    await expect(page.getByRole('heading', { name: 'Add exercises.csv' })).toBeVisible()
    await page.getByLabel('Prompt comes from', { exact: true }).selectOption('task')
    await page.getByLabel('Expected answer comes from', { exact: true }).selectOption('result')
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await expect(page.getByText('Imported 120 rows as “exercises”.')).toBeVisible()
  })

  await test.step('a reward with a bug: the error stands on its line', async () => {
    await app.go('/rewards')
    await page.getByRole('button', { name: 'New reward', exact: true }).first().click()
    await page.getByLabel('Name').fill('Same as the answer')
    await page.getByRole('button', { name: 'Create' }).click()
    await writeCode(page, buggy)
    await page.keyboard.press('ControlOrMeta+Enter')
    await expect(page.locator('.cm-tw-failed')).toContainText('row.solution.trim()')
    await expect(page.getByText('Line 2: TypeError').first()).toBeVisible()
  })

  await test.step('fixed, every row is scored; the version is saved', async () => {
    await writeCode(page, fixed)
    await page.keyboard.press('ControlOrMeta+Enter')
    await expect(page.locator('.cm-tw-failed')).toHaveCount(0)
    await expect(page.getByText(/^mean 1$/)).toBeVisible()
    // The answers of the rows all earn 1, which says nothing of what a model would earn.
    await page.getByRole('radio', { name: 'Generated' }).click()
    await expect(page.getByLabel('Model that writes completions')).toBeVisible()
    await expect(page.getByText('All the same: nothing to learn from')).toHaveCount(0)
    await page.getByRole('radio', { name: 'Column' }).click()
    await page.getByRole('textbox', { name: 'Reward code' }).click()
    await page.keyboard.press('ControlOrMeta+s')
    await expect(page.getByText('Version 2 is saved.')).toBeVisible()
  })

  const runId = await test.step('a run on it is tried on one group and started', async () => {
    await app.go('/data')
    await page.getByRole('table', { name: 'Data sets' }).getByText('exercises', { exact: true }).click()
    await page
      .getByRole('button', { name: 'Train on this' })
      .or(page.getByRole('link', { name: 'Train on this' }))
      .click()
    await choose(page, 'Model: Choose a model', /starter/)
    await page.getByRole('button', { name: 'Choose a reward' }).click()
    await page.getByRole('button', { name: 'Add reward' }).click()
    await page.getByRole('menuitem', { name: /Same as the answer/ }).click()
    const method = page.getByRole('heading', { level: 2, name: /Method/ }).getByRole('button')
    await expect(page.getByRole('menu')).toHaveCount(0) // what is pressed while a menu closes only closes it
    await method.click()
    await expect(method).toHaveAttribute('aria-expanded', 'true')
    await page.getByRole('button', { name: /^Quick look/ }).click()
    await page.getByRole('textbox', { name: 'Steps', exact: true }).first().fill('3')
    await expect(page.getByText('The settings fit together')).toBeVisible()
    await page.keyboard.press('Control+Enter')
    await expect(page.getByText('First completions')).toBeVisible()
    await page.keyboard.press('Control+Enter')
    await page.waitForURL(/#\/runs\/run_/)
    return /run_[0-9a-f-]+/.exec(page.url())?.[0] ?? ''
  })

  expect(await untilEnded(client, runId)).toBe('finished')
  const names = await client.call('metrics.names', { runIds: [runId] })
  expect(names.filter((name) => name.startsWith('rewards/'))).not.toEqual([])
  await expect(page.locator('[data-chart]').first().locator('.recharts-line-curve').first()).toBeAttached()

  await test.step('the data set is called by its name wherever its digest is meant', async () => {
    await app.go(`/runs/${runId}/config`)
    await expect(page.getByText('Data exercises', { exact: true })).toBeVisible()
    await client.call('evaluations.start', { subject: { runId, step: 3 }, limit: 2 })
    await app.go('/playground/evaluate')
    const table = page.getByRole('table', { name: 'Evaluations', exact: true })
    await table.getByRole('row').nth(1).click()
    await expect(page.getByText('2 drawn from the validation split of exercises')).toBeVisible()
  })
})

test('answers marked as good or bad, without pairs, are imported and learned by KTO @whole', async ({
  app,
}) => {
  const { page, client } = app
  const rows = readFileSync(demoFile('preferences.jsonl'), 'utf8').trim().split('\n').slice(0, 60)
  const marked = rows.map((line, i) => {
    const { prompt, chosen, rejected } = JSON.parse(line) as Record<string, string>
    return JSON.stringify({ prompt, completion: i % 2 === 0 ? chosen : rejected, thumbs_up: i % 2 === 0 })
  })
  const file = path.join(app.dataDirectory, 'rated.jsonl')
  writeFileSync(file, marked.join('\n'))
  await app.open('/')
  await page.getByRole('main').drop({ files: file })
  await expect(
    page.getByText('“thumbs_up” marks completions as good or bad. KTO learns from them'),
  ).toBeVisible()
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await expect(page.getByText('Imported 60 rows as “rated”.')).toBeVisible()
  await app.go('/data')
  await page.getByRole('table', { name: 'Data sets' }).getByText('rated', { exact: true }).click()
  await page
    .getByRole('button', { name: 'Train on this' })
    .or(page.getByRole('link', { name: 'Train on this' }))
    .click()
  await choose(page, 'Model: Choose a model', /starter/)
  const step = (name: RegExp) => page.getByRole('heading', { level: 2, name }).getByRole('button')
  await step(/Method/).click()
  await page.getByRole('radio', { name: 'KTO', exact: true }).click()
  await expect(page.getByText('Learns from single answers that are marked as good or bad')).toBeVisible()
  await page.getByRole('button', { name: /^Quick look/ }).click()
  await page.getByRole('textbox', { name: 'Steps', exact: true }).first().fill('3')
  await expect(page.getByText('The settings fit together')).toBeVisible()
  await step(/Data/).click()
  await expect(page.getByLabel('Good or bad: column')).toHaveValue('')
  await page.keyboard.press('Control+Enter')
  await expect(page.getByText('What it learns from')).toBeVisible()
  await page.keyboard.press('Control+Enter')
  await page.waitForURL(/#\/runs\/run_/)
  const runId = /run_[0-9a-f-]+/.exec(page.url())?.[0] ?? ''
  expect(await untilEnded(client, runId)).toBe('finished')
  const names = await client.call('metrics.names', { runIds: [runId] })
  expect(names).toEqual(expect.arrayContaining(['rewards/chosen', 'rewards/rejected', 'reference_point']))
})
