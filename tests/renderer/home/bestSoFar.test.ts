import { expect, test } from 'vitest'
import { bestSoFar } from '#renderer/components/home/bestSoFar.ts'

const run = (id: string, createdAt: number, rewardAfter: number | null) => ({
  id,
  name: id,
  algorithm: 'grpo',
  seed: 1,
  createdAt,
  rewardAfter,
})

test('the best so far never falls, goes by age and leaves out runs that were not measured', () => {
  const points = bestSoFar([run('c', 3, 0.6), run('a', 1, 0.4), run('none', 2, null), run('b', 2, 0.7)])
  expect(points.map(({ run: { id }, best, isRecord }) => [id, best, isRecord])).toEqual([
    ['a', 0.4, true],
    ['b', 0.7, true],
    ['c', 0.7, false],
  ])
})
