/**
 * Takes the animated picture of README, twelve seconds of the real window: start the first run, watch it learn, read an
 * answer, compare before and after:
 *   node scripts/screens/animate.ts --out DIR [--name first-run] [--busy]
 * The run is shown in six seconds, however long it took.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { Locator, Page } from '@playwright/test'
import { serveHost } from '#host/serveHost.ts'
import { recordPicture } from '../docs/pictures.ts'
import { launchBrowser, openPage } from './browser.ts'
import { idleShare } from './load.ts'
import { animatedPng, type Shot } from './animatedPng.ts'

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    name: { type: 'string', default: 'first-run' },
    busy: { type: 'boolean', default: false },
  },
})
if (values.out === undefined) throw new Error('Say where to put the picture: --out DIR.')

const width = 1024
const height = 640

const outline = (target: Locator, value: string): Promise<unknown> =>
  target.evaluate(
    ({ style }: { style: object }, text) => Object.assign(style, { outline: text, outlineOffset: '2px' }),
    value,
  )

/** Takes pictures of a page, each shown for as long as is said. */
class Film {
  readonly shots: Shot[] = []
  readonly #page: Page

  constructor(page: Page) {
    this.#page = page
  }

  async take(milliseconds: number): Promise<void> {
    this.shots.push({ picture: await this.#page.screenshot(), milliseconds })
  }

  /** Shows a ring around what is pressed before it is. */
  async press(target: Locator, milliseconds: number): Promise<void> {
    await target.waitFor()
    await outline(target, '3px solid #e5484d')
    await this.take(milliseconds)
    await outline(target, '')
    await target.click()
  }

  /** Takes pictures until `end` is there, of which `count` are kept, evenly. */
  async until(end: Locator, count: number, milliseconds: number): Promise<void> {
    const all: Buffer[] = []
    while (!(await end.isVisible())) {
      all.push(await this.#page.screenshot())
      await this.#page.waitForTimeout(100)
    }
    all.push(await this.#page.screenshot())
    for (let i = 1; i <= count; i++) {
      const picture = all[Math.ceil((i * all.length) / count) - 1]
      if (picture !== undefined) this.shots.push({ picture, milliseconds })
    }
  }
}

async function firstRun(page: Page, film: Film): Promise<void> {
  const guide = page.getByRole('complementary', { name: 'Guide' })
  const next = guide.getByRole('button', { name: /^(Next|Finish)$/ })
  await page.getByRole('button', { name: 'Start the first run' }).waitFor()
  await film.take(900)
  await film.press(page.getByRole('button', { name: 'Start the first run' }), 600)
  await page.locator('[data-chart]').first().waitFor()
  await film.until(guide.getByRole('status'), 24, 220)
  await film.take(700)
  await next.click()
  await page.getByRole('region', { name: 'Completion', exact: true }).waitFor()
  await page.waitForTimeout(1000)
  await film.take(1500)
  for (let i = 0; i < 3; i++) await next.click()
  await film.press(guide.getByRole('button', { name: 'Compare before and after' }), 600)
  await film.press(page.getByRole('button', { name: 'Generate' }), 600)
  // The trained model answers with the result alone, the base in words.
  const trained = page
    .getByRole('region', { name: /^Column/ })
    .filter({ has: page.locator('p', { hasText: /^[\d ]+$/ }) })
  await film.press(trained.getByRole('button', { name: /is better$/ }).first(), 900)
  await page.waitForTimeout(500)
  await film.take(1300)
}

const dataDirectory = mkdtempSync(path.join(tmpdir(), 'turnwise-film-'))
const browser = await launchBrowser()
try {
  await using host = await serveHost({ dataDirectory, port: 0 })
  const page = await openPage(browser, { url: host.url, theme: 'light', width, height })
  const busy = await idleShare(values.busy)
  const film = new Film(page)
  await firstRun(page, film)
  const file = `${values.name}.png`
  const picture = animatedPng(film.shots)
  writeFileSync(path.join(values.out, file), picture)
  recordPicture(values.out, file, busy)
  const seconds = film.shots.reduce((sum, { milliseconds }) => sum + milliseconds, 0) / 1000
  console.log(
    `${path.join(values.out, file)}: ${(picture.length / 1e6).toFixed(2)} MB, ${seconds.toFixed(1)} s`,
  )
} finally {
  await browser.close()
  rmSync(dataDirectory, { recursive: true, force: true })
}
