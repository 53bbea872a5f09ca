import { describe, expect, test } from 'vitest'
import { tasksOf } from '#renderer/features/home/BestPerTask.tsx'
import { troublesOf } from '#renderer/features/home/HomeScreen.tsx'
import { type RunConfig, parseRunConfig } from '#shared/runConfig.ts'

const run = (
  id: string,
  createdAt: number,
  rewardAfter: number | null,
  rewardBefore: number | null = null,
) => ({
  id,
  createdAt,
  rewardBefore,
  rewardAfter,
})

const config = (heldOut: string, reward: string, weight = 1): RunConfig =>
  parseRunConfig({
    model: 'starter',
    data: { train: 'rows.jsonl', heldOut },
    rewards: [{ function: reward, weight }],
  })

describe('tasks', () => {
  const runs = [
    run('sum-1', 1, 0.4, 0.1),
    run('sum-2', 2, 0.7, 0.1),
    run('words', 3, 42),
    run('none', 4, null),
    run('unknown', 5, 0.5),
    run('weighted', 6, 1.4),
  ]
  const configs = new Map([
    ['sum-1', config('sums.jsonl', 'exact-match')],
    ['sum-2', config('sums.jsonl', 'exact-match')],
    ['words', config('sums.jsonl', 'length')],
    ['none', config('sums.jsonl', 'exact-match')],
    ['weighted', config('sums.jsonl', 'exact-match', 2)],
  ])
  const tasks = tasksOf(runs, configs, new Map())

  test('never mix other rows, rewards or weights; the one of the newest run first', () => {
    expect(tasks.map((task) => task.runs.map(({ run: { id } }) => id))).toEqual([
      ['weighted'],
      ['words'],
      ['sum-2', 'sum-1'],
    ])
  })

  test('have a scale of their own, from 0 where they can', () => {
    expect(tasks.map(({ range }) => range)).toEqual([
      [0, 1.4],
      [0, 42],
      [0, 1],
    ])
    const [penalty] = tasksOf([run('sum-1', 1, -0.2, -0.6)], configs, new Map())
    expect(penalty?.range).toEqual([-0.6, 0])
  })

  test('are called by their rows and rewards', () => {
    expect(tasks.at(-1)).toMatchObject({ data: 'sums.jsonl', rewards: 'exact-match' })
  })
})

describe('what went wrong', () => {
  const day = 86_400_000
  const now = 100 * day
  const ended = (id: string, status: 'failed' | 'interrupted' | 'finished', daysAgo: number) => ({
    id,
    status,
    step: 4,
    error: status === 'failed' ? { code: null, message: 'The file is gone.', hint: null } : null,
    finding: null,
    stderrTail: null,
    updatedAt: now - daysAgo * day,
  })
  const remark = (severity: 'problem' | 'warning') => ({
    id: 'policy-destroyed' as const,
    severity,
    words: 'The policy was destroyed.',
  })

  test('the newest first, with what the run said; neither good ends nor old ones', () => {
    const found = troublesOf(
      [
        ended('old', 'failed', 9),
        ended('a', 'failed', 2),
        ended('b', 'interrupted', 1),
        ended('c', 'finished', 1),
        { ...ended('d', 'finished', 3), finding: remark('problem') },
        { ...ended('e', 'finished', 1), finding: remark('warning') },
      ],
      now,
    )
    expect(found.map(({ run: { id }, words }) => [id, words])).toEqual([
      ['b', 'Its process ended after step 4. It can be resumed.'],
      ['a', 'The file is gone.'],
      ['d', 'The policy was destroyed.'],
    ])
  })
})
