/** Writing rewards: from a bug on its line to a version that gates a start, and worlds played by hand. */
import type { Locator, Page } from '@playwright/test'
import { AppError } from '#shared/errors.ts'
import {
  demoConfig,
  demoFile,
  expect,
  expectNoProblems,
  seriousProblems,
  test,
  trainDemo,
  type App,
} from './support.ts'

async function importDemo({ client }: App): Promise<void> {
  const source = { path: demoFile('train.jsonl') }
  for await (const _ of client.stream('datasets.import', { source, name: 'demo-tasks' })) continue
}

async function createReward(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'New reward', exact: true }).first().click()
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Create' }).click()
  await expect(editor(page)).toBeVisible()
}

const editor = (page: Page): Locator => page.getByRole('textbox', { name: 'Reward code' })

/** Replaces all of the code by typing, as a person would. */
async function write(page: Page, code: string): Promise<void> {
  await editor(page).click()
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.insertText(code)
}

const buggy = `export const settings = { column: 'answer', partial: 0.2 }

export default function score({ completion, row, settings, log }) {
  const expected = row.answer.value.trim()
  log.column('expected', expected)
  return completion.trim() === expected ? 1 : settings.partial
}
`
const fixed = buggy.replace('row.answer.value.trim()', 'String(row[settings.column]).trim()')

/** The line of code with this number. */
const failedLines = (page: Page): Locator => page.locator('.cm-tw-failed')

test('a bug is shown on its line, fixed, scored, tested, saved and compared', async ({ app }) => {
  const { page } = app
  await importDemo(app)
  await app.open('/rewards')
  await createReward(page, 'Sums are right')

  await test.step('the bug stands on its line and in its cells', async () => {
    await write(page, buggy)
    await page.keyboard.press('ControlOrMeta+Enter')
    await expect(failedLines(page)).toHaveCount(1)
    await expect(failedLines(page)).toContainText('row.answer.value.trim()')
    await expect(page.locator('.cm-tw-sentence')).toContainText('TypeError')
    const results = page.getByRole('table', { name: 'Results' })
    await expect(results.getByText('Line 4: TypeError').first()).toBeVisible()
    await expect(page.getByText('20 rows failed')).toBeVisible()
    // The type checker knew before: answer is text in every row.
    await expect(page.locator('.cm-lintRange-error').filter({ hasText: 'value' })).toBeVisible()
    await expect(page.getByText('Loads, 1 type error', { exact: true })).toBeVisible()
    await results.getByRole('row').nth(1).click()
    await page.getByRole('button', { name: 'Go to line' }).click()
    await expect(editor(page)).toBeFocused()
    await expect(page.locator('.cm-activeLine')).toContainText('row.answer.value.trim()')
  })

  await test.step('fixed, every row has its score', async () => {
    await write(page, fixed)
    await page.keyboard.press('ControlOrMeta+Enter')
    await expect(failedLines(page)).toHaveCount(0)
    await expect(page.getByText(/^mean 1$/)).toBeVisible()
    await expect(page.getByRole('columnheader', { name: 'expected' })).toBeVisible()
  })

  await test.step('a setting of the code changes what is typed by hand', async () => {
    await page.getByRole('textbox', { name: 'partial' }).fill('0.4')
    await page.getByRole('radio', { name: 'Typed' }).click()
    await page.getByLabel('Completion of row 2', { exact: true }).fill('no idea')
    await page.getByRole('button', { name: 'Dry-run' }).click()
    await expect(page.getByText(/^mean 0\.4$/)).toBeVisible()
    await expect(page.getByRole('table', { name: 'Results' }).getByRole('row')).toHaveCount(2)
    await page.getByRole('textbox', { name: 'partial' }).fill('0.2')
  })

  await test.step('the version is saved, with its difference from the one before', async () => {
    await editor(page).click()
    await page.keyboard.press('ControlOrMeta+s')
    await expect(page.getByText('Version 2 is saved.')).toBeVisible()
    await expect(page.getByText('Unsaved changes')).toHaveCount(0)
    await page.getByRole('tab', { name: /Versions/ }).click()
    const note = page.getByLabel('Note on this version')
    await expect(note).toHaveValue('Beginning')
    await expect(page.locator('.cm-deletedChunk').first()).toContainText('export const settings')
    await page.getByRole('button', { name: 'Restore' }).click()
    await expect(editor(page)).toContainText('shown beside the sample')
    await page.getByRole('button', { name: 'Return to the newest' }).click()
    await expect(editor(page)).toContainText('settings.partial')
  })

  await test.step('a result becomes a test that keeps runs from starting', async () => {
    await page.getByRole('tab', { name: /Results/ }).click()
    await page.getByRole('table', { name: 'Results' }).getByRole('row').nth(1).click()
    await page.getByRole('button', { name: 'Keep as a test' }).click()
    await page.getByRole('button', { name: /^Edit / }).click()
    await page.getByLabel('Reward', { exact: true }).fill('1')
    await page.getByRole('button', { name: 'Keep test' }).click()
    await page.getByRole('button', { name: 'Run tests' }).click()
    await expect(page.getByText('1 of 1 test failed')).toBeVisible()
    await page.getByRole('switch', { name: 'No run starts until these pass' }).click()
    const [reward] = await app.client.call('rewards.list', {})
    const versionsOf = () => app.client.call('rewards.versions', { rewardId: reward?.id ?? '' })
    await expect.poll(async () => (await versionsOf())[0]?.gatesStart).toBe(true)
    const [version] = await versionsOf()
    const config = demoConfig({ rewards: [{ function: version?.file ?? '', name: 'sums' }] })
    const refused = await app.client.call('runs.start', { config }).catch((error: unknown) => error)
    expect(refused instanceof AppError && refused.code).toBe('reward/failed')
  })

  await test.step('the battery finds what is paid for nothing', async () => {
    await write(page, fixed.replace('=== expected ? 1', "=== '' ? 1"))
    await page.getByRole('tab', { name: 'Reward-hacking tests' }).click()
    await page.getByRole('button', { name: 'Run tests' }).click()
    await expect(page.getByText('1 exploit found by 8 tests')).toBeVisible()
    await expect(page.getByText('Saying nothing earns 1 of the 1')).toBeVisible()
  })

  await test.step('in both themes axe finds nothing serious', () => expectNoProblems(page))
})

test('completion offers the columns of the rows @whole', async ({ app }) => {
  const { page } = app
  await importDemo(app)
  await app.open('/rewards')
  await createReward(page, 'Typed')
  await write(page, 'export default ({ row }) => row')
  await page.keyboard.type('.', { delay: 50 })
  const list = page.getByRole('listbox')
  await expect(list.getByRole('option')).toHaveText(['answer', 'prompt', 'task'])
  await expect(page.getByText('Column of the data set: text in 1')).toBeVisible()
  await list.getByRole('option', { name: 'answer' }).click()
  await expect(editor(page)).toContainText('row.answer')
  // The pointer explains, and the parameters of a call are shown while it is written.
  await page.locator('.cm-line span', { hasText: /^answer$/ }).hover()
  await expect(page.locator('.cm-tooltip-hover')).toContainText('Column of the data set: text in')
  await write(page, 'export default ({ log }) => { log.metric ')
  await page.keyboard.press('Backspace')
  await page.keyboard.type("('length', ")
  await expect(page.locator('.cm-tw-here')).toHaveText('value: number')
})

test('what was typed and not saved is there again, also for a page of another port @whole', async ({
  app,
}) => {
  const { page } = app
  await app.open('/rewards')
  await createReward(page, 'Kept')
  await write(page, '// not saved\nexport default () => 1\n')
  await expect(page.getByText('Unsaved changes').first()).toBeVisible()
  await app.go('/runs')
  await app.go('/rewards')
  await expect(editor(page)).toContainText('not saved')
  const stored = async () => JSON.stringify(await app.client.call('settings.all'))
  await expect.poll(stored).toContain('// not saved')
  // A page that stays open would report the lost connection.
  await page.goto('about:blank')
  await app.restart()
  await app.open('/rewards')
  await expect(editor(page)).toContainText('not saved')
  await page.getByRole('button', { name: 'Discard changes' }).click()
  await expect(editor(page)).toContainText('How good is a completion')
  await expect.poll(stored).not.toContain('// not saved')
})

test('the gallery is copied, renamed and deleted; an environment is played @whole', async ({ app }) => {
  const { page } = app
  await app.open('/rewards/environments')
  await page.getByRole('link', { name: 'Guess the number' }).click()
  await page.getByRole('button', { name: 'Make a copy' }).click()
  await expect(editor(page)).toBeVisible()

  await page.getByRole('button', { name: 'Begin an episode' }).click()
  await expect(page.getByText('Guess a number from 1 to 100.').last()).toBeVisible()
  await page.getByLabel('What the policy writes').fill('fifty')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('list', { name: 'Turns' }).getByText('That is not a number.')).toBeVisible()
  await expect(page.getByText('reward so far −0.1')).toBeVisible()
  await page.getByRole('button', { name: 'Take back' }).click()
  await expect(page.getByText('reward so far 0')).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])

  const more = async (action: string) => {
    const link = page.getByRole('link', { name: /Guess the number|My world/ }).first()
    await link.hover()
    await page
      .getByRole('button', { name: /^More for (Guess the number|My world)$/ })
      .first()
      .click()
    await page.getByRole('menuitem', { name: action }).click()
  }
  await more('Rename')
  const dialog = page.getByRole('dialog', { name: 'Rename' })
  await dialog.getByRole('textbox', { name: 'Name' }).fill('My world')
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await expect(page.getByRole('heading', { name: 'My world' })).toBeVisible()
  await more('Delete')
  await expect(page.getByText('No run has used it.')).toBeVisible()
  await page.getByRole('button', { name: 'Delete environment' }).click()
  await expect(page.getByRole('link', { name: 'My world' })).toHaveCount(0)
})

test('samples of a run are scored again with another version @whole', async ({ app }) => {
  const { page, client } = app
  const { id: rewardId } = await client.call('rewards.create', { kind: 'reward', name: 'Length' })
  const save = (code: string) => client.call('rewards.save', { rewardId, language: 'ts', code })
  const { file } = await save('export default ({ completion }) => completion.length > 3 ? 1 : 0')
  await trainDemo(client, { rewards: [{ function: file, name: 'length' }], steps: 2 })
  await save('export default () => 0.5')
  await app.open(`/rewards/${rewardId}`)
  await page.getByRole('tab', { name: /Used by/ }).click()
  await page
    .getByRole('table', { name: 'Runs' })
    .getByRole('button', { name: /^Dry-run on samples of/ })
    .click()
  const pane = page.getByRole('complementary', { name: 'Dry-run on recorded samples' })
  await pane.getByRole('button', { name: 'Dry-run' }).click()
  await expect(pane.getByText(/^0\.5 \(/)).toBeVisible()
  await expect(pane.getByRole('listitem').first()).toContainText('→ 0.5')
})
