/**
 * Prints the unit tests that were skipped or failed by name (Playwright names its own) and “N passed, N failed” from
 * test reports in the JSON forms of vitest and Playwright, and ends with the status of the whole run:
 * node .ci/summary.mjs VITEST_REPORT PLAYWRIGHT_REPORT
 */
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

const status = Number(process.env['TEST_STATUS'])
const [unit, browser] = process.argv
  .slice(2)
  .map((report) => (existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : null))
const parts = [unit && countUnit(unit), browser && countBrowser(browser)].filter(Boolean)
const sum = (name) => parts.reduce((total, part) => total + part[name], 0)
const counts = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') }

// A run that broke elsewhere (installation, a crash after the last test) must not look like a success.
if (status !== 0 && counts.failed === 0) counts.failed = 1
if (status === 0 && parts.length < 2) counts.failed = 1

for (const name of unit ? skippedNames(unit) : []) console.log(`Skipped: ${name}`)
// A failure is thousands of lines above: the end of the output must say it.
for (const line of unit ? failures(unit) : []) console.log(`Failed: ${line}`)
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`)
process.exitCode = counts.failed > 0 ? status || 1 : status

function countUnit({ numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults }) {
  // A file that could not be loaded has no tests to fail.
  const broken = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  )
  return {
    passed: numPassedTests,
    failed: numFailedTests + broken.length,
    skipped: numPendingTests + numTodoTests,
  }
}

function skippedNames({ testResults }) {
  return testResults.flatMap(({ assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'pending' || status === 'skipped' || status === 'todo')
      .map(({ fullName }) => fullName),
  )
}

function failures({ testResults }) {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(process.cwd(), name)
    if (status === 'failed' && assertionResults.length === 0) return [`${file}\n${message}`]
    return assertionResults
      .filter((result) => result.status === 'failed')
      .map(({ fullName, failureMessages }) => `${file} › ${fullName}\n${failureMessages.join('\n')}`)
  })
}

function countBrowser({ stats, errors }) {
  return {
    passed: stats.expected,
    failed: stats.unexpected + stats.flaky + errors.length,
    skipped: stats.skipped,
  }
}
