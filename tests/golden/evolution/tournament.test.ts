import { expect, test } from 'vitest'
import { mutateOne, mutateSetting, defaultFactors } from './mutation.ts'
import { ranksOf, selectSuccessors, tournamentWinner } from './tournament.ts'

test('ranks ascend with fitness; of equals the later one is higher', () => {
  expect(ranksOf([0.5, 2, -1, 2])).toEqual([1, 2, 0, 3])
  expect(tournamentWinner([1, 2, 0, 3], [2, 0, 1, 0])).toBe(1)
  expect(() => tournamentWinner([0], [])).toThrow('at least one')
})

test('the best goes on under its name, winners of tournaments under new ones', () => {
  const draws = [0, 2, 1, 0]
  const successors = selectSuccessors([4, 9, 7], [0.1, 0.3, 0.2], {
    tournamentSize: 2,
    populationSize: 3,
    random: {
      integer: (below) => {
        expect(below).toBe(3)
        return draws.shift()!
      },
    },
  })
  expect(successors).toEqual([
    { index: 9, parent: 1 },
    { index: 10, parent: 2 },
    { index: 11, parent: 1 },
  ])
})

test('a setting shrinks or grows within its range, whole numbers stay whole', () => {
  const range = { minimum: 1, maximum: 10, integer: false, ...defaultFactors }
  expect(mutateSetting(5, range, 0.49)).toBe(4)
  expect(mutateSetting(5, range, 0.5)).toBe(6)
  expect(mutateSetting(9, range, 0.9)).toBe(10)
  expect(mutateSetting(1.1, range, 0)).toBe(1)
  expect(mutateSetting(8, { ...range, integer: true }, 0.9)).toBe(9) // 9.6
})

test('one setting changes at a time, and only one that has a range', () => {
  const range = { minimum: 0, maximum: 10, integer: false, ...defaultFactors }
  const settings = { learningRate: 1, beta: 5, untouched: 3 }
  const random = { integer: () => 1, uniform: () => 0.1 }
  expect(mutateOne(settings, { learningRate: range, beta: range, absent: range }, random)).toEqual({
    ...settings,
    beta: 4,
  })
  expect(mutateOne(settings, {}, random)).toEqual(settings)
})
