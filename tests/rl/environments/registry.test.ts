import { describe, expect, test } from 'vitest'
import type { RewardSettings } from '#rl/environments/common.ts'
import { builtInReward, builtInRewards } from '#rl/environments/registry.ts'

interface Example {
  readonly id: string
  readonly completion: string
  readonly expected: number | null
  readonly row?: Record<string, unknown>
  readonly settings?: RewardSettings
}

const answer = (value: unknown) => ({ row: { answer: value } })

const examples: readonly Example[] = [
  { id: 'exact-match', completion: ' Paris\n', ...answer('Paris'), expected: 1 },
  { id: 'exact-match', completion: 'Paris.', ...answer('Paris'), expected: 0 },
  { id: 'exact-match', completion: 'paris', ...answer('Paris'), expected: 0 },
  { id: 'exact-match', completion: 'paris', ...answer('Paris'), settings: { ignoreCase: true }, expected: 1 },
  { id: 'exact-match', completion: 'a  b', ...answer('a b'), expected: 1 },
  { id: 'exact-match', completion: '42', ...answer(42), expected: 1 },
  { id: 'exact-match', completion: 'yes', row: { label: 'yes' }, settings: { column: 'label' }, expected: 1 },
  { id: 'exact-match', completion: 'yes', row: {}, expected: null },
  { id: 'exact-match', completion: 'yes', ...answer(['yes']), expected: null },
  { id: 'contains', completion: 'It is in Paris, France.', ...answer('paris'), expected: 1 },
  { id: 'contains', completion: 'It is 42.', ...answer('4'), expected: 0 },
  { id: 'contains', completion: 'First 42, then 4.', ...answer('4'), expected: 1 },
  { id: 'contains', completion: 'Rome', ...answer('Paris'), expected: 0 },
  { id: 'contains', completion: 'anything', ...answer(''), expected: null },
  { id: 'contains', completion: 'use C++.', ...answer('C++'), expected: 1 },
  { id: 'numeric-equality', completion: 'so 6 × 7 = 42.', ...answer('42'), expected: 1 },
  { id: 'numeric-equality', completion: 'it costs $1,234.50', ...answer(1234.5), expected: 1 },
  { id: 'numeric-equality', completion: '42 apples and 3 pears', ...answer('42'), expected: 0 },
  { id: 'numeric-equality', completion: '-7', ...answer('7'), expected: 0 },
  { id: 'numeric-equality', completion: 'x = −7', ...answer('-7'), expected: 1 },
  { id: 'numeric-equality', completion: 'from 3-7', ...answer('7'), expected: 0 },
  { id: 'numeric-equality', completion: '1.5e3', ...answer('1500'), expected: 1 },
  { id: 'numeric-equality', completion: '18', ...answer('He has 3 × 6 = <<3*6=18>>18 #### 18'), expected: 1 },
  {
    id: 'numeric-equality',
    completion: '0.3333',
    ...answer('0.33333333'),
    settings: { tolerance: 1e-3 },
    expected: 1,
  },
  { id: 'numeric-equality', completion: 'no idea', ...answer('42'), expected: 0 },
  { id: 'numeric-equality', completion: '42', ...answer('forty two'), expected: 1 },
  { id: 'numeric-equality', completion: '42', ...answer('Tuesday'), expected: null },
  { id: 'math-equality', completion: 'so $x = \\sqrt{12}$.', ...answer('2\\sqrt{3}'), expected: 1 },
  { id: 'math-equality', completion: 'so $x = \\sqrt{13}$.', ...answer('2\\sqrt{3}'), expected: 0 },
  { id: 'math-equality', completion: '(x + 1)^2', ...answer('x^2 + 2x + 1'), expected: 1 },
  { id: 'math-equality', completion: 'The answer is even.', ...answer('\\text{odd}'), expected: 0 },
  { id: 'math-equality', completion: 'on', ...answer('no'), expected: 0 },
  { id: 'math-equality', completion: 'No.', ...answer('no'), expected: 1 },
  {
    id: 'math-equality',
    completion: '4',
    ...answer('Both sides are divisible by the same prime.'),
    expected: null,
  },
  { id: 'math-equality', completion: '4', row: {}, expected: null },
  { id: 'length-penalty', completion: 'short', expected: 0 },
  { id: 'length-penalty', completion: 'x'.repeat(15), settings: { free: 10, limit: 20 }, expected: -0.5 },
  { id: 'length-penalty', completion: 'x'.repeat(99), settings: { free: 10, limit: 20 }, expected: -1 },
  { id: 'starter-correct', completion: '2 7 9', ...answer('2 7 9'), expected: 1 },
  { id: 'starter-correct', completion: 'Sure! 2 7 9', ...answer('2 7 9'), expected: 0 },
  { id: 'starter-correct', completion: '2 9 7', ...answer('2 7 9'), expected: 0 },
  { id: 'starter-correct', completion: '2 7 9', row: {}, expected: null },
  { id: 'starter-format', completion: '2 9 7', expected: 1 },
  { id: 'starter-format', completion: '42', expected: 1 },
  { id: 'starter-format', completion: 'The answer is 42.', expected: 0 },
  { id: 'starter-format', completion: 'two', expected: 0 },
  { id: 'starter-format', completion: '', expected: 0 },
]

describe('built-in rewards', () => {
  test.each(examples)(
    '$id scores $completion as $expected',
    ({ id, completion, row, settings, expected }) => {
      expect(
        builtInReward(id, settings).score([{ prompt: 'prompt', completion, row: row ?? {}, step: 1 }]),
      ).toEqual([{ value: expected }])
    },
  )

  test('every one that scores here has an example that earns and one that does not', () => {
    const scores = (id: string) =>
      new Set(examples.filter((example) => example.id === id).map(({ expected }) => expected))
    for (const { id, code } of builtInRewards)
      if (code === null) expect(scores(id).size, id).toBeGreaterThan(1)
  })

  test('ids are unique', () => {
    expect(new Set(builtInRewards.map(({ id }) => id)).size).toBe(builtInRewards.length)
  })

  test('numeric-equality stays quick on a long completion', () => {
    const score = builtInReward('numeric-equality').score([
      { prompt: '', completion: '1,111'.repeat(20_000), row: { answer: 1 }, step: 1 },
    ])
    expect(score).toEqual([{ value: 0 }])
  })

  test.each<[string, RewardSettings]>([
    ['martian', {}],
    ['exact-match', { colour: 'red' }],
    ['exact-match', { column: 7 }],
    ['exact-match', { constructor: 'x' }],
    ['format', { pattern: '(' }],
    ['length-penalty', { free: 20, limit: 10 }],
    ['length-penalty', { free: Number.NaN }],
  ])('%s with %o is a wrong config', (id, settings) => {
    expect(() => builtInReward(id, settings)).toThrow(expect.objectContaining({ code: 'config/invalid' }))
  })
})
