/** The app as a person has it, in the real Electron: what a stand-in cannot prove. Runs wherever its binary is there. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { _electron, expect, test, type ElectronApplication, type Page } from '@playwright/test'
import { findElectron, hasDisplay } from '#cli/desktop.ts'
import { buildProject, linkProject } from '../electron/builtProject.ts'

const electron = findElectron()

/** Why this cannot be done here; null: it can. */
const reason =
  electron === null
    ? 'Electron is not installed here: npx install-electron fetches it.'
    : hasDisplay()
      ? null
      : 'There is no display for Electron: try xvfb-run.'

// Reports leave the reason out. Workers load this file once more.
if (reason !== null && process.env['TEST_WORKER_INDEX'] === undefined)
  process.stderr.write(`Skipped: the journey in Electron (tests/desktop/app.spec.ts). ${reason}\n`)

test.skip(reason !== null, reason ?? '')
test.describe.configure({ mode: 'serial' })

let project: ReturnType<typeof buildProject>
let home: string
let app: ElectronApplication
let page: Page
const problems: string[] = []

test.beforeAll(async () => {
  project = buildProject()
  linkProject(project.folder)
  home = mkdtempSync(path.join(tmpdir(), 'turnwise-desktop-'))
  await open()
})

test.afterAll(async () => {
  await app.close()
  project[Symbol.dispose]()
  rmSync(home, { recursive: true, force: true })
})

async function open(): Promise<void> {
  app = await _electron.launch({
    executablePath: electron ?? '',
    args: [path.join(project.folder, 'out/main/index.js')],
    env: { ...(process.env as Record<string, string>), TURNWISE_HOME: home },
  })
  page = await app.firstWindow()
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(error.message))
  await page.getByText('Connected', { exact: true }).waitFor()
}

/** In the page, as text: this file knows no browser's types. */
const inPage = <Result>(script: string): Promise<Result> => page.evaluate(script)

test('the page comes from its own scheme, without rights, with the bridge alone', async () => {
  expect(page.url()).toMatch(/^turnwise:\/\/app\/(#.*)?$/)
  expect(await inPage('[typeof require, typeof process, typeof module]')).toEqual(Array(3).fill('undefined'))
  expect(await inPage('Object.keys(window.turnwise).length')).toBe(9)
})

test('no request, no frame, no inline code gets through', async () => {
  const failed = (url: string) => inPage(`fetch(${JSON.stringify(url)}).then(() => false, () => true)`)
  expect(await failed('https://example.org/')).toBe(true)
  expect(await failed('file:///etc/hostname')).toBe(true)
  expect(await inPage(`window.open('https://example.org/')`)).toBe(null)
  await inPage(
    `document.body.append(Object.assign(document.createElement('script'), { text: 'window.wasRun = 1' }))`,
  )
  expect(await inPage('window.wasRun')).toBe(undefined)
  await inPage(`void (location.href = 'file:///etc/hostname')`)
  expect(page.url()).toMatch(/^turnwise:\/\/app\//)
  problems.length = 0 // the policy says what it refused
})

test('the menu, a second start and a file reach the page', async () => {
  await app.evaluate(({ Menu }) => {
    const find = (items: Electron.MenuItem[], label: string): Electron.MenuItem | undefined =>
      items.flatMap((item) => [item, ...(item.submenu?.items ?? [])]).find((item) => item.label === label)
    find(Menu.getApplicationMenu()?.items ?? [], 'Rewards')?.click()
  })
  await expect.poll(() => page.url()).toContain('#/rewards')
  await app.evaluate(({ app: shell }) => void shell.emit('second-instance', {}, [], '', { files: [] }))
  expect(await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1)
})

test('a run is trained in a process of its own, shows its progress and survives the window', async () => {
  await inPage(`void (location.hash = '#/')`)
  await page.getByRole('button', { name: 'Start the first run' }).click()
  const training = () => app.evaluate(({ app: shell }) => shell.getAppMetrics().map(({ name }) => name ?? ''))
  await expect.poll(training).toContain('Turnwise training')
  await expect.poll(() => runFolders().length).toBe(1)
  const [folder = ''] = runFolders()
  await expect.poll(() => stepsOf(folder)).toBeGreaterThan(1)
  // “Keep training in the background”.
  await answerWith(0)
  await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close())
  await expect.poll(() => isVisible()).toBe(false)
  const before = stepsOf(folder)
  await expect.poll(() => stepsOf(folder)).toBeGreaterThan(before)
  await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.show())
})

test('stopping and saving ends the program with a checkpoint, and the next start has it all', async () => {
  // “Stop and save”.
  await answerWith(1)
  const closed = app.waitForEvent('close')
  await app.evaluate(({ app: shell }) => shell.quit())
  await closed
  const [folder = ''] = runFolders()
  expect(existsSync(path.join(folder, 'checkpoints'))).toBe(true)
  await open()
  await inPage(`void (location.hash = '#/runs')`)
  await expect(
    page
      .getByRole('table')
      .getByText(/stopped|finished/i)
      .first(),
  ).toBeVisible()
  expect(problems).toEqual([])
})

const isVisible = () =>
  app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isVisible() ?? false)

function runFolders(): string[] {
  const runs = path.join(home, 'runs')
  return existsSync(runs) ? readdirSync(runs).map((name) => path.join(runs, name)) : []
}

/** Steps that its log tells of. */
const stepsOf = (folder: string): number =>
  readFileSync(path.join(folder, 'events.jsonl'), 'utf8').split('"type":"step"').length - 1

/** The person's answer to the next questions: the number of the button. */
const answerWith = (button: number) =>
  app.evaluate(({ dialog }, response) => {
    dialog.showMessageBox = () => Promise.resolve({ response, checkboxChecked: false })
  }, button)
