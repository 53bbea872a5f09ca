import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import {
  demoConfig,
  demoFile,
  expect,
  seriousProblems,
  starter,
  test,
  addTrainedRun,
  untilEnded,
  type App,
} from './support.ts'

async function importDemoRows({ client }: App): Promise<void> {
  const source = { path: demoFile('train.jsonl') }
  for await (const item of client.stream('datasets.import', { source, name: 'exercises' }))
    expect(item).toBeDefined()
}

const step = (page: Page, name: string) =>
  page.getByRole('heading', { level: 2, name: new RegExp(`(^|[^a-z])${name}`) }).getByRole('button')
const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true }).first()
const main = (page: Page, name: string) => page.getByRole('button', { name: new RegExp(`^${name}`) }).first()

/** The wizard with the sample run's settings, shortened. */
async function openSample({ page, open }: App): Promise<void> {
  await open('/new-run')
  await page.getByRole('button', { name: 'Fill in the sample run' }).click()
  await expect(page.getByText('The settings fit together')).toBeVisible()
}

test('what is chosen while the rows of an address are looked up stays chosen @whole', async ({ app }) => {
  const { page, client } = app
  await importDemoRows(app)
  const [dataSet] = await client.call('datasets.list')
  const versionId = dataSet?.versions[0]?.id ?? ''
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.routeWebSocket(/.*/, (socket) => {
    const server = socket.connectToServer()
    socket.onMessage((message) => {
      if (String(message).includes('datasets.version')) void released.then(() => server.send(message))
      else server.send(message)
    })
  })
  await app.open(`/new-run?data=${versionId}`)
  await page.getByRole('button', { name: 'Model: Choose a model' }).click()
  await page.getByRole('option', { name: /starter/ }).click()
  await expect(page.getByText('128 tokens')).toBeVisible()
  await expect(page).toHaveURL(/data=/)
  release()
  await expect(page).toHaveURL(/#\/new-run$/)
  await expect(step(page, 'Data')).toContainText('exercises')
  await expect(step(page, 'Model')).toContainText('starter')
})

test('a run is set up in five steps, checked and started', async ({ app }) => {
  const { page, client } = app
  await importDemoRows(app)
  await app.open('/new-run')
  await expect(page.getByRole('button', { name: /^Check/ }).first()).toBeDisabled()
  const marks = page.getByRole('img', { name: 'Chosen' })
  await expect(marks).toHaveCount(0) // defaults are no choice

  await page.getByRole('button', { name: 'Model: Choose a model' }).click()
  await page.getByRole('option', { name: /starter/ }).click()
  await expect(page.getByText('128 tokens')).toBeVisible()
  await expect(marks).toHaveCount(1)
  await page.getByRole('button', { name: 'Continue' }).click()

  await page.getByRole('button', { name: 'Data set: Choose a data set' }).click()
  await page.getByRole('option', { name: /exercises/ }).click()
  await expect(page.getByText('1 091 training, 109 validation rows')).toBeVisible()
  await page.getByRole('radio', { name: 'Messages' }).click()
  await expect(
    page
      .getByRole('figure')
      .getByText(/<user>|user/)
      .first(),
  ).toBeVisible()
  await page.getByRole('button', { name: 'Continue' }).click()

  await page.getByRole('button', { name: 'Add reward' }).click()
  await page.getByRole('menuitem', { name: /starter-correct/ }).click()
  await page.getByRole('button', { name: 'Continue' }).click()

  await expect(page.getByRole('button', { name: /^Balanced/ })).toHaveAttribute('aria-pressed', 'true')
  // Nothing was measured yet.
  await expect(page.getByText(/on this machine$/)).toHaveCount(0)
  await page.getByRole('button', { name: /^Quick look/ }).click()
  await field(page, 'Steps').fill('3')
  await field(page, 'Name').fill('from the wizard')
  await expect(page.getByText('The settings fit together')).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])

  await page.keyboard.press('Control+Enter')
  await expect(page.getByText('Whole run')).toBeVisible()
  await expect(page.getByText('First completions')).toBeVisible()
  await expect(page.getByText(/^Memory$/)).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
  await expect(main(page, 'Start run')).toBeEnabled()

  // Another setting, another check; a name needs none.
  await field(page, 'Name').fill('by the wizard')
  await expect(main(page, 'Start run')).toBeEnabled()
  await step(page, 'Method').click()
  await expect(page.getByText(/^about \d+(–\d+)? (s|min|h) on this machine$/)).toHaveCount(3)
  await field(page, 'Steps').fill('2')
  await expect(page.getByText('Settings changed since the last check').first()).toBeVisible()
  await expect(main(page, 'Check')).toBeEnabled()
  await page.keyboard.press('Control+Enter')
  await expect(main(page, 'Start run')).toBeEnabled()

  await page.keyboard.press('Control+Enter')
  await page.waitForURL(/#\/runs\/run_/)
  const runId = /run_[0-9a-f-]+/.exec(page.url())?.[0] ?? ''
  await expect(page.getByRole('main').getByText('by the wizard').first()).toBeVisible()
  expect(await untilEnded(client, runId)).toBe('finished')
  const config = JSON.parse((await client.call('runs.get', { runId })).config) as ReturnType<
    typeof demoConfig
  >
  expect(config).toMatchObject({
    model: starter,
    steps: 2,
    rewards: [{ function: 'starter-correct' }],
    data: { heldOut: { share: 0.1 }, prompt: { messages: [{ role: 'user', content: '{prompt}' }] } },
    rollout: { groupSize: 4 },
  })
})

test('every setting is found by name, marked where changed, and taken back by itself', async ({ app }) => {
  const { page } = app
  await openSample(app)
  await step(page, 'Method').click()
  await page.getByRole('button', { name: /^All settings/ }).click()
  await page.getByRole('searchbox', { name: 'Search settings' }).fill('warmup')
  const warmup = field(page, 'Warmup ratio')
  await expect(warmup).toHaveValue('0')
  await expect(page.getByRole('textbox', { name: 'Top-p' })).toHaveCount(0)
  await page.getByRole('searchbox', { name: 'Search settings' }).fill('num_generations')
  // Among the six settings, and among all.
  await expect(page.getByRole('textbox', { name: 'Group size', exact: true })).toHaveCount(2)
  await expect(warmup).toHaveCount(0)
  await page.getByRole('searchbox', { name: 'Search settings' }).fill('warmup_ratio')
  await warmup.fill('0,2')
  await page.getByRole('button', { name: 'Reset Warmup ratio to 0' }).waitFor()
  await page.getByRole('searchbox', { name: 'Search settings' }).fill('')
  await page.getByRole('checkbox', { name: 'Changed settings only' }).click()
  await expect(warmup).toHaveValue('0.2')
  await expect(page.getByRole('textbox', { name: 'Top-p' })).toHaveCount(0)
  expect(await seriousProblems(page)).toEqual([])
  await page.getByRole('button', { name: 'Reset Warmup ratio to 0' }).click()
  await expect(page.getByRole('textbox', { name: 'Warmup ratio' })).toHaveCount(0)
})

test('what is wrong stands beside its setting, in the words of the host', async ({ app }) => {
  const { page } = app
  await openSample(app)
  await step(page, 'Method').click()
  await field(page, 'LoRA rank').fill('0')
  await expect(page.getByText('Expected at least 1, got 0.').first()).toBeVisible()
  await expect(field(page, 'LoRA rank')).toHaveAttribute('aria-invalid', 'true')
  await expect(main(page, 'Check')).toBeDisabled()
  await field(page, 'LoRA rank').fill('8')
  await field(page, 'Group size').fill('1')
  await expect(page.getByText(/grpo compares at least 2 completions per prompt/).first()).toBeVisible()
  await field(page, 'Group size').fill('4')
  await expect(page.getByText('The settings fit together')).toBeVisible()
  await expect(main(page, 'Check')).toBeEnabled()
})

test('the draft outlives leaving the page and closing it', async ({ app }) => {
  const { page } = app
  await openSample(app)
  await step(page, 'Method').click()
  await field(page, 'Learning rate').fill('3e-4')
  await field(page, 'Name').fill('kept')
  await app.go('/runs')
  await expect(page.getByRole('heading', { level: 1, name: 'Runs' })).toBeVisible()
  await app.go('/new-run')
  await expect(field(page, 'Name')).toHaveValue('kept')
  await expect
    .poll(() => app.client.call('settings.get', { key: 'newRun.draft' }))
    .toMatchObject({
      config: { name: 'kept', optimization: { learningRate: 3e-4 } },
    })
  await app.open('/new-run')
  await expect(field(page, 'Name')).toHaveValue('kept')
  await expect(page.getByText('The settings fit together')).toBeVisible()
})

test('the config goes out as a file and comes in again', async ({ app }) => {
  const { page } = app
  await openSample(app)
  const menu = page.getByRole('button', { name: 'Config file', exact: true })
  await menu.click()
  const download = page.waitForEvent('download')
  await page.getByRole('menuitem', { name: 'Save as a config file' }).click()
  const file = await (await download).path()
  const saved = JSON.parse(readFileSync(file, 'utf8')) as ReturnType<typeof demoConfig>
  expect(saved).toMatchObject({ steps: 30, data: { train: demoFile('train.jsonl') } })

  await page.getByLabel('Config file to open').setInputFiles({
    name: 'other.json',
    mimeType: 'application/json',
    buffer: Buffer.from(JSON.stringify({ ...saved, steps: 11, name: 'opened' })),
  })
  await expect(field(page, 'Name')).toHaveValue('opened')
  await expect(page.getByText('11 steps').first()).toBeVisible()

  await menu.click()
  await page.getByRole('menuitem', { name: 'Edit as JSON' }).click()
  const dialog = page.getByRole('dialog', { name: 'Config as JSON' })
  await expect(dialog.getByText('"model"').first()).toBeVisible()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText('{ "model": ')
  await dialog.getByRole('button', { name: 'Take over' }).click()
  await expect(dialog.getByText(/This is not JSON/)).toBeVisible()
  await dialog.getByRole('textbox').click()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText(JSON.stringify({ ...saved, steps: 12 }))
  await dialog.getByRole('button', { name: 'Take over' }).click()
  await expect(page.getByText('12 steps').first()).toBeVisible()
})

test('a checkpoint is forked with another learning rate; only what differs is shown', async ({ app }) => {
  const { page, client } = app
  const parent = await addTrainedRun(app, 'parent')
  const changes = encodeURIComponent(JSON.stringify({ 'optimization.learningRate': 5e-4 }))
  await app.open(`/new-run?fork=${parent}&step=2&changes=${changes}`)
  await expect(page.getByRole('heading', { level: 1, name: 'Fork a run' })).toBeVisible()
  const differs = page.getByRole('table', { name: 'What differs from the parent' })
  await expect(differs.getByRole('row')).toHaveCount(1)
  await expect(differs.getByRole('row', { name: /Learning rate/ })).toContainText('0.0005')
  await expect(field(page, 'LoRA rank')).toBeDisabled()
  await field(page, 'Steps').fill('5')
  await expect(differs.getByRole('row')).toHaveCount(2)
  expect(await seriousProblems(page)).toEqual([])
  await expect(page.getByText('The settings fit together')).toBeVisible()
  await page.getByRole('button', { name: 'Other ways to start' }).click()
  await page.getByRole('menuitem', { name: 'Start without checking' }).click()
  await page.waitForURL(/#\/runs\/run_/)
  const runId = /run_[0-9a-f-]+/.exec(page.url())?.[0] ?? ''
  expect(await untilEnded(client, runId)).toBe('finished')
  expect(await client.call('runs.get', { runId })).toMatchObject({
    name: 'parent · learning rate 0.0005',
    parentRunId: parent,
    parentCheckpointStep: 2,
    step: 5,
  })
})

test('stages are put in order; the run waits in the queue @whole', async ({ app }) => {
  const { page, client } = app
  const busy = await client.call('runs.start', { config: demoConfig({ name: 'busy', steps: 400 }) })
  await openSample(app)
  await step(page, 'Method').click()
  await page.getByRole('radio', { name: 'Multi-stage' }).click()
  await expect(page.getByText('SFT → GRPO').first()).toBeVisible()
  await page.getByRole('button', { name: 'Add a stage' }).click()
  await page.getByRole('combobox', { name: 'Algorithm of stage 3' }).selectOption('rloo')
  await page.getByRole('button', { name: 'Move stage 3 up' }).click()
  await page.getByRole('button', { name: 'Remove stage 3' }).click()
  await expect(page.getByText('SFT → RLOO').first()).toBeVisible()
  await page
    .getByRole('combobox', { name: 'Setting of this stage' })
    .first()
    .selectOption('optimization.learningRate')
  await field(page, 'Learning rate').fill('1e-3')
  expect(await seriousProblems(page)).toEqual([])
  await expect(page.getByText('The settings fit together')).toBeVisible()
  await page.getByRole('button', { name: 'Other ways to start' }).click()
  await page.getByRole('menuitem', { name: /^Put in the queue/ }).click()
  await expect(page.getByText(/waits in the queue/)).toBeVisible()
  const { runs } = await client.call('queue.get')
  const config = JSON.parse((await client.call('runs.get', { runId: runs[0]?.runId ?? '' })).config) as {
    stages: readonly unknown[]
  }
  expect(config.stages).toMatchObject([
    { algorithm: { id: 'sft' }, optimization: { learningRate: 1e-3 } },
    { algorithm: { id: 'rloo' } },
  ])
  await client.call('runs.kill', { runId: busy.runId })
})

test('the whole wizard by keyboard, with a fault among all settings shown by itself', async ({ app }) => {
  const { page } = app
  await app.open('/new-run')
  await page.getByRole('button', { name: 'Fill in the sample run' }).focus()
  await page.keyboard.press('Enter')
  await expect(page.getByText('The settings fit together')).toBeVisible()
  await step(page, 'Model').focus()
  await page.getByRole('button', { name: 'Continue' }).focus()
  await page.keyboard.press('Enter')
  await expect(step(page, 'Data')).toBeFocused()
  await page.getByRole('button', { name: 'Config file', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Edit as JSON' }).press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Config as JSON' })
  await expect(dialog.getByRole('textbox')).toBeFocused()
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText(JSON.stringify(demoConfig({ optimization: { beta1: 3 } })))
  await dialog.getByRole('button', { name: 'Take over' }).press('Enter')
  await page.getByRole('button', { name: /AdamW β₁/ }).press('Enter')
  await expect(step(page, 'Method')).toBeFocused()
  await expect(field(page, 'AdamW β₁')).toHaveAttribute('aria-invalid', 'true')
  await field(page, 'AdamW β₁').press('Control+A')
  await page.keyboard.type('0.9')
  await expect(page.getByText('The settings fit together')).toBeVisible()
})

test('a run learns in an environment that makes up its own tasks', async ({ app }) => {
  const { page } = app
  await app.open(`/new-run?model=${encodeURIComponent(starter)}`)
  await page.getByRole('radio', { name: 'Generated by the environment' }).click()
  await field(page, 'Episodes in one pass').fill('64')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('radio', { name: 'An environment' }).click()
  await page.getByRole('combobox', { name: 'Environment' }).selectOption({ label: await firstWorld(page) })
  // The usual length is more than this model reads: what the address asks for comes with settings that fit it.
  await step(page, 'Method').click()
  await expect(page.getByRole('button', { name: /^Balanced/ })).toHaveAttribute('aria-pressed', 'true')
  await expect(page.getByText('The settings fit together')).toBeVisible()
  await field(page, 'Max new tokens').fill('128')
  await expect(page.getByText(/at most 127 can be generated/).first()).toBeVisible()
  await page.getByRole('button', { name: /^Quick look/ }).click()
  await expect(page.getByText('The settings fit together')).toBeVisible()
})

/** The label of the first built-in world of the list. */
const firstWorld = async (page: Page): Promise<string> => {
  const options = page.getByRole('combobox', { name: 'Environment' }).getByRole('option')
  await expect(options.nth(1)).toBeAttached() // the list comes from the host
  const labels = await options.allTextContents()
  return labels.find((label) => /arithmetic/i.test(label)) ?? labels[1] ?? ''
}

test('another run’s settings are taken over; in the dark axe finds nothing serious with all of it open @whole', async ({
  app,
}) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'pattern', 1)
  await page.emulateMedia({ colorScheme: 'dark' })
  await app.open(`/new-run?copy=${runId}`)
  await expect(page.getByText('The settings fit together')).toBeVisible()
  await expect(page).toHaveURL(/#\/new-run$/)
  await expect(field(page, 'Name')).toHaveValue('')
  await expect(field(page, 'Steps')).toHaveValue('3')
  for (const name of ['Model', 'Data', 'Reward']) await step(page, name).click()
  await page.getByRole('button', { name: /^All settings/ }).click()
  await page.getByRole('checkbox', { name: 'Changed settings only' }).click()
  await expect(page.getByRole('textbox', { name: 'Seed' })).toHaveValue('2')
  await expect(page.getByRole('textbox', { name: 'Passes' })).toHaveCount(0)
  await page.getByRole('checkbox', { name: 'Changed settings only' }).click()
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
  expect(await seriousProblems(page)).toEqual([])
  await page.keyboard.press('Control+Enter')
  await expect(page.getByText('Whole run')).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
})
