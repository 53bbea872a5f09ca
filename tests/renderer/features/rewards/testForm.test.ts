import { describe, expect, test } from 'vitest'
import { caseFromSample, caseOf, expectWords, formOf, freeName } from '#renderer/features/rewards/testForm.ts'
import type { TestCase } from '#renderer/parts/rewardTypes.ts'

const testCase = (expectation: TestCase['expect']): TestCase => ({
  name: 'n',
  prompt: 'p',
  completion: 'c',
  row: { a: [1] },
  settings: { x: true },
  expect: expectation,
})

describe('a test case as a form', () => {
  test.each([[{ equals: 0.5 }], [{ equals: null }], [{ min: 0 }], [{ max: -1 }], [{ min: 0, max: 1 }]])(
    'with %j comes back as it was',
    (expectation) => {
      expect(caseOf(formOf(testCase(expectation)))).toEqual({ testCase: testCase(expectation) })
    },
  )

  test('says what is wrong, by field', () => {
    const form = formOf(testCase({ equals: 1 }))
    const made = caseOf({ ...form, name: ' ', row: '[', settings: '{"a":{}}', low: null })
    const faults = 'faults' in made ? Object.keys(made.faults).sort() : []
    expect(faults).toEqual(['low', 'name', 'row', 'settings'])
    expect(caseOf({ ...form, expectation: 'between', low: 2, high: 1 })).toHaveProperty('faults.low')
  })

  test('in words', () => {
    expect(
      [{ equals: null }, { equals: 1 }, { min: 0, max: 1 }, { min: 2 }, { max: 3 }].map(expectWords),
    ).toEqual([...['null', '= 1', '0 to 1', '≥ 2', '≤ 3']])
  })
})

test('a sample becomes a case that expects what it earned, under a free name', () => {
  const sample = { prompt: 'p', completion: 'forty\ntwo', row: { a: 1 } }
  expect(caseFromSample(sample, 0.25, { settings: { t: 1 }, taken: ['forty two'] })).toEqual({
    name: 'forty two 2',
    prompt: 'p',
    completion: 'forty\ntwo',
    row: { a: 1 },
    settings: { t: 1 },
    expect: { equals: 0.25 },
  })
  expect(freeName('a', ['a', 'a 2'])).toBe('a 3')
})
