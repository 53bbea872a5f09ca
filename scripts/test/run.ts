/**
 * `npm test`: the unit tests, then journeys through the window, whatever the unit tests said. Where there is no browser it
 * tries to get one, and where none can be had it names the journeys that were skipped; with TURNWISE_NEEDS_BROWSER=1 they
 * fail instead.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { chromium } from '@playwright/test'
import { systemBrowser } from '../tests/e2e/browser.ts'

const { resolve } = createRequire(import.meta.url)
const inPackage = (name: string, file: string) =>
  path.join(path.dirname(resolve(`${name}/package.json`)), file)
const vitest = inPackage('vitest', 'vitest.mjs')
const playwright = inPackage('@playwright/test', 'cli.js')

const hasBrowser = (): boolean => existsSync(systemBrowser() ?? chromium.executablePath())

const isAllDone = (command: string, ...args: readonly string[]): boolean =>
  spawnSync(command, args, { stdio: 'inherit' }).status === 0

/** Playwright's own, and where it cannot be fetched the system's package. */
function fetchBrowser(): void {
  console.log('No browser for the journeys yet: fetching one.')
  if (isAllDone(process.execPath, playwright, 'install', 'chromium') && hasBrowser()) return
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return
  const install = ['install', '-qy', '--no-install-recommends', 'chromium', 'fonts-dejavu-core']
  if (isAllDone('apt-get', 'update', '-q')) isAllDone('apt-get', ...install)
}

/** The names need no browser. */
function nameSkipped(): void {
  const { stdout } = spawnSync(process.execPath, [playwright, 'test', '--list'], { encoding: 'utf8' })
  for (const [, name = ''] of stdout.matchAll(/^ +(\[.*)$/gm)) console.log(`Skipped: ${name}`)
  console.log(
    'No browser could be had, so these journeys did not run. With Chromium or Chrome installed, or its path in the ' +
      'variable CHROMIUM: npm run test:e2e',
  )
}

function areJourneysDone(): boolean {
  if (!hasBrowser()) fetchBrowser()
  if (hasBrowser() || process.env['TURNWISE_NEEDS_BROWSER'] === '1')
    return isAllDone(process.execPath, playwright, 'test')
  nameSkipped()
  return true
}

const areUnitsDone = isAllDone(process.execPath, vitest, 'run')
process.exitCode = areJourneysDone() && areUnitsDone ? 0 : 1
