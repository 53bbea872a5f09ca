import { describe, expect, test } from 'vitest'
import { wilson } from '#shared/statistics.ts'
import {
  completions,
  readChoice,
  readPrompts,
  shuffled,
  writeChoice,
  writePrompts,
  standings,
  type Vote,
} from '#renderer/parts/candidates.ts'

const runId = 'run_01a1f9ba-5a18-7735-97cd-586b86bb5311'
const vote = (winner: number | null, isBlind = true): Vote => ({
  candidates: ['base', 'trained'],
  winner,
  isBlind,
  prompt: 'Add 1 and 2',
  seed: 1,
  at: 0,
})

describe('win rates', () => {
  test('count wins, ties as a half and losses of blind votes only', () => {
    const [first, second] = standings([vote(1), vote(1), vote(null), vote(0), vote(0, false)])
    expect(first).toMatchObject({ candidate: 'trained', wins: 2, ties: 1, losses: 1, winRate: 0.625 })
    expect(first?.interval).toEqual(wilson(0.625, 4))
    expect(second).toMatchObject({ candidate: 'base', wins: 1, ties: 1, losses: 2, winRate: 0.375 })
  })
})

describe('candidates in an address', () => {
  test.each([
    { model: 'starter' },
    { model: '/models/a b', adapter: { runId, step: 30 } },
    { model: 'starter', adapter: { path: '/adapters/one' } },
  ])('$model come back as they were', (choice) => {
    expect(readChoice(writeChoice(choice))).toEqual(choice)
  })

  test('prompts come back as they were, and what is no list is none', () => {
    expect(readPrompts(writePrompts(['a, b', 'c"d']))).toEqual(['a, b', 'c"d'])
    expect(readPrompts('{')).toEqual([])
    expect(readPrompts(null)).toEqual([])
  })

  test('columns are shuffled into every order', () => {
    const orders = new Set<string>()
    let state = 1
    const random = () => (state = (state * 16807) % 2147483647) / 2147483647
    for (let i = 0; i < 300; i++) orders.add(shuffled(3, random).join(''))
    expect([...orders].sort()).toEqual(['012', '021', '102', '120', '201', '210'])
  })
})

test('pieces of completions are put together by column', () => {
  const piece = (candidate: number, text: string, tokens: number, stopReason: string | null) => ({
    candidate,
    sample: 0,
    text,
    tokens,
    stopReason,
    tokensPerSecond: 10,
  })
  const [a, b] = completions(
    [piece(0, '4', 1, null), piece(1, 'x', 1, 'length'), piece(0, '2', 2, 'stop-id')],
    [0, 1],
  )
  expect(a).toEqual({ text: '42', tokens: 2, tokensPerSecond: 10, stopReason: 'stop-id' })
  expect(b).toMatchObject({ text: 'x', stopReason: 'length' })
})
