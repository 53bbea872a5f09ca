/** What the reports of vitest and Playwright come to: failures and skips by name, the slowest files, one line that counts. */
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { countedByFile, wayToRun } from './skips.ts'

interface UnitReport {
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message: string
    readonly startTime: number
    readonly endTime: number
    readonly assertionResults: readonly {
      readonly status: string
      readonly fullName: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}

interface Suite {
  readonly suites?: readonly Suite[]
  readonly specs: readonly Spec[]
}

interface Spec {
  readonly title: string
  readonly file: string
  readonly tests: readonly {
    readonly status: 'expected' | 'unexpected' | 'flaky' | 'skipped'
    readonly annotations: readonly { readonly type: string; readonly description?: string }[]
    readonly results: readonly { readonly duration: number; readonly error?: { readonly message?: string } }[]
  }[]
}

interface BrowserReport {
  readonly suites: readonly Suite[]
  readonly errors: readonly { readonly message?: string }[]
}

export interface Skip {
  readonly file: string
  readonly name: string
  /** Why, where the test says so apart from its name. */
  readonly reason: string
}

export interface Outcome {
  readonly passed: number
  readonly failures: readonly string[]
  readonly skips: readonly Skip[]
  readonly files: readonly { readonly name: string; readonly seconds: number }[]
}

const readJson = (file: string): unknown =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as unknown) : null

/** A report that was expected and is missing counts as a failure. `browser`: null where no journey was to run. */
export function readReports(unit: string, browser: string | null): Outcome[] {
  const units = readJson(unit) as UnitReport | null
  const journeys = browser === null ? null : (readJson(browser) as BrowserReport | null)
  return [
    units === null ? unreported('The unit tests') : outcomeOfUnits(units),
    ...(browser === null
      ? []
      : [journeys === null ? unreported('The journeys') : outcomeOfJourneys(journeys)]),
  ]
}

const unreported = (what: string): Outcome => ({
  passed: 0,
  skips: [],
  files: [],
  failures: [`${what} ended without a report.`],
})

export function outcomeOfUnits({ numPassedTests, testResults }: UnitReport): Outcome {
  return {
    passed: numPassedTests,
    failures: testResults.flatMap(({ name, status, message, assertionResults }) => {
      const file = path.relative(process.cwd(), name)
      // A file that could not be loaded has no tests to fail.
      if (status === 'failed' && assertionResults.length === 0) return [`${file}\n${message}`]
      return assertionResults
        .filter((result) => result.status === 'failed')
        .map(({ fullName, failureMessages }) => `${file} › ${fullName}\n${failureMessages.join('\n')}`)
    }),
    skips: testResults.flatMap(({ name: file, assertionResults }) =>
      assertionResults
        .filter(({ status }) => status !== 'passed' && status !== 'failed')
        .map(({ fullName: name }) => ({ file: path.relative(process.cwd(), file), name, reason: '' })),
    ),
    files: testResults.map(({ name, startTime, endTime }) => ({
      name: path.relative(process.cwd(), name),
      seconds: (endTime - startTime) / 1000,
    })),
  }
}

const specsOf = ({ suites = [], specs }: Suite): readonly Spec[] => [...specs, ...suites.flatMap(specsOf)]

const reasonLines = 12

/** The first lines of what failed; how the page looked then is too long for the end of a run. */
function reasonOf(results: Spec['tests'][number]['results']): string {
  const message = results.find(({ error }) => error !== undefined)?.error?.message
  if (message === undefined) return ''
  return `\n${stripVTControlCharacters(message).split('\n').slice(0, reasonLines).join('\n')}`
}

export function outcomeOfJourneys({ suites, errors }: BrowserReport): Outcome {
  const all = suites
    .flatMap(specsOf)
    .flatMap(({ tests, ...spec }) => tests.map((test) => ({ ...spec, ...test })))
  const named = (status: string) => all.filter((each) => each.status === status)
  const seconds = new Map<string, number>()
  for (const { file, results } of all)
    for (const { duration } of results) seconds.set(file, (seconds.get(file) ?? 0) + duration / 1000)
  return {
    passed: named('expected').length,
    failures: [
      ...[...named('unexpected'), ...named('flaky')].map(
        ({ file, title, results }) => `${file} › ${title}${reasonOf(results)}`,
      ),
      ...errors.map(({ message = 'An error outside of the tests.' }) => message),
    ],
    skips: named('skipped').map(({ file, title, annotations }) => ({
      file: `tests/${file}`,
      name: `${file} › ${title}`,
      reason: annotations.find(({ type }) => type === 'skip')?.description ?? '',
    })),
    files: [...seconds].map(([name, each]) => ({ name: `tests/${name}`, seconds: each })),
  }
}

interface Run {
  /** Whether both programs said so. */
  readonly isPassed: boolean
  /** Names of journeys for which there was no browser. */
  readonly skippedJourneys: readonly string[]
  readonly seconds: number
}

const slowest = 10

export function summaryLines(outcomes: readonly Outcome[], run: Run): string[] {
  const skips = [
    ...outcomes.flatMap((outcome) => outcome.skips),
    ...run.skippedJourneys.map((name) => ({ file: '', name, reason: 'no browser' })),
  ]
  const failures = outcomes.flatMap((outcome) => outcome.failures)
  // A run that broke elsewhere (a crash after the last test) must not look like a success.
  if (!run.isPassed && failures.length === 0)
    failures.push('A test program ended with a failure that no report names: look for “Unhandled” above.')
  const files = outcomes.flatMap((outcome) => outcome.files).toSorted((a, b) => b.seconds - a.seconds)
  const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0)
  const skipped = skips.length === 0 ? '' : `, ${String(skips.length)} skipped`
  return [
    '',
    `The ${String(slowest)} slowest of ${String(files.length)} files (seconds, beside others):`,
    ...files.slice(0, slowest).map(({ name, seconds }) => `${seconds.toFixed(0).padStart(5)}  ${name}`),
    ...countedByFile(skips).map((skip) => `Skipped: ${skip.name}${wayToRun(skip)}`),
    // Thousands of lines above: the end must say it.
    ...failures.map((failure) => `Failed: ${failure}`),
    `All of it took ${(run.seconds / 60).toFixed(1)} min.`,
    `${String(passed)} passed, ${String(failures.length)} failed${skipped}`,
  ]
}
