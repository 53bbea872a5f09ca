import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import type { Page } from '@playwright/test'
import { smallShape, writeQuantizedModel } from '../host/gguf/quantizedModel.ts'
import { startHub } from '../host/hub/loopbackHub.ts'
import {
  expect,
  expectNoProblems,
  seriousProblems,
  starter,
  test,
  addTrainedRun,
  trainDemo,
} from './support.ts'

/** Chooses a folder of the host's machine in the dialog that a browser gets. */
async function chooseFolder(page: Page, folder: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Folder', { exact: true }).fill(folder)
  await dialog.getByRole('button', { name: 'Go', exact: true }).click()
  await expect(dialog.getByLabel('Folder', { exact: true })).toHaveValue(folder)
  await expect(dialog.getByRole('button', { name: 'Use this folder' })).toBeEnabled()
  await dialog.getByRole('button', { name: 'Use this folder' }).click()
}

/**
 * As the system does it when a folder is let go over the window: pages cannot make such a drop themselves. Something new
 * comes under the pointer in between, as lists do that are read meanwhile.
 */
async function dropFolder(page: Page, folder: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const data = { items: [], files: [folder], dragOperationsMask: 1 }
  const drag = (type: 'dragEnter' | 'dragOver' | 'drop') =>
    session.send('Input.dispatchDragEvent', { type, x: 640, y: 400, data })
  await drag('dragEnter')
  await drag('dragOver')
  await expect(page.getByText('Drop to preview')).toBeVisible() // before that the window has not said that it takes it
  await page.evaluate(() => {
    const cover = document.body.appendChild(document.createElement('div'))
    cover.style.cssText = 'position: fixed; inset: 0; z-index: 9999'
    addEventListener('drop', () => cover.remove())
  })
  await drag('drop')
}

/** Names, shapes and places of the tensors, as the file's first bytes have them. */
function safetensorsHeader(
  file: string,
): Record<string, { dtype: string; shape: number[]; data_offsets: number[] }> {
  const bytes = readFileSync(file)
  const length = Number(bytes.readBigUInt64LE(0))
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString('utf8')) as Record<string, never>
  const { __metadata__: _, ...tensors } = header
  return tensors
}

test('what a model lacks is said before it is imported', async ({ app }) => {
  const { page, dataDirectory } = app
  const folder = path.join(dataDirectory, 'without-text')
  cpSync(starter, folder, { recursive: true })
  rmSync(path.join(folder, 'tokenizer.json'))
  await app.open('/models')
  await page.getByRole('button', { name: 'Add a model' }).click()
  await page.getByRole('menuitem', { name: 'From a folder' }).click()
  await chooseFolder(page, folder)
  await expect(page.getByText(/tokenizer\.json/).first()).toBeVisible()
  await expectNoProblems(page)
})

test('a checkpoint is exported as an adapter whose files are what was trained', async ({ app }) => {
  const { page, dataDirectory } = app
  const runId = await addTrainedRun(app, 'short run')
  await app.open('/models')
  await expect(page.getByText('Built in')).toBeVisible()
  await expectNoProblems(page)
  await page.getByRole('button', { name: /^Export short run, step/ }).click()
  await expect(page).toHaveURL(new RegExp(`/models/export\\?run=${runId}&step=`))
  await expect(page.getByRole('button', { name: 'Run: short run' })).toBeVisible()
  await page.getByRole('combobox', { name: 'Checkpoint' }).selectOption('1')
  await expect(page.getByRole('radio', { name: 'GGUF adapter' })).toBeEnabled()

  const out = path.join(dataDirectory, 'exports', 'short-run-step-1-peft')
  await expect(page.getByLabel('Folder', { exact: true })).toHaveValue(out)
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await expect(page.getByRole('heading', { name: 'Exported and checked' })).toBeVisible()
  await expect(page.getByText('Passed')).toHaveCount(4)
  await expectNoProblems(page)

  expect(readdirSync(out)).toEqual(
    expect.arrayContaining(['adapter_config.json', 'adapter_model.safetensors']),
  )
  const config = JSON.parse(readFileSync(path.join(out, 'adapter_config.json'), 'utf8')) as Record<
    string,
    unknown
  >
  expect(config).toMatchObject({ peft_type: 'LORA', r: 16, lora_alpha: 32 })
  const file = path.join(out, 'adapter_model.safetensors')
  const tensors = Object.entries(safetensorsHeader(file))
  expect(tensors.length).toBeGreaterThan(0)
  for (const [name, { shape }] of tensors) {
    expect(name).toMatch(/^base_model\.model\..*\.lora_[AB]\.weight$/)
    expect(shape).toContain(16)
  }
  await expect(page.getByText('adapter_model.safetensors')).toBeVisible()

  await page.getByRole('button', { name: 'Export another' }).click()
  await expect(page.getByLabel('Folder', { exact: true })).toHaveValue(`${out}-2`)

  await page.getByRole('radio', { name: 'GGUF adapter' }).click()
  await page.getByRole('combobox', { name: 'Precision' }).selectOption('f16')
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await expect(page.getByRole('heading', { name: 'Exported and checked' })).toBeVisible()
  await expect(page.getByRole('cell', { name: 'adapter.gguf' })).toBeVisible()
  await expect(page.getByText('Passed')).toHaveCount(3)
  const gguf = readFileSync(path.join(out.replace(/peft$/, 'gguf'), 'adapter.gguf'))
  expect(gguf.toString('latin1', 0, 4)).toBe('GGUF')

  await page.getByRole('button', { name: 'Export another' }).click()
  await page.getByRole('radio', { name: 'GGUF model' }).click()
  await page.getByRole('combobox', { name: 'Precision' }).selectOption('q8_0')
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await expect(page.getByRole('heading', { name: 'Exported and checked' })).toBeVisible()
  await expect(page.getByRole('cell', { name: 'Modelfile' })).toBeVisible()
  await expect(page.getByText('llama.cpp').first()).toBeVisible()
  await expectNoProblems(page)
  const model = out.replace(/peft$/, 'gguf-model')
  expect(readdirSync(model)).toEqual(expect.arrayContaining(['Modelfile', 'README.md', 'model.gguf']))
})

test('an export keeps to the run and step it was opened with while others are trained @whole', async ({
  app,
}) => {
  const { page, client, dataDirectory } = app
  const [steps, checkpoints] = [1, { every: 1 }]
  const first = await addTrainedRun(app, 'first')
  await app.open('/models/export')
  await expect(page.getByRole('button', { name: 'Run: first' })).toBeVisible()
  await expect(page).toHaveURL(new RegExp(`/models/export\\?run=${first}&step=[123]$`))
  const address = page.url()
  const checkpoint = page.getByRole('combobox', { name: 'Checkpoint' })
  const step = await checkpoint.inputValue()

  // Its first checkpoint makes a newer run the newest that can be exported; one of the old run's may become its best.
  await trainDemo(client, { steps, checkpoints, name: 'second' })
  await client.call('runs.rename', { runId: first, name: 'first of all' }) // told after the second run was
  await expect(page.getByRole('button', { name: 'Run: first of all' })).toBeVisible()
  await expect(checkpoint).toHaveValue(step)
  expect(page.url()).toBe(address)
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await expect(page.getByRole('heading', { name: 'Exported and checked' })).toBeVisible()
  await expect(page.getByText(`first of all, step ${step} ·`)).toBeVisible()
  expect(readdirSync(path.join(dataDirectory, 'exports'))).toEqual([`first-of-all-step-${step}-peft`])

  // The report stays whatever begins meanwhile and whatever is chosen next.
  await trainDemo(client, { steps, checkpoints, name: 'third' })
  await page.getByRole('button', { name: 'Run: first of all' }).click()
  await page.getByRole('option', { name: /^third/ }).click()
  await expect(page.getByRole('button', { name: 'Run: third' })).toBeVisible()
  await expect(page).toHaveURL(/&step=[123]$/)
  await expect(page.getByText(`first of all, step ${step} ·`)).toBeVisible()
})

test('an address with a checkpoint that is gone offers no other one @whole', async ({ app }) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'thinned')
  await app.open(`/models/export?run=${runId}&step=7`)
  await expect(page.getByText('The checkpoint of step 7 no longer exists.')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Export', exact: true })).toBeHidden()
  await page.getByRole('combobox', { name: 'Checkpoint' }).selectOption('2')
  await expect(page.getByRole('button', { name: 'Export', exact: true })).toBeEnabled()
})

test('a run page links to its checkpoint; a full folder is refused and left alone @whole', async ({
  app,
}) => {
  const { page } = app
  const runId = await addTrainedRun(app, 'linked')
  await app.open(`/models/export?run=${runId}&step=1`)
  await expect(page.getByRole('combobox', { name: 'Checkpoint' })).toHaveValue('1')
  await page.getByLabel('Folder', { exact: true }).fill(starter)
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await expect(page.getByRole('alert')).toContainText('is not empty')
  expect(readdirSync(starter)).toContain('model.safetensors')
})

test('a model is looked at, imported under a name, tried, and deleted', async ({ app }) => {
  const { page, client, dataDirectory } = app
  const folder = path.join(dataDirectory, 'downloaded model')
  cpSync(starter, folder, { recursive: true })
  await app.open('/models')
  await page.getByRole('button', { name: 'Add a model' }).click()
  await page.getByRole('menuitem', { name: 'From a folder' }).click()
  await expect(page.getByRole('dialog').getByText('No model in this folder')).toBeVisible()
  await page.getByRole('dialog').getByLabel('Folder', { exact: true }).fill(folder)
  await page.getByRole('dialog').getByRole('button', { name: 'Go', exact: true }).click()
  await expect(page.getByRole('dialog').getByText('Model found: use this folder.')).toBeVisible()
  await chooseFolder(page, folder)
  await expect(page.getByRole('heading', { name: 'downloaded model' })).toBeVisible()
  await expect(page.getByText('425 tokens')).toBeVisible()
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('downloaded-model')
  await page.getByLabel('Name', { exact: true }).fill('starter')
  await expect(page.getByText('This name is already in use.')).toBeVisible()
  await page.getByLabel('Name', { exact: true }).fill('mine')
  await page.getByLabel('Hub id').fill('someone/mine')
  await expectNoProblems(page)
  await page.getByRole('button', { name: 'Import model' }).click()
  await expect(page.getByRole('heading', { name: 'mine' })).toBeVisible()
  await expect(page.getByText('someone/mine', { exact: true })).toBeVisible()
  expect((await client.call('models.list')).map(({ name }) => name)).toEqual(['starter', 'mine'])

  await page.getByLabel('Text to tokenise').fill('Sort 8 0 5 7')
  await page.getByRole('radio', { name: 'Plain text' }).click()
  await expect(page.getByRole('group', { name: /^The text, 5 tokens/ })).toContainText('Sort 8 0 5 7')

  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await expect(page.getByText('No run needs it.')).toBeVisible()
  await page.getByRole('button', { name: 'Delete model' }).click()
  await expect(page.getByRole('heading', { name: 'starter' })).toBeVisible()
  await expect
    .poll(async () => (await client.call('models.list')).map(({ name }) => name))
    .toEqual(['starter'])
})

test('an exported adapter comes back in as one @whole', async ({ app }) => {
  const { page, client, dataDirectory } = app
  const runId = await addTrainedRun(app, 'to and fro')
  const out = path.join(dataDirectory, 'exports', 'adapter-out')
  for await (const item of client.stream('checkpoints.export', { runId, step: 1, format: 'peft', out })) {
    if ('result' in item) expect(item.result.parity.every(({ passed }) => passed)).toBe(true)
  }
  await app.open('/models')
  await page.getByRole('button', { name: 'Add a model' }).click()
  await page.getByRole('menuitem', { name: 'From a folder' }).click()
  await chooseFolder(page, out)
  await expect(page.getByText('This folder is an adapter.')).toBeVisible()
  await page.getByRole('button', { name: 'Import adapter' }).click()
  await expect(page.getByRole('heading', { name: 'adapter-out' })).toBeVisible()
  await expect(page.getByText('rank 16')).toBeVisible()
  await expectNoProblems(page)
  expect(await client.call('models.adapters')).toMatchObject([{ name: 'adapter-out', rank: 16, alpha: 32 }])

  await page.getByRole('button', { name: 'Continue this adapter' }).click()
  await expect(page).toHaveURL(/#\/new-run$/)
  await expect(page.getByText('The adapter begins as adapter-out.')).toBeVisible()
  await app.go(`/runs/${runId}/checkpoints`)
  await page.getByRole('button', { name: 'More for step 1' }).click()
  await page.getByRole('menuitem', { name: 'Continue its adapter in a new run' }).click()
  await expect(page.getByText('starter · continues step-000001')).toBeVisible()
  await expectNoProblems(page)
})

test('a dropped folder is sent to the host and imported @whole', async ({ app }) => {
  const { page, client } = app
  await app.open('/')
  await dropFolder(page, starter)
  await expect(page).toHaveURL(/#\/models/)
  await expect(page.getByText('425 tokens')).toBeVisible()
  await page.getByLabel('Name', { exact: true }).fill('dropped')
  await page.getByRole('button', { name: 'Import model' }).click()
  await expect(page.getByRole('heading', { name: 'dropped' })).toBeVisible()
  expect((await client.call('models.list')).map(({ name }) => name)).toContain('dropped')
})

test('a model is fetched from a hub by its address, looked at and imported', async ({ app }) => {
  const { page, client } = app
  await using hub = await startHub(starter)
  await client.call('settings.set', { key: 'hub.endpoint', value: hub.endpoint })
  await app.open('/models')
  await page.getByRole('button', { name: 'Add a model' }).click()
  await page.getByRole('menuitem', { name: 'From a hub' }).click()
  await expect(page.getByText(`Requests go to ${hub.endpoint}`)).toBeVisible()
  expect(await seriousProblems(page)).toEqual([])
  await page.getByRole('textbox', { name: 'Address' }).fill('someone/nothing')
  await page.getByRole('button', { name: 'Look it up' }).click()
  await expect(page.getByText('The hub has no model “someone/nothing”')).toBeVisible()
  await page.getByRole('textbox', { name: 'Address' }).fill('someone/tiny')
  await page.getByRole('button', { name: 'Look it up' }).click()
  await expect(page.getByRole('button', { name: 'Download' })).toBeDisabled()
  await page.getByRole('checkbox', { name: 'I have read and accept the licence apache-2.0' }).check()
  await page.getByRole('button', { name: 'Download' }).click()
  await expect(page.getByRole('dialog')).toBeHidden()
  await expect(page.getByLabel('Hub id')).toHaveValue('someone/tiny')
  await page.getByRole('button', { name: 'Import model' }).click()
  await expect.poll(async () => (await client.call('models.list')).map(({ name }) => name)).toContain('tiny')
  // A hub on this machine is no other machine.
  expect((await client.call('system.load')).outboundRequests).toBe(0)
})

test('a model in the Hugging Face cache is trained in place, and copied only when asked @whole', async ({
  app,
}) => {
  const { page, dataDirectory } = app
  const hub = path.join(dataDirectory, 'hub')
  const snapshot = path.join(hub, 'models--someone--tiny', 'snapshots', 'c0ffee')
  cpSync(starter, snapshot, { recursive: true })
  Object.assign(process.env, { TURNWISE_FOUND_MODELS: '1', HF_HUB_CACHE: hub, OLLAMA_MODELS: hub })
  try {
    await app.restart()
  } finally {
    Object.assign(process.env, { TURNWISE_FOUND_MODELS: '0' })
  }
  await app.open('/models')
  const list = page.getByRole('navigation', { name: 'Models and adapters' })
  await expect(list.getByRole('heading', { name: 'Hugging Face cache' })).toBeVisible()
  await list.getByRole('link', { name: /someone\/tiny/ }).click()
  await expect(page.getByRole('heading', { name: 'someone/tiny' })).toBeVisible()
  await expect(page.getByText('fits in f32')).toBeVisible()
  await expectNoProblems(page)

  await page.getByRole('button', { name: 'More actions' }).click()
  await expect(page.getByRole('menuitem', { name: 'Delete' })).toHaveCount(0)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Train this' }).click()
  await expect(page.getByText('someone/tiny').first()).toBeVisible()

  await app.open('/models/someone%2Ftiny')
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Copy into Turnwise’s folder' }).press('Enter')
  await page.getByRole('button', { name: 'Import model' }).click()
  await expect(page).toHaveURL(/models\/tiny$/)
  expect(readdirSync(path.join(dataDirectory, 'models'))).toEqual(['tiny'])
  expect(readdirSync(snapshot)).toEqual(readdirSync(starter))
})

test('a GGUF file is added: dropped, chosen as a file or in its folder, and named as it names itself @whole', async ({
  app,
}) => {
  const { page, client, dataDirectory } = app
  const folder = path.join(dataDirectory, 'downloads')
  mkdirSync(folder)
  const file = path.join(folder, 'tiny-model.Q8_0.gguf')
  writeQuantizedModel(file, 'Q8_0', { ...smallShape('llama'), name: 'Tiny Model 135M' })
  const name = page.getByLabel('Name', { exact: true })
  const dialog = page.getByRole('dialog')
  const add = async (from: string) => {
    await page.getByRole('button', { name: 'Add a model' }).click()
    await page.getByRole('menuitem', { name: from }).click()
    await dialog.getByLabel('Folder', { exact: true }).fill(folder)
    await dialog.getByRole('button', { name: 'Go', exact: true }).click()
    await expect(dialog.getByLabel('Folder', { exact: true })).toHaveValue(folder)
  }
  await app.open('/models')
  await dropFolder(page, file)
  await expect(name).toHaveValue('Tiny-Model-135M')
  await page.getByRole('button', { name: 'Discard' }).click()

  await add('From a folder')
  await expect(dialog.getByText('Model found: use this folder.')).toBeVisible()
  await dialog.getByRole('button', { name: 'tiny-model.Q8_0.gguf' }).click()
  await expectNoProblems(page)
  await dialog.getByRole('button', { name: 'Use this file' }).click()
  await expect(name).toHaveValue('Tiny-Model-135M')
  await page.getByRole('button', { name: 'Discard' }).click()

  await add('From a GGUF file')
  await dialog.getByRole('button', { name: 'tiny-model.Q8_0.gguf' }).dblclick()
  await expect(name).toHaveValue('Tiny-Model-135M')
  await page.getByRole('button', { name: 'Import model' }).click()
  await expect(page.getByRole('heading', { name: 'Tiny-Model-135M' })).toBeVisible()
  expect((await client.call('models.list')).map((model) => model.name)).toContain('Tiny-Model-135M')
})
