import { expect, test } from 'vitest'
import { parseStudyConfig } from '#shared/studies.ts'
import { ConfigError } from '#shared/errors.ts'

function problemsOf(parameter: unknown) {
  try {
    parseStudyConfig({ sweep: { parameters: { 'optimization.learningRate': parameter } } })
    return []
  } catch (error) {
    return error instanceof ConfigError ? error.problems.map(({ message }) => message) : [String(error)]
  }
}

test('a searched setting in no known form is answered with the forms, each as one would type it', () => {
  expect(problemsOf([0.0005, 0.0002])).toEqual([
    'expected a list of values as {"values": [0.1, 0.2]}, or a range as {"min": 0.1, "max": 1}, got [0.0005,0.0002].',
  ])
  expect(problemsOf(0.1)[0]).toContain('{"values": [0.1, 0.2]}')
  expect(problemsOf({ values: [0.1, 0.2] })).toEqual([])
  expect(problemsOf({ min: 0.1, max: 1 })).toEqual([])
  expect(problemsOf({ min: 0.1 })).toEqual(['expected a number, but it is missing.'])
})
