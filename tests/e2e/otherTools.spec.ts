import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { Page } from '@playwright/test'
import { demoFile, expect, seriousProblems, test, addTrainedRun, type App } from './support.ts'

const step = (page: Page, name: string) =>
  page.getByRole('heading', { level: 2, name: new RegExp(`(^|[^a-z])${name}`) }).getByRole('button')
const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true }).first()
const setTheme = ({ client }: App, value: string) =>
  client.call('settings.set', { key: 'appearance.theme', value })

async function openSample({ page, open }: App): Promise<void> {
  await open('/new-run')
  await page.getByRole('button', { name: 'Fill in the sample run' }).click()
  await expect(page.getByText('The settings fit together')).toBeVisible()
}

const trlFile = [
  'learning_rate: 2.0e-6',
  'num_generations: 4',
  'max_completion_length: 24',
  'beta: 0.04',
  'max_steps: 7',
  'report_to: wandb',
  'no_such_setting: 3',
].join('\n')

test('settings of another tool: recognised, explained, taken over, and put back', async ({ app }) => {
  const { page } = app
  await openSample(app)
  await page.getByRole('button', { name: 'Config file' }).click()
  await page.getByRole('menuitem', { name: 'From another tool…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Settings from another tool' })
  await expect(dialog.getByRole('button', { name: 'Take over' })).toBeDisabled()
  await field(page, 'Its settings').fill('nothing: of the kind')
  await expect(dialog.getByRole('alert')).toContainText('LLaMA-Factory or axolotl')

  const file = { name: 'grpo.yaml', mimeType: 'text/yaml', buffer: Buffer.from(trlFile) }
  await dialog.getByLabel('Settings file to read').setInputFiles(file)
  await expect(dialog.getByText('grpo.yaml')).toBeVisible()
  await expect(dialog.getByRole('combobox', { name: 'Tool' })).toContainText('here TRL')
  await expect(dialog.getByText(/^Read as TRL’s GRPO settings: /)).toBeVisible()
  const taken = dialog.getByRole('row', { name: /^optimization\.learningRate/ })
  await expect(taken).toContainText('learning_rate')
  await expect(dialog.getByText(/no_such_setting \(3\) was skipped/)).toBeVisible()
  await expect(dialog.getByRole('heading', { name: /^Filled in/ })).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
  await setTheme(app, 'dark')
  expect(await seriousProblems(page)).toEqual([])

  await dialog.getByRole('combobox', { name: 'Tool' }).selectOption('agilerl')
  await expect(dialog.getByRole('alert')).toContainText('Choose the algorithm')
  await dialog.getByRole('combobox', { name: 'Algorithm' }).selectOption('grpo')
  await expect(dialog.getByText(/num_generations \(4\) was skipped/)).toBeVisible()
  await dialog.getByRole('combobox', { name: 'Tool' }).selectOption('by-names')
  await dialog.getByRole('combobox', { name: 'Algorithm' }).selectOption('by-names')
  await dialog.getByRole('button', { name: 'Take over' }).click()
  await expect(dialog).toBeHidden()
  await expect(page.getByText('TRL: settings taken over.')).toBeVisible()
  await step(page, 'Method').click()
  await expect(field(page, 'Steps')).toHaveValue('7')
  await expect(field(page, 'Max new tokens')).toHaveValue('24')
  // Model, rows and rewards are those of the draft: the file names none.
  await expect(page.getByText('The settings fit together')).toBeVisible()

  await page.getByRole('button', { name: 'Bring it back' }).click()
  await expect(field(page, 'Steps')).toHaveValue('30')
})

test('a rollout server is set up in a form of its own', async ({ app }) => {
  const { page, client } = app
  await openSample(app)
  await step(page, 'Method').click()
  await page.getByRole('button', { name: /^All settings/ }).click()
  await page.getByRole('searchbox', { name: 'Search settings' }).fill('adapter versions kept')
  await expect(field(page, 'Adapter versions kept')).toHaveCount(0)
  await page.getByRole('radio', { name: 'vLLM' }).click()
  await expect(field(page, 'Adapter versions kept')).toHaveValue('2')
  await page.getByRole('searchbox', { name: 'Search settings' }).fill('server')
  await expect(page.getByText('2 problems')).toBeVisible()
  const addAddress = async (address: string) => {
    await field(page, 'Addresses: another one').fill(address)
    await page.keyboard.press('Enter')
  }
  await addAddress('box:8000')
  await field(page, 'Adapter folder').fill('/shared/adapters')
  await expect(page.getByText(/an address that begins with http/).first()).toBeVisible()
  await page.getByRole('button', { name: 'Remove box:8000' }).click()
  await addAddress('http://box:8000')
  await addAddress('http://box:8001')
  await field(page, 'Retries').fill('3')
  await expect(page.getByText('The settings fit together')).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
  await expect
    .poll(async () => (await client.call('settings.all'))['newRun.draft'])
    .toMatchObject({
      config: {
        rollout: {
          server: {
            kind: 'vllm',
            url: ['http://box:8000', 'http://box:8001'],
            adapterFolder: '/shared/adapters',
            retries: 3,
          },
        },
      },
    })
  await page.getByRole('button', { name: 'Reset Retries to 10' }).click()
  await expect(field(page, 'Retries')).toHaveValue('10')
  await page.getByRole('radiogroup', { name: 'Rollout server' }).getByRole('radio', { name: 'Off' }).click()
  await expect(field(page, 'Addresses: another one')).toHaveCount(0)
  await expect(page.getByText('The settings fit together')).toBeVisible()
})

test('template variables stand beside the prompt and change its preview’s question @whole', async ({
  app,
}) => {
  const { page, client } = app
  const source = { path: demoFile('train.jsonl') }
  let versionId = ''
  for await (const item of client.stream('datasets.import', { source, name: 'exercises' }))
    if ('result' in item) versionId = item.result.version.id
  const asked: string[] = []
  page.on('websocket', (socket) => socket.on('framesent', ({ payload }) => void asked.push(String(payload))))
  await openSample(app)
  await app.go(`/new-run?data=${versionId}`)
  await expect(page.getByText(/10 % validation/).first()).toBeVisible()
  await step(page, 'Data').click()
  await page.getByRole('button', { name: 'Tools and template variables' }).click()
  await field(page, 'Template variables: name of another one').fill('enable_thinking')
  await page.keyboard.press('Enter')
  await page.getByRole('combobox', { name: 'Value of enable_thinking' }).selectOption('yes')
  await field(page, 'Template variables: name of another one').fill('effort')
  await page.keyboard.press('Enter')
  await page.getByRole('combobox', { name: 'Kind of effort' }).selectOption('number')
  await field(page, 'Value of effort').fill('0.5')
  expect(await seriousProblems(page)).toEqual([])
  await expect
    .poll(async () => (await client.call('settings.all'))['newRun.draft'])
    .toMatchObject({ config: { data: { templateVariables: { enable_thinking: true, effort: 0.5 } } } })
  const previews = () => asked.filter((text) => text.includes('datasets.preview')).at(-1)
  await expect.poll(previews).toContain('"templateVariables":{"enable_thinking":true,"effort":0.5}')
  await page.getByRole('button', { name: 'Remove effort' }).click()
  await expect(field(page, 'Value of effort')).toHaveCount(0)
})

test('a run goes on elsewhere: a project, its differences, and how it is started', async ({ app }) => {
  const { page, dataDirectory } = app
  const runId = await addTrainedRun(app, 'short demo')
  await page.setViewportSize({ width: 1024, height: 700 })
  await app.open(`/runs/${runId}/checkpoints`)
  const more = page.getByRole('button', { name: 'More for step 2' })
  await expect(more).toBeInViewport({ ratio: 1 })
  await more.click()
  await page.getByRole('menuitem', { name: 'Continue elsewhere…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Continue elsewhere' })
  const folder = path.join(dataDirectory, 'exports', 'short-demo-step-2-trl')
  await expect(dialog.getByRole('textbox', { name: 'Folder' })).toHaveValue(folder)
  expect(await seriousProblems(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Write project' }).click()
  const written = page.getByRole('dialog', { name: /^Written for TRL/ })
  await expect(written.getByText('trl/train.py')).toBeVisible()
  await expect(written.getByRole('region', { name: 'Differences from Turnwise' })).toContainText('TRL')
  const [enter, ...lines] = (await written.locator('pre').innerText()).split('\n')
  expect(enter).toBe(`cd ${folder}/trl`)
  const readme = readFileSync(path.join(folder, 'README.md'), 'utf8')
  expect(lines).toHaveLength(2)
  for (const line of lines) expect(readme).toContain(line)
  expect(await seriousProblems(page)).toEqual([])
  await setTheme(app, 'dark')
  expect(await seriousProblems(page)).toEqual([])

  await written.getByRole('button', { name: 'Write another' }).click()
  await dialog.getByRole('radio', { name: 'AgileRL' }).click()
  await dialog.getByRole('combobox', { name: 'Training there begins with' }).selectOption('begin')
  await dialog.getByRole('textbox', { name: 'Folder' }).fill(folder)
  await dialog.getByRole('button', { name: 'Write project' }).click()
  await expect(dialog.getByRole('alert')).toContainText('not empty')
})
