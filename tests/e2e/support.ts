/**
 * A journey's stage: a data directory and a headless host of its own, a page in a real browser and a client of the API
 * beside it. A journey fails when the page logs an error, breaks its content security policy or
 * asks another machine for anything.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test as base, type Locator, type Page } from '@playwright/test'
import axe from 'axe-core'
import type { Api } from '#shared/api/api.ts'
import type { Client } from '#shared/api/client.ts'
import type { InputOf } from '#shared/api/contract.ts'
import type { RunStatus } from '#shared/runs.ts'
import { connectTo, SharedHosts, startHost } from './host.ts'
import { isWhole } from '../sweeps.ts'
import { slowDown } from './slow.ts'

const root = path.resolve(import.meta.dirname, '../..')
export const starter = path.join(root, 'resources/starter')
export const demoFile = (name: string): string => path.join(root, 'resources/demo', name)

export interface App {
  readonly dataDirectory: string
  readonly page: Page
  readonly client: Client<Api>
  readonly url: string
  /** Opens the window at a route such as /data. */
  readonly open: (route?: string) => Promise<void>
  /** Goes to a route in the open window. */
  readonly go: (route: string) => Promise<void>
  /** Ends the host and starts another one on the same data, a process of its own; the page needs `open` again. */
  readonly restart: () => Promise<void>
}

/** A journey whose title ends with @whole says again what others do, and belongs to the whole run. */
export const test = base.extend<{ app: App; tier: null }, { hosts: SharedHosts }>({
  tier: [
    async ({ browserName: _ }, use, testInfo) => {
      testInfo.skip(testInfo.tags.includes('@whole') && !isWhole, 'in the whole run only')
      await use(null)
    },
    { auto: true },
  ],
  hosts: [
    async ({ browserName: _ }, use) => {
      using hosts = new SharedHosts()
      await use(hosts)
    },
    { scope: 'worker' },
  ],
  app: async ({ page, hosts }, use) => {
    const dataDirectory = mkdtempSync(path.join(tmpdir(), 'turnwise-journey-'))
    const problems = watchPage(page)
    await slowDown(page)
    let host = await hosts.start(dataDirectory)
    let client = await connectTo(host.url)
    const app = {
      dataDirectory,
      page,
      get client() {
        return client
      },
      get url() {
        return host.url
      },
      async open(route = '/') {
        await page.goto(host.url)
        await page.getByText('Connected', { exact: true }).waitFor()
        if (route !== '/') await app.go(route)
      },
      async go(route: string) {
        await page.evaluate((hash) => void (location.hash = hash), route)
      },
      async restart() {
        client.close()
        await host.stop()
        host = await startHost(dataDirectory)
        client = await connectTo(host.url)
      },
    }
    await use(app)
    client.close()
    await page.close()
    await host.stop()
    rmSync(dataDirectory, { recursive: true, force: true })
    expect(problems).toEqual([])
  },
})

export { expect } from '@playwright/test'

/** Everything that must not happen on a page; what a journey breaks on purpose it takes out again. */
function watchPage(page: Page): string[] {
  const problems: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => problems.push(`page: ${error.message}`))
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url())
    const isLocal = ['data:', 'blob:'].includes(protocol) || hostname === '127.0.0.1'
    if (!isLocal) problems.push(`request: ${request.url()}`)
  })
  return problems
}

/** The tab that is open at the head of the page. */
export const openView = (page: Page): Locator => page.locator('main header nav [aria-current=page]')

type RunConfigInput = InputOf<Api, 'runs.start'>['config']

/** The demo's run with changes, its paths made whole, measured on fewer rows. */
export function demoConfig(changes: Partial<RunConfigInput> = {}): RunConfigInput {
  const config = JSON.parse(readFileSync(demoFile('run.json'), 'utf8')) as RunConfigInput
  const data = { ...config.data, train: demoFile('train.jsonl'), heldOut: demoFile('heldout.jsonl') }
  const evaluation = { ...config.evaluation, rows: 10 }
  return { ...config, model: starter, data, evaluation, ...changes }
}

const ends: readonly RunStatus[] = ['finished', 'stopped', 'failed', 'interrupted']

/** Waits for a run's end; resolves with how it ended. */
export async function untilEnded(client: Client<Api>, runId: string): Promise<RunStatus> {
  for await (const { run } of client.follow('runs.follow', { runId })) {
    if (ends.includes(run.status)) return run.status
  }
  throw new Error('The run was not told of to its end.')
}

/** On few prompts: how much is learned matters to no journey. */
export async function trainDemo(client: Client<Api>, changes: Partial<RunConfigInput> = {}): Promise<string> {
  const rollout = { promptsPerStep: 4, groupSize: 4, maxNewTokens: 16 }
  const { runId } = await client.call('runs.start', { config: demoConfig({ rollout, ...changes }) })
  expect(await untilEnded(client, runId)).toBe('finished')
  return runId
}

/** Where the runs lie that were trained for all journeys, one folder for each; set before they begin. */
export const historyVariable = 'TURNWISE_TEST_HISTORY'

/** Of the runs that were trained for all journeys. */
export const historySettings = {
  steps: 3,
  rollout: { promptsPerStep: 4, groupSize: 4, maxNewTokens: 16 },
  checkpoints: { every: 1 },
  shownTrajectories: 64,
}

/** Two runs of the demo's task that differ in their seed, "first" and "second". */
export async function trainHistory(client: Client<Api>): Promise<void> {
  await trainDemo(client, { ...historySettings, name: 'first' })
  await trainDemo(client, { ...historySettings, name: 'second', seed: 2 })
}

/**
 * A run that was trained before all journeys, three steps with a checkpoint of each, under this name. The host takes it
 * in as one of another program. The same one each time, so `which` where a journey wants two.
 */
export async function addTrainedRun(
  { dataDirectory, client }: App,
  name: string,
  which: 0 | 1 = 0,
): Promise<string> {
  const history = process.env[historyVariable] ?? ''
  const runId = readdirSync(history).toSorted()[which] ?? '' // ids begin with the time
  const copy = path.join(dataDirectory, 'copied-run')
  cpSync(path.join(history, runId), copy, { recursive: true })
  mkdirSync(path.join(dataDirectory, 'runs'), { recursive: true })
  renameSync(copy, path.join(dataDirectory, 'runs', runId)) // the host finds it whole
  await expect.poll(async () => (await client.call('runs.list', {})).map(({ id }) => id)).toContain(runId)
  await client.call('runs.rename', { runId, name })
  return runId
}

/** What axe finds serious or critical in the page as it stands, in words. `rules`: those alone, by default all. */
export async function seriousProblems(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  const violations = await analyze(page, rules === undefined ? {} : { runOnly: [...rules] }, 3)
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary ?? ''}`),
    )
}

/** Rules about what themes differ in. */
export const colourRules = ['color-contrast', 'link-in-text-block']

/** Finds nothing serious: with all rules in the dark, with those about colours in light, too. */
export async function expectNoProblems(page: Page): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme })
    await expect(page.locator(`html[data-theme="${colorScheme}"]`)).toBeAttached()
    expect(await seriousProblems(page, colorScheme === 'dark' ? undefined : colourRules)).toEqual([])
  }
}

/**
 * All of axe's rules in the page itself: its adapter for Playwright takes ten times as long, for frames, of which the
 * window has none. Axe breaks when what it looks at is taken off the page under its hands, as live lists do; then it
 * looks again.
 */
async function analyze(
  page: Page,
  options: axe.RunOptions,
  attempts: number,
): Promise<readonly axe.Result[]> {
  try {
    if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
    return await page.evaluate(async (chosen) => {
      const inPage = window as unknown as { readonly axe: typeof axe }
      const { violations } = await inPage.axe.run(document, { resultTypes: ['violations'], ...chosen })
      return violations
    }, options)
  } catch (error) {
    if (attempts <= 1) throw error
    await page.waitForTimeout(500)
    return analyze(page, options, attempts - 1)
  }
}
