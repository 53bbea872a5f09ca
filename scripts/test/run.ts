/**
 * `npm test`: the unit tests, and beside them journeys through the window, which are told of when the unit tests are over:
 * while the ones wait for a process, a page or their last file, the others compute. It says first what it will do, names
 * every skipped test with what would run it, and ends with the slowest files and one line that counts. Where there is no
 * browser it tries to get one; where none can be had the journeys are skipped by name, or fail with
 * TURNWISE_NEEDS_BROWSER=1.
 *
 *   --quick     the tests of functions alone, at most two minutes
 *   --whole     every case of each kind of behaviour, of which there is one at least in every run; so does TURNWISE_WHOLE=1
 *   --long      and every sweep of random cases in full, and every reader's hostile files
 *   --busy=N    beside N endless loops; arguments behind it are files of unit tests, without journeys
 */
import { spawn, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { finished } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { browserPath, fetchBrowser, journeys } from './browser.ts'
import { setup as buildProgram } from '../../tests/builtProgram.ts'
import { startBusyLoops } from '../../tests/busyLoops.ts'
import { readReports, summaryLines } from './report.ts'

const { resolve } = createRequire(import.meta.url)
const vitest = path.join(path.dirname(resolve('vitest/package.json')), 'vitest.mjs')
const playwright = path.join(path.dirname(resolve('@playwright/test/package.json')), 'cli.js')

const { values, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean' },
    whole: { type: 'boolean' },
    long: { type: 'boolean' },
    busy: { type: 'string' },
  },
})
const { quick = false, long = false } = values
const whole = long || (values.whole ?? process.env['TURNWISE_WHOLE'] === '1')
const loops = Number(values.busy ?? 0)
const cores = availableParallelism()
const hasJourneys = !quick && files.length === 0

/** Holds all that the tests and what they start leave in the folder for temporary files. */
const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-'))
const [unitReport, browserReport] = [path.join(folder, 'unit.json'), path.join(folder, 'browser.json')]

const start = (script: string, args: readonly string[], stdio: StdioOptions = 'inherit') =>
  spawn(process.execPath, [script, ...args], {
    stdio,
    env: {
      ...process.env,
      TMPDIR: folder,
      TURNWISE_TEST_REPORT: unitReport,
      TURNWISE_BROWSER_REPORT: browserReport,
      ...(whole ? { TURNWISE_WHOLE: '1' } : {}),
      ...(long ? { TURNWISE_LONG: '1' } : {}),
    },
  })

async function isDone(child: ReturnType<typeof start>): Promise<boolean> {
  const [status] = (await once(child, 'close')) as [number | null]
  return status === 0
}

async function unitTests(): Promise<boolean> {
  const isTold = await isDone(start(vitest, ['run', ...(quick ? ['--project', 'pure'] : files)]))
  return long ? (await isDone(start(path.resolve('scripts/fuzz/run.ts'), []))) && isTold : isTold
}

/** Whether none failed; which were skipped for want of a browser. What they print waits for the end of the unit tests. */
async function walkThrough(
  units: Promise<unknown>,
): Promise<{ readonly isPassed: boolean; readonly skipped: readonly string[] }> {
  if (!existsSync(browserPath()) && process.env['TURNWISE_NEEDS_BROWSER'] !== '1')
    return { isPassed: true, skipped: journeys(playwright) }
  const workers = `--workers=${String(Math.min(cores, 3))}`
  const child = start(playwright, ['test', workers], ['inherit', 'pipe', 'inherit'])
  const printed = new PassThrough({ highWaterMark: 2 ** 30 })
  child.stdout?.pipe(printed)
  void units.then(() => printed.pipe(process.stdout))
  const isPassed = await isDone(child)
  await finished(printed)
  return { isPassed, skipped: [] }
}

/** Minutes of work on one core of a Xeon of 2.5 GHz, with what two cores are idle while tests wait. */
const work = quick ? 3 : whole ? 45 : 28
const countOf = (pattern: string) => String(globSync(pattern).length)
const what = quick
  ? 'Tests of functions, without processes and models.'
  : files.length > 0
    ? `Unit tests in ${files.join(', ')}.`
    : `${countOf('tests/**/*.test.ts')} files of unit tests, and ${countOf('tests/*/*.spec.ts')} of journeys through the window beside them.`
const time =
  files.length > 0
    ? ''
    : ` About ${String(Math.ceil(work / Math.min(cores, 4)))} minutes on ${String(cores)} idle cores.`
const beside = loops === 0 ? '' : ` Beside ${String(loops)} endless loops, which make it longer.`
console.log(`${what}${time}${beside} A failure ends nothing; the last line counts all tests.`)

using _busy = startBusyLoops(loops)
const startedAt = performance.now()
if (hasJourneys && !existsSync(browserPath())) fetchBrowser(playwright)
if (!quick) await buildProgram() // both need it, and would each build it
const units = unitTests()
const walked = hasJourneys ? await walkThrough(units) : { isPassed: true, skipped: [] }
const isUnitPassed = await units
const reports = readReports(unitReport, hasJourneys && walked.skipped.length === 0 ? browserReport : null)
for (const line of summaryLines(reports, {
  isPassed: isUnitPassed && walked.isPassed,
  skippedJourneys: walked.skipped,
  seconds: (performance.now() - startedAt) / 1000,
}))
  console.log(line)
rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
process.exitCode = isUnitPassed && walked.isPassed ? 0 : 1
