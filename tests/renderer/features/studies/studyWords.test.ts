import { expect, test } from 'vitest'
import type { StudyEntry } from '#shared/api/studies.ts'
import { trialsWords } from '#renderer/parts/studyWords.ts'

const begun = (count: number) => Array.from({ length: count }, (_, index) => ({ index }))
const study = (search: object, plannedSteps: number, trials: number) =>
  ({ search, steps: 10, plannedSteps, trials: begun(trials) }) as unknown as StudyEntry

test('a study says how many trials have begun, of how many', () => {
  expect(trialsWords(study({ kind: 'sweep', early: null }, 40, 1))).toBe('1 of 4 trials')
  expect(trialsWords(study({ kind: 'sweep', early: null }, 40, 4))).toBe('4 trials')
  expect(trialsWords(study({ kind: 'seeds' }, 30, 2))).toBe('2 of 3 seeds')
})

test('where weak trials end early, nobody knows how many there will be', () => {
  expect(trialsWords(study({ kind: 'sweep', early: { method: 'halving' } }, 78, 5))).toBe('5 trials')
})

test('a study that was stopped has those that began', () => {
  expect(trialsWords(study({ kind: 'sweep', early: null }, 12, 2))).toBe('2 trials')
})
