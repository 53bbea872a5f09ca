import { expect, test } from 'vitest'
import { outcomeOfJourneys, outcomeOfUnits, readReports, summaryLines } from '../../scripts/test/report.ts'

const units = outcomeOfUnits({
  numPassedTests: 2,
  testResults: [
    {
      name: `${process.cwd()}/tests/a.test.ts`,
      status: 'failed',
      message: '',
      startTime: 1000,
      endTime: 4000,
      assertionResults: [
        { status: 'passed', fullName: 'a one', failureMessages: [] },
        { status: 'passed', fullName: 'a two', failureMessages: [] },
        { status: 'failed', fullName: 'a three', failureMessages: ['expected 1 to be 2'] },
        { status: 'skipped', fullName: 'learns in TRL (skipped without it)', failureMessages: [] },
        ...['one', 'two', 'three'].map((title) => ({
          status: 'skipped',
          failureMessages: [],
          fullName: `a family (in the whole run only) ${title}${title === 'two' ? ' (in the long run only)' : ''}`,
        })),
      ],
    },
    {
      name: `${process.cwd()}/tests/b.test.ts`,
      status: 'failed',
      message: 'SyntaxError',
      startTime: 0,
      endTime: 500,
      assertionResults: [],
    },
  ],
})

const spec = (title: string, status: 'expected' | 'flaky' | 'skipped', description?: string) => ({
  title,
  file: 'e2e/c.spec.ts',
  tests: [
    {
      status,
      annotations: description === undefined ? [] : [{ type: 'skip', description }],
      results: [
        {
          duration: 9000,
          ...(status === 'flaky' && { error: { message: '\u001b[31mno door\u001b[39m' } }),
        },
      ],
    },
  ],
})

const journeys = outcomeOfJourneys({
  errors: [{ message: 'No window.' }],
  suites: [
    {
      specs: [spec('walks', 'expected'), spec('walks again @whole', 'skipped', 'in the whole run only')],
      suites: [{ specs: [spec('stumbles', 'flaky'), spec('rests', 'skipped', 'There is no Python.')] }],
    },
  ],
})

const run = { isPassed: false, skippedJourneys: [], seconds: 90 }

test('the last line counts both kinds, and above it every failure and skip has its name', () => {
  const lines = summaryLines([units, journeys], run)
  expect(lines.at(-1)).toBe('3 passed, 4 failed, 6 skipped')
  expect(lines).toContain('Failed: tests/a.test.ts › a three\nexpected 1 to be 2')
  expect(lines).toContain('Failed: tests/b.test.ts\nSyntaxError')
  expect(lines).toContain('Failed: e2e/c.spec.ts › stumbles\nno door')
  expect(lines).toContain('Failed: No window.')
  expect(lines.find((line) => line.startsWith('Skipped: learns in TRL'))).toContain('scripts/python/setup')
  expect(lines.find((line) => line.startsWith('Skipped: e2e/c.spec.ts › rests'))).toContain(
    '(There is no Python.) — to run it: install Python',
  )
})

test('what only a longer run has is counted by file', () => {
  const lines = summaryLines([units, journeys], run).filter((line) => line.includes('run only'))
  expect(lines.toSorted()).toEqual([
    'Skipped: 1 in the long run only: tests/a.test.ts — to run it: npm run test:long',
    'Skipped: 1 in the whole run only: tests/e2e/c.spec.ts — to run it: npm run test:whole',
    'Skipped: 2 in the whole run only: tests/a.test.ts — to run it: npm run test:whole',
  ])
})

test('the slowest files come first', () => {
  const lines = summaryLines([units, journeys], run)
  const first = lines.findIndex((line) => line.includes('slowest')) + 1
  expect(lines.slice(first, first + 3)).toEqual([
    '   36  tests/e2e/c.spec.ts',
    '    3  tests/a.test.ts',
    '    1  tests/b.test.ts',
  ])
})

test('a program that breaks without a report, or without naming a failure, fails all the same', () => {
  const missing = readReports('/nowhere/unit.json', '/nowhere/browser.json')
  expect(summaryLines(missing, run).at(-1)).toBe('0 passed, 2 failed')
  const clean = { ...units, failures: [] }
  expect(summaryLines([clean], run).at(-1)).toBe('2 passed, 1 failed, 4 skipped')
  expect(summaryLines([clean], { ...run, isPassed: true }).at(-1)).toBe('2 passed, 0 failed, 4 skipped')
})

test('journeys without a browser are skipped by name', () => {
  const lines = summaryLines([], {
    ...run,
    isPassed: true,
    skippedJourneys: ['[browser] › a.spec.ts › walks'],
  })
  expect(lines.at(-1)).toBe('0 passed, 0 failed, 1 skipped')
  expect(lines.find((line) => line.includes('walks'))).toContain('install Chromium')
})
