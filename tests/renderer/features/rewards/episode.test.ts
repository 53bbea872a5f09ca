import { expect, test } from 'vitest'
import { episodeOf, saidOf, upTo, type TrialItem } from '#renderer/features/rewards/episode.ts'

const tokens = { ids: '', texts: [] }
const request = (number: number, round: number, kind: 'generate' | 'encode'): TrialItem => ({
  type: 'request',
  number,
  round,
  kind,
  said: { samples: 2 },
  tokens: null,
})

/** Two requests of one round, answered in the other order, and a tool. */
const items: readonly TrialItem[] = [
  { type: 'printed', lines: ['begins'] },
  request(0, 1, 'generate'),
  request(1, 1, 'generate'),
  { type: 'prompt', number: 0, tokens, sampling: { greedy: true } },
  { type: 'prompt', number: 1, tokens, sampling: { greedy: false } },
  { type: 'completions', number: 1, completions: [] },
  { type: 'completions', number: 0, completions: [] },
  { type: 'printed', lines: ['goes on', 'twice'] },
  request(2, 2, 'encode'),
  { type: 'answer', number: 2, answer: 'a', tokens: null },
  { type: 'failed', message: 'no', line: 3, column: 1 },
  { type: 'end', end: 'failed', failure: 'no (line 3)', rounds: 2, requests: 3, trajectories: [] },
]

test('every request has its own prompt and answer', () => {
  const { requests, printed, failed, end } = episodeOf(items)
  expect(requests.map(({ prompt }) => prompt?.sampling['greedy'] ?? null)).toEqual([true, false, null])
  expect(requests.map(({ completions, answer }) => [completions, answer?.answer])).toEqual([
    [[], undefined],
    [[], undefined],
    [null, 'a'],
  ])
  expect(printed).toEqual([
    { after: 0, lines: ['begins'] },
    { after: 2, lines: ['goes on', 'twice'] },
  ])
  expect(failed?.line).toBe(3)
  expect(end?.requests).toBe(3)
  const early = episodeOf(items.slice(0, 6))
  expect(early.requests.map(({ completions }) => completions)).toEqual([null, []])
  expect(early.end).toBeNull()
})

test('stepping shows one request more, and after the last the end', () => {
  const whole = episodeOf(items)
  const shown = (steps: number | null) => {
    const { requests, printed, failed, end } = upTo(whole, steps)
    return [requests.length, printed.length, failed !== null, end !== null]
  }
  expect(shown(1)).toEqual([1, 1, false, false])
  expect(shown(2)).toEqual([2, 1, false, false])
  expect(shown(3)).toEqual([3, 2, false, false])
  expect(shown(4)).toEqual([3, 2, true, true])
  expect(shown(null)).toEqual([3, 2, true, true])
})

test('messages stand apart from what else a request says', () => {
  const messages = [{ role: 'user', content: 'Hi' }]
  expect(saidOf({ said: { messages, samples: 2, stop: ['\n'] } })).toEqual({
    messages,
    options: ['samples 2', 'stop ["\\n"]'],
  })
  expect(saidOf({ said: {} })).toEqual({ messages: [], options: [] })
})
