import { describe, expect, test } from 'vitest'
import {
  asJsonLines,
  asText,
  shownTurns,
  usedTokens,
  type Asked,
  type ChatAnswer,
  type Draft,
} from '#renderer/features/chat/conversation.ts'

const answer = (id: string, text: string, changes: Partial<ChatAnswer> = {}): ChatAnswer => ({
  id,
  text,
  calls: [],
  by: { model: 'starter' },
  promptTokens: 8,
  tokens: 3,
  seed: 1,
  tokensPerSecond: 10,
  stopReason: 'stop-id',
  error: null,
  ...changes,
})

const draft: Draft = {
  id: 'chat_1',
  title: 'Sums',
  model: 'starter',
  base: null,
  columns: [null, { path: '/a' }],
  system: 'Be brief.',
  tools: [],
  sampling: {
    temperature: 1,
    topK: 0,
    topP: 1,
    minP: 0,
    repetitionPenalty: 1,
    maxNewTokens: 9,
    stopStrings: [],
    seed: null,
  },
  turns: [
    { user: '2 + 3?', answers: [answer('a', '5'), answer('b', 'five')] },
    { user: '4 + 4?', answers: [answer('c', '8', { promptTokens: 20 }), null] },
  ],
}

const asked: Asked = { id: 'chat_1', turn: 1, text: null, columns: [0, 1], before: ['c', null] }

describe('what is shown', () => {
  test('is written over what stood there, and later turns are gone while it is', () => {
    const items = [
      { type: 'opening' as const },
      { type: 'begun' as const, column: 1, promptTokens: 20 },
      { type: 'text' as const, column: 1, text: 'ei', tokens: 1 },
      { type: 'text' as const, column: 1, text: 'ght', tokens: 2 },
      { type: 'done' as const, column: 0, answer: answer('d', 'eight') },
    ]
    const [first, second, ...rest] = shownTurns(draft, asked, items, true)
    expect(rest).toEqual([])
    expect(first?.writing).toEqual([null, null])
    expect(second?.answers[0]?.id).toBe('d')
    expect(second?.writing).toEqual([null, { text: 'eight', tokens: 2, promptTokens: 20, hasBegun: true }])
    expect(shownTurns(draft, { ...asked, turn: 0, text: 'New' }, [], true)).toMatchObject([
      { user: 'New', answers: [null, null] },
    ])
  })

  test('is what is stored as soon as it is, so that an edit shows', () => {
    const items = [{ type: 'done' as const, column: 1, answer: answer('e', 'eight') }]
    expect(shownTurns(draft, asked, items, false)[1]?.answers[1]?.text).toBe('eight')
    const edited = { ...draft.turns[1]!, answers: [answer('c', '8'), answer('f', '8!')] }
    const shown = shownTurns({ ...draft, turns: [draft.turns[0]!, edited] }, asked, items, false)
    expect(shown[1]?.answers[1]?.text).toBe('8!')
  })

  test('stays after a stop until the host has kept it', () => {
    const items = [{ type: 'text' as const, column: 1, text: 'ei', tokens: 1 }]
    expect(shownTurns(draft, asked, items, false)[1]?.writing[1]?.text).toBe('ei')
    const kept = { ...draft.turns[1]!, answers: [answer('c', '8'), answer('e', 'ei')] }
    const after = shownTurns({ ...draft, turns: [draft.turns[0]!, kept] }, asked, items, false)
    expect(after[1]?.writing[1]).toBeNull()
    expect(after[1]?.answers[1]?.id).toBe('e')
  })

  test('counts the longest column, and not a turn that failed', () => {
    const failed = answer('f', '', { promptTokens: 0, tokens: 0, stopReason: 'failed' })
    const turns = [...draft.turns, { user: 'Too long', answers: [failed, failed] }]
    expect(usedTokens(shownTurns({ ...draft, turns }, null, [], false))).toBe(23)
    expect(usedTokens([])).toBe(0)
  })
})

describe('a copy', () => {
  test('as JSONL has a line for each column, with the first answer where one has none', () => {
    const lines = asJsonLines(draft).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
      ['5', 'five'].map((first) => ({
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: '2 + 3?' },
          { role: 'assistant', content: first },
          { role: 'user', content: '4 + 4?' },
          { role: 'assistant', content: '8' },
        ],
      })),
    )
  })

  test('as text names who said what', () => {
    expect(asText(draft, ['base', 'mine'])).toBe(
      'Sums\n\nSystem:\nBe brief.\n\nYou:\n2 + 3?\n\nbase:\n5\n\nmine:\nfive\n\nYou:\n4 + 4?\n\nbase:\n8\n',
    )
  })
})
