/** Test cases kept with reward code and run after every change: expected scores of example completions. */
import { z } from 'zod'
import type { UserCode } from './rewardCode.ts'
import { dryRun, type DryRunOptions, type DryRunRow } from './dryRun.ts'

const expectation = z
  .strictObject({
    min: z.number().optional().describe('At least this.'),
    max: z.number().optional().describe('At most this.'),
    equals: z.number().nullable().optional().describe('Exactly this; null: the reward must not apply.'),
  })
  .refine(
    ({ min, max, equals }) => min !== undefined || max !== undefined || equals !== undefined,
    'min, max or equals',
  )

export const testCaseSchema = z.strictObject({
  name: z.string().min(1),
  prompt: z.string().default(''),
  completion: z.string(),
  row: z.record(z.string(), z.unknown()).default({}),
  settings: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
  expect: expectation,
})

export type TestCase = z.output<typeof testCaseSchema>

export interface TestCaseResult {
  readonly name: string
  readonly isPassed: boolean
  /** One sentence. */
  readonly message: string
  readonly row: DryRunRow
}

/** Runs all cases on the total of the chosen functions. Errors as dryRun. */
export async function runTestCases(
  source: UserCode,
  cases: readonly TestCase[],
  options: Omit<DryRunOptions, 'settings'> = {},
): Promise<TestCaseResult[]> {
  const bySettings = Map.groupBy(cases, ({ settings }) => JSON.stringify(settings))
  const results = new Map<TestCase, TestCaseResult>()
  for (const group of bySettings.values()) {
    const { rows } = await dryRun(source, group, { ...options, settings: group[0]?.settings ?? {} })
    for (const [i, row] of rows.entries()) {
      const testCase = group[i]
      if (testCase !== undefined) results.set(testCase, judged(testCase, row))
    }
  }
  return cases.flatMap((testCase) => results.get(testCase) ?? [])
}

function judged({ name, expect }: TestCase, row: DryRunRow): TestCaseResult {
  const [failed] = Object.entries(row.failures)
  if (failed !== undefined) {
    const [part, { message, line }] = failed
    const where = line === null ? '' : ` (line ${line})`
    return { name, isPassed: false, message: `${part} failed: ${message}${where}`, row }
  }
  const isPassed = meets(row.total, expect)
  const earned = row.total === null ? 'does not apply' : `earned ${row.total}`
  const message = isPassed ? `It ${earned}.` : `It ${earned}; expected ${wanted(expect)}.`
  return { name, isPassed, message, row }
}

/** Rounding of sums is no failure. */
const tolerance = 1e-9

function meets(total: number | null, { min, max, equals }: TestCase['expect']): boolean {
  if (total === null || equals === null) return total === null && equals === null
  return (
    total >= (min ?? -Infinity) - tolerance &&
    total <= (max ?? Infinity) + tolerance &&
    Math.abs(total - (equals ?? total)) <= tolerance
  )
}

function wanted({ min, max, equals }: TestCase['expect']): string {
  if (equals === null) return 'that it does not apply'
  const parts = [
    equals === undefined ? '' : String(equals),
    min === undefined ? '' : `at least ${min}`,
    max === undefined ? '' : `at most ${max}`,
  ]
  return parts.filter((part) => part !== '').join(' and ')
}
