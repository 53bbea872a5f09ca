import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const golden = ['tests/golden/**/*.test.ts']

/** The desktop app, without the program it runs in: a fake of `electron` in its place. */
const electron = ['tests/electron/**/*.test.ts']
const fakeElectron = fileURLToPath(new URL('tests/electron/fakeElectron.ts', import.meta.url))

/** Where a machine-readable report goes too, for scripts that count tests. */
const report = process.env['TURNWISE_TEST_REPORT']

export default defineConfig({
  test: {
    environment: 'node',
    pool: 'forks', // a native crash ends one test file, not the run
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['tests/**/*.test.ts'], exclude: [...golden, ...electron] },
      },
      {
        extends: true,
        resolve: { alias: { electron: fakeElectron } },
        test: { name: 'electron', include: electron, globalSetup: 'tests/electron/buildOnce.ts' },
      },
      // Reference numbers, read from GOLDEN_DIR.
      { extends: true, test: { name: 'golden', include: golden } },
    ],
  },
})
