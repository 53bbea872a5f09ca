/**
 * `npm test`: the unit tests, then journeys through the window, whatever the unit tests said. It says first what it will do,
 * names every skipped test with what would run it, and ends with the slowest files and one line that counts. Where there is
 * no browser it tries to get one; where none can be had the journeys are skipped by name, or fail with
 * TURNWISE_NEEDS_BROWSER=1.
 *
 *   --quick     the tests of functions alone, at most two minutes
 *   --long      every sweep of random cases in full, and every reader's hostile files
 *   --busy=N    beside N endless loops; arguments behind it are files of unit tests, without journeys
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { browserPath, fetchBrowser, journeys } from './browser.ts'
import { startBusyLoops } from '../../tests/busyLoops.ts'
import { readReports, summaryLines } from './report.ts'

const { resolve } = createRequire(import.meta.url)
const vitest = path.join(path.dirname(resolve('vitest/package.json')), 'vitest.mjs')
const playwright = path.join(path.dirname(resolve('@playwright/test/package.json')), 'cli.js')

const { values, positionals: files } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean' }, long: { type: 'boolean' }, busy: { type: 'string' } },
})
const { quick = false, long = false } = values
const loops = Number(values.busy ?? 0)
const hasJourneys = !quick && files.length === 0

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-report-'))
const [unitReport, browserReport] = [path.join(folder, 'unit.json'), path.join(folder, 'browser.json')]

const isDone = (script: string, ...args: readonly string[]): boolean =>
  spawnSync(process.execPath, [script, ...args], {
    stdio: 'inherit',
    env: {
      ...process.env,
      TURNWISE_TEST_REPORT: unitReport,
      TURNWISE_BROWSER_REPORT: browserReport,
      ...(long ? { TURNWISE_LONG: '1' } : {}),
    },
  }).status === 0

function unitTests(): boolean {
  const chosen = quick ? ['--project', 'pure'] : files
  const isTold = isDone(vitest, 'run', ...chosen)
  return long ? isDone(path.resolve('scripts/fuzz/run.ts')) && isTold : isTold
}

/** Whether none failed; which were skipped for want of a browser. */
function walkThrough(): { readonly isPassed: boolean; readonly skipped: readonly string[] } {
  if (!existsSync(browserPath())) fetchBrowser(playwright)
  if (existsSync(browserPath()) || process.env['TURNWISE_NEEDS_BROWSER'] === '1')
    return { isPassed: isDone(playwright, 'test'), skipped: [] }
  return { isPassed: true, skipped: journeys(playwright) }
}

/** Minutes of work on one core of a Xeon of 2.5 GHz, with what two cores are idle while tests wait. */
const work = quick ? 3 : 48
const cores = availableParallelism()
const countOf = (pattern: string) => String(globSync(pattern).length)
const what = quick
  ? 'Tests of functions, without processes and models.'
  : files.length > 0
    ? `Unit tests in ${files.join(', ')}.`
    : `${countOf('tests/**/*.test.ts')} files of unit tests, then ${countOf('tests/*/*.spec.ts')} of journeys through the window.`
const time =
  files.length > 0
    ? ''
    : ` About ${String(Math.ceil(work / Math.min(cores, 4)))} minutes on ${String(cores)} idle cores.`
const beside = loops === 0 ? '' : ` Beside ${String(loops)} endless loops, which make it longer.`
console.log(`${what}${time}${beside} A failure ends nothing; the last line counts all tests.`)

using _busy = startBusyLoops(loops)
const startedAt = performance.now()
const isUnitPassed = unitTests()
const walked = hasJourneys ? walkThrough() : { isPassed: true, skipped: [] }
const reports = readReports(unitReport, hasJourneys && walked.skipped.length === 0 ? browserReport : null)
for (const line of summaryLines(reports, {
  isPassed: isUnitPassed && walked.isPassed,
  skippedJourneys: walked.skipped,
  seconds: (performance.now() - startedAt) / 1000,
}))
  console.log(line)
rmSync(folder, { recursive: true, force: true })
process.exitCode = isUnitPassed && walked.isPassed ? 0 : 1
