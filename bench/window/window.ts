/**
 * How quick the window is, in a real browser on the headless host:
 *   npm run build && node bench/window/window.ts [--window DIR]
 * cold start to interactive, Compare with 20 runs × 100,000 points opened and hovered, a run page with 10,000 stored
 * samples scrolled, memory of the page over an hour of simulated live events, what a run loses while it is watched,
 * studies of 64 members × 10,000 steps.
 * Prints figures; proves nothing else. `--only start,run,lines,studies,long` measures some of it.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { CDPSession, Page } from '@playwright/test'
import { lockRun } from '#host/workFolder/runFolder.ts'
import { serveHost, type ServedHost } from '#host/serveHost.ts'
import { launchBrowser, openPage } from '../../scripts/screens/browser.ts'
import { beginLiving, measureLiveLines } from './liveLines.ts'
import { beginRun, makeRun } from './longHistory.ts'
import { makeStudy, population, sweep } from './madeStudy.ts'
import { median, report, since } from './report.ts'
import { measureStudies } from './studies.ts'
import { measureWatched } from './watched.ts'

const parts = ['start', 'run', 'lines', 'studies', 'long'] as const
const { values } = parseArgs({
  options: { window: { type: 'string' }, only: { type: 'string', default: parts.join() } },
})
const isWanted = (part: (typeof parts)[number]): boolean => values.only.split(',').includes(part)

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-window-'))
const serve = (dataDirectory: string): Promise<ServedHost> =>
  serveHost({
    dataDirectory,
    port: 0,
    ...(values.window === undefined ? {} : { windowDirectory: path.resolve(values.window) }),
  })
const view = { theme: 'light', width: 1280, height: 800 } as const

async function measureStart(): Promise<void> {
  const starts: number[] = []
  const hosts: number[] = []
  for (let i = 0; i < 5; i++) {
    const dataDirectory = path.join(folder, `start-${String(i)}`)
    const begun = performance.now()
    await using host = await serve(dataDirectory)
    hosts.push(performance.now() - begun)
    const browser = await launchBrowser()
    const opened = performance.now()
    const page = await openPage(browser, { url: host.url, ...view })
    await page.getByRole('button', { name: 'Start the first run' }).click({ trial: true })
    starts.push(performance.now() - opened)
    await browser.close()
  }
  report('host: start to listening', `${median(hosts).toFixed(0)} ms`)
  report('cold start: page asked for to first button usable', `${median(starts).toFixed(0)} ms`)
}

async function measureCompare(page: Page, runIds: readonly string[]): Promise<void> {
  const route = `#/compare?runs=${runIds.join(',')}`
  const opened = await since(page, async () => {
    await page.evaluate(`location.hash = ${JSON.stringify(route)}`)
    await page.locator('[data-chart]').first().waitFor()
    await page.locator('[data-chart] :is(path.recharts-curve, canvas)').first().waitFor()
  })
  report('Compare: 20 runs × 100,000 points opened', `${opened.toFixed(0)} ms`)
  const again = await since(page, async () => {
    await page.evaluate("location.hash = '#/runs'")
    await page.locator('[data-chart]').first().waitFor({ state: 'detached' })
    await page.evaluate(`location.hash = ${JSON.stringify(route)}`)
    await page.locator('[data-chart] :is(path.recharts-curve, canvas)').first().waitFor()
  })
  report('Compare: opened again', `${again.toFixed(0)} ms`)
  await hover(page)
}

async function hover(page: Page): Promise<void> {
  const box = await page.locator('[data-chart]').first().boundingBox()
  if (box === null) throw new Error('Expected a chart.')
  const times: number[] = []
  for (let i = 0; i < 40; i++) {
    const x = box.x + 60 + ((box.width - 80) * i) / 40
    times.push(await since(page, () => page.mouse.move(x, box.y + box.height / 2)))
  }
  report('Compare: one move of the cursor (two pictures: 33 ms at least)', `${median(times).toFixed(0)} ms`)
}

const samples = (page: Page) => page.getByRole('listbox', { name: 'Prompts' })

async function measureSamples(page: Page, runId: string): Promise<void> {
  const opened = await since(page, async () => {
    await page.evaluate(`location.hash = '#/runs/${runId}/samples'`)
    await samples(page).waitFor()
  })
  report('Samples: page of a run with 10,000 samples opened', `${opened.toFixed(0)} ms`)
  await samples(page).hover()
  const times: number[] = []
  for (let i = 0; i < 60; i++) {
    times.push(await since(page, () => page.mouse.wheel(0, 400)))
  }
  report('Samples: one scroll of 400 px', `${median(times).toFixed(0)} ms`)
  report('Samples: the slowest of 60', `${Math.max(...times).toFixed(0)} ms`)
  const steps: number[] = []
  for (let i = 0; i < 20; i++) steps.push(await since(page, () => page.keyboard.press('BracketLeft')))
  report('Samples: to the previous step', `${median(steps).toFixed(0)} ms`)
}

/** Bytes of the page's heap once everything unused is gone. */
async function heap(devtools: CDPSession): Promise<number> {
  await devtools.send('HeapProfiler.collectGarbage')
  const { metrics } = await devtools.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? NaN
}

const hourSteps = 3600
const growths = 240

/** An hour of a run with a step a second, told sixty times as fast. */
async function measureHour(page: Page, dataDirectory: string): Promise<void> {
  const { run, grow } = beginRun(dataDirectory, 'an hour', hourSteps)
  // Without it the run would be taken for one that was interrupted.
  using _lock = lockRun(run.directory)
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Performance.enable')
  grow(hourSteps / growths)
  await page.waitForTimeout(3000)
  await page.evaluate(`location.hash = '#/runs/${run.id}/overview'`)
  await page.locator('[data-chart] .recharts-line-curve').first().waitFor({ state: 'attached' })
  const before = await heap(devtools)
  for (let i = 1; i < growths; i++) {
    grow(hourSteps / growths)
    await page.waitForTimeout(250)
  }
  await page.waitForTimeout(3000)
  const told = await page.locator('[data-chart]').first().innerText()
  if (!told.includes('over 3600 steps')) throw new Error(`Expected a chart of all steps, got ${told}.`)
  const after = await heap(devtools)
  report('run page: heap at its begin', `${(before / 1e6).toFixed(1)} MB`)
  report('run page: heap after an hour of steps', `${(after / 1e6).toFixed(1)} MB`)
}

async function measureRun(): Promise<void> {
  await using host = await serve(path.join(folder, 'watched'))
  const browser = await launchBrowser()
  const page = await openPage(browser, { url: host.url, ...view })
  const { unwatched, watched, pageBusy } = await measureWatched(host.url, page)
  await browser.close()
  report('run of the starter model, no page of it open', `${unwatched.toFixed(2)} steps/s`)
  report('the same with its page open', `${watched.toFixed(2)} steps/s`)
  report('main thread of the page at work', `${(100 * pageBusy).toFixed(0)} %`)
}

async function measureLines(): Promise<void> {
  const dataDirectory = path.join(folder, 'living')
  const runs = beginLiving(dataDirectory)
  await using host = await serve(dataDirectory)
  const browser = await launchBrowser()
  const page = await openPage(browser, { url: host.url, ...view })
  const share = await measureLiveLines(page, runs)
  await browser.close()
  report('Compare: 20 living runs in one panel, main thread at work', `${(100 * share).toFixed(1)} %`)
}

async function measureStudiesPage(): Promise<void> {
  const dataDirectory = path.join(folder, 'studies')
  const made = {
    population: makeStudy(dataDirectory, 'population', { population }),
    sweep: makeStudy(dataDirectory, 'sweep', { sweep }),
  }
  await using host = await serve(dataDirectory)
  const browser = await launchBrowser()
  await measureStudies(await openPage(browser, { url: host.url, ...view }), made)
  await browser.close()
}

async function measureLong(): Promise<void> {
  const dataDirectory = path.join(folder, 'long')
  const long = Array.from({ length: 20 }, (_, i) =>
    makeRun(dataDirectory, { name: `long ${String(i + 1)}`, steps: 100_000, metrics: 3, samplesPerStep: 0 }),
  )
  const sampled = makeRun(dataDirectory, { name: 'sampled', steps: 100, metrics: 7, samplesPerStep: 100 })
  const taken = performance.now()
  await using host = await serve(dataDirectory)
  report(
    'host: taking in 20 runs × 100,000 steps × 3 metrics',
    `${((performance.now() - taken) / 1000).toFixed(1)} s`,
  )
  const browser = await launchBrowser()
  const page = await openPage(browser, { url: host.url, ...view })
  await measureCompare(
    page,
    long.map(({ id }) => id),
  )
  await measureSamples(page, sampled.id)
  await measureHour(page, dataDirectory)
  await browser.close()
}

try {
  if (isWanted('start')) await measureStart()
  if (isWanted('run')) await measureRun()
  if (isWanted('lines')) await measureLines()
  if (isWanted('studies')) await measureStudiesPage()
  if (isWanted('long')) await measureLong()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
