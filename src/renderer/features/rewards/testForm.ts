/** Form of a test case: the expectation as one choice with its numbers, objects as JSON text. */
import { parseRow } from './bench.ts'
import type { SettingValues, TestCase } from '#renderer/parts/rewardTypes.ts'

export type Expectation = 'equals' | 'min' | 'max' | 'between' | 'none'

export const expectations: readonly { readonly value: Expectation; readonly label: string }[] = [
  { value: 'equals', label: 'is exactly' },
  { value: 'min', label: 'is at least' },
  { value: 'max', label: 'is at most' },
  { value: 'between', label: 'lies between' },
  { value: 'none', label: 'does not apply (null)' },
]

export interface TestForm {
  readonly name: string
  readonly prompt: string
  readonly completion: string
  readonly row: string
  readonly settings: string
  readonly expectation: Expectation
  readonly low: number | null
  readonly high: number | null
}

export function formOf({ name, prompt, completion, row, settings, expect }: TestCase): TestForm {
  return {
    name,
    prompt,
    completion,
    row: JSON.stringify(row, null, 2),
    settings: JSON.stringify(settings),
    ...expectationOf(expect),
  }
}

function expectationOf({
  min,
  max,
  equals,
}: TestCase['expect']): Pick<TestForm, 'expectation' | 'low' | 'high'> {
  if (equals === null) return { expectation: 'none', low: null, high: null }
  if (equals !== undefined) return { expectation: 'equals', low: equals, high: null }
  if (min !== undefined && max !== undefined) return { expectation: 'between', low: min, high: max }
  return min === undefined
    ? { expectation: 'max', low: null, high: max ?? null }
    : { expectation: 'min', low: min, high: null }
}

export type FormFaults = Readonly<Partial<Record<keyof TestForm, string>>>

export function caseOf(form: TestForm): { readonly testCase: TestCase } | { readonly faults: FormFaults } {
  const row = parseRow(form.row)
  const settings = parseRow(form.settings)
  const expect = expectOf(form)
  const faults: FormFaults = {
    ...(form.name.trim() === '' ? { name: 'Describe what this case shows.' } : {}),
    ...(row === null ? { row: 'This is not a JSON object.' } : {}),
    ...(settings === null || !isSettings(settings)
      ? { settings: 'A JSON object of texts, numbers and booleans.' }
      : {}),
    ...(typeof expect === 'string' ? { low: expect } : {}),
  }
  if (row === null || settings === null || typeof expect === 'string' || Object.keys(faults).length > 0)
    return { faults }
  const { prompt, completion } = form
  return {
    testCase: {
      name: form.name.trim(),
      prompt,
      completion,
      row,
      settings: settings as SettingValues,
      expect,
    },
  }
}

const isSettings = (value: Readonly<Record<string, unknown>>): boolean =>
  Object.values(value).every((each) => ['string', 'number', 'boolean'].includes(typeof each))

function expectOf({ expectation, low, high }: TestForm): TestCase['expect'] | string {
  if (expectation === 'none') return { equals: null }
  if (expectation === 'between') return betweenOf(low, high)
  const [bound, words] = bounds[expectation]
  const value = expectation === 'max' ? high : low
  return value === null ? `Give the ${words} reward.` : { [bound]: value }
}

const bounds = {
  equals: ['equals', 'expected'],
  min: ['min', 'smallest'],
  max: ['max', 'largest'],
} as const

function betweenOf(low: number | null, high: number | null): TestCase['expect'] | string {
  if (low === null || high === null) return 'Give both limits.'
  return low > high ? 'The lower limit must not be above the upper one.' : { min: low, max: high }
}

export function expectWords({ min, max, equals }: TestCase['expect']): string {
  if (equals === null) return 'null'
  if (equals !== undefined) return `= ${String(equals)}`
  if (min !== undefined && max !== undefined) return `${String(min)} to ${String(max)}`
  return min === undefined ? `≤ ${String(max)}` : `≥ ${String(min)}`
}

export function freeName(wanted: string, taken: readonly string[]): string {
  if (!taken.includes(wanted)) return wanted
  for (let number = 2; ; number++) {
    const name = `${wanted} ${String(number)}`
    if (!taken.includes(name)) return name
  }
}

/** Makes a case that expects the sample's current reward. */
export function caseFromSample(
  sample: {
    readonly prompt: string
    readonly completion: string
    readonly row: Readonly<Record<string, unknown>>
  },
  earned: number | null,
  { settings, taken }: { readonly settings: SettingValues; readonly taken: readonly string[] },
): TestCase {
  const words = sample.completion.trim().replaceAll(/\s+/g, ' ')
  const wanted = words === '' ? 'empty completion' : words.length > 40 ? `${words.slice(0, 39)}…` : words
  return { ...sample, name: freeName(wanted, taken), settings, expect: { equals: earned } }
}
