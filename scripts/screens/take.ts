/**
 * Takes pictures of every screen with real data, in both themes and two sizes:
 *   node scripts/screens/take.ts --data DIR --out DIR [--window DIR] [--only NAME]… [--theme light] [--size 1280x800]
 *     [--busy]
 * DIR of the data is filled by history.ts, and loses what was set up in New run; scenes.ts has names, routes and what is pressed
 * first. With one size, files are named like those in docs/images, `reward-light.png`, and it is noted beside them what they show.
 * Other work on the machine would be seen in them: it waits for its end, and gives up without --busy.
 */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { Browser, Page } from '@playwright/test'
import type { Api } from '#shared/api/api.ts'
import { createClient, type Client } from '#shared/api/client.ts'
import { openWebSocketPort } from '#shared/api/webSocketPort.ts'
import { serveHost } from '#host/serveHost.ts'
import { recordPicture } from '../docs/pictures.ts'
import { launchBrowser, openPage } from './browser.ts'
import { idleShare } from './load.ts'
import { forgetDrafts, scenesOf, type Scene } from './scenes.ts'

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    out: { type: 'string', default: 'screens' },
    window: { type: 'string' },
    only: { type: 'string', multiple: true, default: [] },
    theme: { type: 'string', multiple: true, default: ['light', 'dark'] },
    size: { type: 'string', multiple: true, default: ['1280x800', '1920x1080'] },
    busy: { type: 'boolean', default: false },
  },
})
if (values.data === undefined) throw new Error('Say which data directory to show; history.ts fills one.')

interface Look {
  readonly theme: 'light' | 'dark'
  readonly size: string
  readonly url: string
}

/** What is still read or drawn says so, with three dots behind it. */
async function untilLoaded(page: Page, name: string): Promise<void> {
  const status = page.getByRole('status')
  const loading = status.filter({ hasText: /…$/ }).or(page.locator('[role="status"][aria-label$="…"]'))
  for (let tries = 0; (await loading.count()) > 0; tries++) {
    if (tries === 100) {
      console.error(`${name}: it is still loading.`)
      return
    }
    await page.waitForTimeout(200)
  }
}

/** One page for all scenes of a look: going from screen to screen is part of what is shown. */
async function takeAll(
  browser: Browser,
  client: Client<Api>,
  scenes: readonly Scene[],
  { theme, size, url }: Look,
): Promise<void> {
  const [width = 1280, height = 800] = size.split('x').map(Number)
  await forgetDrafts(client)
  const page = await openPage(browser, { url, theme, width, height })
  for (const { name, route, prepare } of scenes) {
    await page.evaluate(`location.hash = ${JSON.stringify(route)}`)
    await page.waitForTimeout(1500)
    const busy = await idleShare(values.busy)
    try {
      await prepare?.(page)
      await untilLoaded(page, name)
    } catch (error) {
      // The others are taken all the same.
      console.error(`${name}: ${String(error)}`)
      process.exitCode = 1
      continue
    }
    await page.waitForTimeout(400)
    const file = [name, theme, ...(values.size.length > 1 ? [size] : [])].join('-') + '.png'
    await page.screenshot({ path: path.join(values.out, file) })
    if (values.size.length === 1) recordPicture(values.out, file, busy)
    console.log(path.join(values.out, file))
    await page.keyboard.press('Escape')
  }
  await page.context().close()
}

mkdirSync(values.out, { recursive: true })
await using host = await serveHost({
  dataDirectory: path.resolve(values.data),
  port: 0,
  ...(values.window === undefined ? {} : { windowDirectory: path.resolve(values.window) }),
})
const { origin, hash } = new URL(host.url)
const client = createClient<Api>(await openWebSocketPort({ origin, token: hash.replace('#token=', '') }))
const scenes = (await scenesOf(client)).filter(
  ({ name }) => values.only.length === 0 || values.only.includes(name),
)
const unknown = values.only.filter((name) => !scenes.some((scene) => scene.name === name))
if (unknown.length > 0)
  throw new Error(`No scene of this history is called ${unknown.join(', ')}; see scenes.ts.`)
const browser = await launchBrowser()
try {
  for (const theme of values.theme) {
    for (const size of values.size) {
      await takeAll(browser, client, scenes, {
        theme: theme === 'dark' ? 'dark' : 'light',
        size,
        url: host.url,
      })
    }
  }
} finally {
  await browser.close()
  client.close()
}
