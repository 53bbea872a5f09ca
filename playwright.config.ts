import path from 'node:path'
import { defineConfig } from '@playwright/test'
import { runtimeEnvironment } from './src/shared/runtimeEnvironment.ts'
import { systemBrowser } from './tests/e2e/browser.ts'

Object.assign(process.env, runtimeEnvironment)

// What other programs keep on a developer's machine is no part of a test; a journey about it says where to look.
process.env['TURNWISE_FOUND_MODELS'] ??= '0'

// Journeys run beside each other; threads of one would wait for those of another.
process.env['OMP_NUM_THREADS'] ??= '1'

// Hosts and what they start begin faster with it, as those that the launcher starts do.
process.env['NODE_COMPILE_CACHE'] ??= path.resolve('node_modules/.cache/turnwise')

/** Where a machine-readable report goes too, for scripts that count tests. */
const report = process.env['TURNWISE_BROWSER_REPORT']

const executablePath = systemBrowser()

/** Journeys through the window on a real host: `browser` in Chromium, `desktop` in Electron where its binary is there. */
export default defineConfig({
  testDir: 'tests',
  // Guards against what hangs: how long anything takes is nothing that a journey says.
  timeout: 1_800_000,
  expect: { timeout: 300_000 },
  fullyParallel: true, // each journey has data, a host and a page of its own
  workers: 3, // on two cores: half of its time a journey waits
  forbidOnly: true,
  globalSetup: './tests/e2e/prepare.ts',
  outputDir: 'out/playwright',
  reporter: report === undefined ? [['list']] : [['list'], ['json', { outputFile: report }]],
  use: {
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    actionTimeout: 300_000,
    screenshot: 'only-on-failure',
    launchOptions: {
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
      ...(executablePath === undefined ? {} : { executablePath }),
    },
  },
  projects: [
    { name: 'browser', testMatch: 'e2e/**/*.spec.ts' },
    { name: 'desktop', testMatch: 'desktop/**/*.spec.ts' },
    // Long, and run only when asked for by npm run test:doors.
    ...(process.env['TURNWISE_DOORS'] === '1' ? [{ name: 'doors', testMatch: 'e2e/**/*.doors.ts' }] : []),
  ],
})
