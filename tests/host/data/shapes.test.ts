import { describe, expect, test } from 'vitest'
import { isProblem, type DataRow } from '#host/data/dataFile.ts'
import { mapItem } from '#host/data/mapping.ts'
import { previewPrompts } from '#host/data/preview.ts'
import { detectShape } from '#host/data/shapes.ts'

const user = { role: 'user', content: 'hi' }
const reply = { role: 'assistant', content: 'yes' }
const other = { role: 'assistant', content: 'no' }

/** Row → shape, then what the mapping makes of the row, then what the policy would read. */
const cases: readonly [shape: string, row: DataRow, mapped: DataRow, prompt: string | null][] = [
  ['prompt-only', { prompt: 'p', level: 3 }, { prompt: 'p', level: 3 }, 'p'],
  ['prompt-only', { prompt: [user], answer: '4' }, { prompt: [user], answer: '4' }, 'user: hi'],
  ['prompt-completion', { prompt: 'p', completion: 'c' }, { prompt: 'p', completion: 'c' }, 'p'],
  [
    'preference',
    { prompt: 'p', chosen: 'a', rejected: 'b' },
    { prompt: 'p', chosen: 'a', rejected: 'b' },
    'p',
  ],
  [
    'preference',
    { chosen: [user, reply], rejected: [user, other] },
    { prompt: [user], chosen: [reply], rejected: [other] },
    'user: hi',
  ],
  ['preference', { chosen: 'pa', rejected: 'pb' }, { chosen: 'pa', rejected: 'pb' }, null],
  [
    'preference',
    { question: 'q', chosen: 'a', rejected: 'b' },
    { prompt: 'q', chosen: 'a', rejected: 'b' },
    'q',
  ],
  [
    'unpaired-preference',
    { prompt: 'p', completion: 'c', label: false },
    { prompt: 'p', completion: 'c', label: false },
    'p',
  ],
  [
    'stepwise',
    { prompt: 'p', completions: ['a', 'b'], labels: [true, false] },
    { prompt: 'p', completions: ['a', 'b'], labels: [true, false] },
    'p',
  ],
  ['conversation', { messages: [user, reply] }, { prompt: [user], completion: 'yes' }, 'user: hi'],
  [
    'conversation',
    {
      id: 1,
      conversations: [
        { from: 'human', value: 'hi' },
        { from: 'gpt', value: 'yes' },
      ],
    },
    { id: 1, prompt: [user], completion: 'yes' },
    'user: hi',
  ],
  [
    'conversation',
    { messages: [user, reply, user], answer: '4' },
    { prompt: [user, reply, user], answer: '4' },
    'user: hi\n\nassistant: yes\n\nuser: hi',
  ],
  [
    'conversation',
    { conversations: [{ from: 'human', value: 'hi' }], solution: '4' },
    { prompt: [user], answer: '4' },
    'user: hi',
  ],
  [
    'instruction',
    { instruction: 'Add', input: '1 2', output: '3' },
    { instruction: 'Add', input: '1 2', answer: '3' },
    'user: Add\n\n1 2',
  ],
  ['question-answer', { question: 'q', answer: 'a' }, { question: 'q', answer: 'a' }, 'user: q'],
  ['question-answer', { problem: 'q', solution: 'a' }, { problem: 'q', answer: 'a' }, 'user: q'],
  [
    'verl',
    {
      data_source: 'd',
      prompt: [user],
      ability: 'math',
      reward_model: { style: 'rule', ground_truth: '4' },
      extra_info: {},
    },
    {
      data_source: 'd',
      prompt: [user],
      ability: 'math',
      reward_model: { style: 'rule', ground_truth: '4' },
      extra_info: {},
      answer: '4',
    },
    'user: hi',
  ],
  ['text', { text: 't' }, { text: 't' }, null],
  ['unknown', { a: 1 }, { a: 1 }, null],
]

describe('detectShape', () => {
  test.each(cases)('%s %j', (id, row, mapped, prompt) => {
    const shape = detectShape([row, row])
    expect(shape.id).toBe(id)
    const item = mapItem({ row, number: 1, line: 1 }, shape.mapping)
    expect(isProblem(item) ? item : { ...item.row }).toEqual(mapped)
    if (isProblem(item) || shape.prompt === null) expect(prompt).toBeNull()
    else
      expect(previewPrompts([item.row], shape.prompt, null)).toEqual([{ row: 0, text: prompt, tokens: null }])
    if (shape.answer !== null) expect(mapped).toHaveProperty(shape.answer)
  })

  test('nulls and empty lists do not hide a column’s kind', () => {
    const rows = [{ messages: [] }, { messages: null }, { messages: [user, reply] }]
    expect(detectShape(rows)).toMatchObject({ id: 'conversation', isConversational: true })
  })

  test('what most conversations end with decides', () => {
    const [asked, answered] = [{ messages: [user] }, { messages: [user, reply] }]
    expect(detectShape([asked, asked, answered]).mapping).toEqual([
      { kind: 'column', from: 'messages', to: 'prompt' },
    ])
    expect(detectShape([asked, answered, answered]).mapping).toEqual([
      { kind: 'last-message', column: 'messages' },
    ])
  })

  test('a column of mixed kinds is no prompt', () => {
    expect(detectShape([{ prompt: 'a' }, { prompt: 3 }]).id).toBe('unknown')
    expect(detectShape([]).id).toBe('unknown')
  })
})

describe('mapItem', () => {
  test.each([
    [{ a: 1 }, [{ kind: 'column', from: 'b', to: 'c' }], 'it has no column “b”'],
    [{ c: 'x' }, [{ kind: 'chat', column: 'c' }], 'its column “c” is not a list of messages'],
    [{ c: [{ from: 1 }] }, [{ kind: 'chat', column: 'c' }], 'message 1 of “c” has no {from, value} texts'],
    [
      { c: [user] },
      [{ kind: 'last-message', column: 'c' }],
      'its column “c” does not end with an assistant message',
    ],
    [{ c: [reply] }, [{ kind: 'last-message', column: 'c' }], 'its column “c” has nothing before the answer'],
    [
      { chosen: [reply], rejected: [other] },
      [{ kind: 'shared-prompt' }],
      '“chosen” and “rejected” begin with different messages',
    ],
  ] as const)('%j %j', (row, mapping, sentence) => {
    expect(mapItem({ row, number: 7, line: 9 }, [...mapping])).toEqual({ number: 7, line: 9, sentence })
  })

  test('the row given is left as it is, and a dot in a name is found before a path', () => {
    const row = { 'a.b': 1, a: { b: 2 } }
    const item = mapItem({ row, number: 1, line: null }, [{ kind: 'column', from: 'a.b', to: 'c' }])
    expect(item).toMatchObject({ row: { a: { b: 2 }, c: 1 } })
    expect(row).toEqual({ 'a.b': 1, a: { b: 2 } })
  })
})
