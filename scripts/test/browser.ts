/** The browser of the journeys: where it is, how it is fetched, and which journeys there are without it. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chromium } from '@playwright/test'
import { systemBrowser } from '../../tests/e2e/browser.ts'

export const browserPath = (): string => systemBrowser() ?? chromium.executablePath()

const isDone = (command: string, ...args: readonly string[]): boolean =>
  spawnSync(command, args, { stdio: 'inherit' }).status === 0

/** Fetches Playwright's own, and where it cannot be had the system's package. `playwright`: its command-line script. */
export function fetchBrowser(playwright: string): void {
  console.log('No browser for the journeys yet: fetching one.')
  if (isDone(process.execPath, playwright, 'install', 'chromium') && existsSync(browserPath())) return
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return
  const install = [
    'install',
    '-qy',
    '--no-install-recommends',
    'chromium-headless-shell',
    'fonts-dejavu-core',
  ]
  if (isDone('apt-get', 'update', '-q')) isDone('apt-get', ...install)
}

/** Names of all journeys, for which no browser is needed. */
export function journeys(playwright: string): string[] {
  const { stdout } = spawnSync(process.execPath, [playwright, 'test', '--list'], { encoding: 'utf8' })
  return [...stdout.matchAll(/^ +(\[.*)$/gm)].map(([, name = '']) => name)
}
