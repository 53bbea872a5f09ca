import { describe, expect, test } from 'vitest'
import { chatInText, isNoChat, isPlainChat, readChat, roleOf } from '#shared/messages.ts'

const asked = { role: 'user', content: 'hi' }
const answered = { role: 'assistant', content: 'yes' }

/** A conversation in every spelling that public data sets have. */
const spellings: Readonly<Record<string, unknown>> = {
  'role and content': [asked, answered],
  'from and value': [
    { from: 'human', value: 'hi' },
    { from: 'gpt', value: 'yes' },
  ],
  'from and content': [
    { from: 'user', content: 'hi' },
    { from: 'assistant', content: 'yes' },
  ],
  'role and value': [
    { role: 'user', value: 'hi' },
    { role: 'assistant', value: 'yes' },
  ],
  capitals: [
    { role: 'User', content: 'hi' },
    { role: 'Assistant', content: 'yes' },
  ],
  'other names': [
    { role: 'prompter', content: 'hi' },
    { role: 'model', content: 'yes' },
  ],
  parts: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'h' },
        { type: 'text', value: 'i' },
      ],
    },
    { role: 'assistant', content: ['yes'] },
  ],
  turns: [{ human: 'hi', assistant: 'yes' }],
  'lists of fields': { role: ['user', 'assistant'], content: ['hi', 'yes'] },
  'in an object': { messages: [asked, answered] },
  'with empty fields of Parquet': [
    { ...asked, tool_calls: null, name: null },
    { ...answered, tool_calls: null, name: null },
  ],
}

describe('readChat', () => {
  test.each(Object.entries(spellings))('%s', (_, value) => {
    expect(readChat(value)).toEqual([asked, answered])
    expect(chatInText(JSON.stringify(value))).toEqual(/turns/.test(_) ? null : [asked, answered])
  })

  test('calls of tools keep their arguments as values, whoever wrote them', () => {
    const call = { type: 'function', function: { name: 'add', arguments: { a: 2 } } }
    const asText = { id: 'c', type: 'function', function: { name: 'add', arguments: '{"a": 2}' } }
    expect(readChat([{ role: 'assistant', tool_calls: [asText] }])).toEqual([
      { role: 'assistant', content: '', tool_calls: [{ ...call, id: 'c' }] },
    ])
    expect(readChat([{ from: 'function_call', value: '{"name": "add", "arguments": {"a": 2}}' }])).toEqual([
      { role: 'assistant', content: '', tool_calls: [call] },
    ])
    expect(readChat([{ from: 'observation', value: '5' }])).toEqual([{ role: 'tool', content: '5' }])
  })

  test.each([
    [[], 'it has no messages'],
    ['text', 'it is not a list of messages'],
    [{ a: 1 }, 'it is not a list of messages'],
    [[asked, { role: 'user' }], 'message 2 has no content'],
    [[{ role: 'user', content: null }], 'message 1 has no content'],
    [[{ role: 'user', content: 3 }], 'message 1 has a content that is neither text nor a list of parts'],
    [
      [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }],
      'message 1 has a part of type image_url; only text is read',
    ],
    [[{ content: 'x' }], 'message 1 has no role'],
    [['x'], 'message 1 is not an object'],
    [
      [{ from: 'function_call', value: 'add(2)' }],
      'message 1 holds no call: expected JSON with “name” and “arguments”',
    ],
  ])('%j: %s', (value, fault) => {
    const read = readChat(value)
    expect(isNoChat(read) ? read.fault : read).toBe(fault)
  })
})

test('arguments as text whose numbers a value would change stay text, letter by letter', () => {
  const written = '{"id": 12345678901234567890, "x": 1.0, "y": 1e5, "t": "1.0"}'
  const calls = [{ type: 'function', function: { name: 'f', arguments: written } }]
  const asText = { role: 'assistant', content: '', tool_calls: calls }
  expect(readChat([{ role: 'assistant', tool_calls: calls }])).toEqual([asText])
  const compact = written.replaceAll(/(?<=[:,]) /g, '')
  const inContent = [{ type: 'function', function: { name: 'f', arguments: compact } }]
  const value = `{"name": "f", "arguments": ${written}}`
  expect(readChat([{ from: 'function_call', value }])).toEqual([{ ...asText, tool_calls: inContent }])
  expect(
    readChat([{ role: 'assistant', tool_calls: `[{"type": "function", "function": ${value}}]` }]),
  ).toEqual([{ ...asText, tool_calls: inContent }])
})

test('an unknown role stays as it is written', () => {
  expect([' GPT ', 'Human', 'narrator', 'developer'].map(roleOf)).toEqual([
    'assistant',
    'user',
    'narrator',
    'developer',
  ])
})

test('what reading would change is not plain', () => {
  expect(isPlainChat([asked, answered])).toBe(true)
  const plain = Object.entries(spellings).filter(([, value]) => isPlainChat(value))
  expect(plain.map(([name]) => name)).toEqual(['role and content'])
})

test('OpenAI’s older function_call is a call of a tool, and the function answers as one', () => {
  const call = { name: 'add', arguments: '{"a": 2}' }
  const chat = [
    { role: 'assistant', content: null, function_call: call },
    { role: 'function', name: 'add', content: '5' },
  ]
  expect(readChat(chat)).toEqual([
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ type: 'function', function: { name: 'add', arguments: { a: 2 } } }],
    },
    { role: 'tool', name: 'add', content: '5' },
  ])
  expect(isPlainChat([{ role: 'assistant', content: '', function_call: call }])).toBe(false)
})

test('the model beside an answer is no turn of it', () => {
  expect(readChat([{ answer: 'x', model: 'm', rank: 1 }])).toEqual({ fault: 'message 1 has no role' })
})

test('calls written as text are calls, and a list of none is nothing', () => {
  const call = { type: 'function', function: { name: 'add', arguments: { a: 2 } } }
  const message = { role: 'assistant', content: 'x' }
  expect(readChat([{ ...message, tool_calls: JSON.stringify([call]) }])).toEqual([
    { ...message, tool_calls: [call] },
  ])
  for (const none of [[], '[]', '', null])
    expect(readChat([{ ...message, tool_calls: none }])).toEqual([message])
  expect(readChat([{ ...message, tool_calls: 'add(2)' }])).toEqual([{ ...message, tool_calls: 'add(2)' }])
})
