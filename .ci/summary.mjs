/** Prints «N passed, N failed» from a test report in vitest's JSON form and ends with the status of the whole run. */
import { existsSync, readFileSync } from 'node:fs'

const report = process.argv[2]
const status = Number(process.env['TEST_STATUS'])
const counts = existsSync(report)
  ? count(JSON.parse(readFileSync(report, 'utf8')))
  : { passed: 0, failed: 0, skipped: 0 }

// A run that broke elsewhere (installation, a crash after the last test) must not look like a success.
if (status !== 0 && counts.failed === 0) counts.failed = 1
if (status === 0 && counts.passed === 0) counts.failed = 1

const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''
console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`)
process.exitCode = counts.failed > 0 ? status || 1 : status

function count({ numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults }) {
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
