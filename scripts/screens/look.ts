/**
 * Takes a picture of one screen:
 *   node scripts/screens/look.ts --route '#/runs' --out runs.png [--theme dark] [--size 1280x800] [--data DIR]
 *     [--window DIR] [--click 'text or CSS selector']… [--wait MS]
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { serveHost } from '#host/serveHost.ts'
import { launchBrowser, openPage } from './browser.ts'

const { values } = parseArgs({
  options: {
    route: { type: 'string', default: '#/' },
    out: { type: 'string', default: 'screen.png' },
    theme: { type: 'string', default: 'light' },
    size: { type: 'string', default: '1280x800' },
    data: { type: 'string' },
    window: { type: 'string' },
    click: { type: 'string', multiple: true, default: [] },
    wait: { type: 'string', default: '700' },
  },
})

const [width = 1280, height = 800] = values.size.split('x').map(Number)
const dataDirectory = values.data ?? mkdtempSync(path.join(tmpdir(), 'turnwise-look-'))
await using host = await serveHost({
  dataDirectory,
  port: 0,
  ...(values.window === undefined ? {} : { windowDirectory: path.resolve(values.window) }),
  onFault: (name, error) => console.error(`host: ${name}`, error),
})
const browser = await launchBrowser()
try {
  const theme = values.theme === 'dark' ? 'dark' : 'light'
  const page = await openPage(browser, { url: host.url, theme, width, height })
  await page.evaluate(`location.hash = ${JSON.stringify(values.route)}`)
  await page.waitForTimeout(Number(values.wait))
  for (const target of values.click) {
    const isSelector = /^[#.[]|^css=|^role=/.test(target)
    await (isSelector ? page.locator(target) : page.getByText(target, { exact: true })).first().click()
    await page.waitForTimeout(400)
  }
  await page.screenshot({ path: values.out })
  console.log(values.out)
} finally {
  await browser.close()
}
