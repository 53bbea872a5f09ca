/** A browser without a window on a host of its own, for pictures and measurements. */
import { existsSync } from 'node:fs'
import { chromium, type Browser, type Page } from '@playwright/test'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** From CHROMIUM, or where systems put it. */
export function chromiumPath(): string {
  const found = process.env['CHROMIUM'] ?? places.find((place) => existsSync(place))
  if (found === undefined) throw new Error('No Chromium was found; install it or name it in CHROMIUM.')
  return found
}

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: chromiumPath(),
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--font-render-hinting=none'],
  })

export interface PageOptions {
  readonly url: string
  readonly theme: 'light' | 'dark'
  readonly width: number
  readonly height: number
}

/** Faults that the page told of go to the standard error. */
export async function openPage(browser: Browser, { url, theme, width, height }: PageOptions): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') console.error(`page: ${message.text()}`)
  })
  page.on('pageerror', (error) => console.error(`page: ${error.message}`))
  await page.goto(url)
  await page.getByText('Connected', { exact: true }).waitFor()
  return page
}
