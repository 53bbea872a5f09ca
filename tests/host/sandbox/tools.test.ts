import { expect, test } from 'vitest'
import { openSandbox } from '#host/sandbox/sandbox.ts'
import type { ToolCall } from '#engine/text/toolCalls.ts'

const open = (tools: string, options = '') =>
  openSandbox({
    code: `import { defineTools } from 'turnwise'\nexport default defineTools(${tools}${options})`,
    language: 'ts',
  })
const row = { prompt: 'What is 2 + 3?', answer: '5' }
const add = (given: object): ToolCall => ({ name: 'add', arguments: JSON.stringify(given) })
const begun = { calls: [] }
const step = { row, seed: 1, action: '' }

test('functions are offered by their names and parameters, and their results come back', async () => {
  await using code = await open('{ add: (a, b) => a + b }')
  expect(code.kind).toBe('environment')
  const [opened] = await code.reset([{ row, seed: 1 }])
  expect(opened).toMatchObject({
    observation: row.prompt,
    tools: [{ type: 'function', function: { name: 'add', parameters: { required: ['a', 'b'] } } }],
  })
  const [turn] = await code.step([
    { ...step, state: begun, calls: [add({ a: 2, b: 3 }), add({ b: 1, a: 1 })] },
  ])
  expect(turn).toMatchObject({
    observation: [
      { role: 'tool', name: 'add', tool_call_id: 'call00001', content: '5' },
      { role: 'tool', name: 'add', tool_call_id: 'call00002', content: '2' },
    ],
    terminated: false,
    metrics: { 'tool calls': 2, 'tool errors': 0 },
  })
})

test('a turn without a call ends the episode, and is right where it says the answer', async () => {
  await using code = await open('{ add: (a, b) => a + b }')
  const said = ['It is 5.', 'It is 15.', '5'].map((action) => ({ ...step, state: begun, action }))
  const turns = await code.step(said)
  expect(turns).toMatchObject(
    [1, 0, 1].map((reward) => ({ reward, terminated: true, metrics: { correct: reward } })),
  )
})

test('what goes wrong in a tool is told to the policy', async () => {
  await using code = await open('{ fail: (x) => { throw new Error("no " + x) } }')
  const calls = [
    { name: 'fail', arguments: '{"x": 1}' },
    { name: 'fail', arguments: '{}' },
    { name: 'other', arguments: '{}' },
  ]
  const [turn] = await code.step([{ ...step, state: begun, calls }])
  expect(turn).toMatchObject({
    observation: [
      { content: 'Error: no 1' },
      { content: 'Error: the argument "x" is missing' },
      { content: 'Error: there is no tool "other".' },
    ],
    metrics: { 'tool errors': 3 },
  })
})

test('limits cut long results and too many calls, and settings tell the turns', async () => {
  await using code = await open(
    '{ long: { description: "Long", run: async () => "x".repeat(99) } }',
    ', { maxCalls: 1, resultCharacters: 9, maxTurns: 3 }',
  )
  expect(code.settings).toEqual({ maxTurns: 3 })
  const long = { name: 'long', arguments: '{}' }
  const [turn] = await code.step([{ ...step, state: begun, calls: [long, long] }])
  expect(turn).toMatchObject({ observation: [{ content: `${'x'.repeat(9)}…` }], truncated: true })
})

test.each([
  ['{}', 'at least one function'],
  ['{ f: ({ a }) => a }', 'Describe the parameters of the tool "f"'],
  ['{ f: { description: "none" } }', 'needs a function "run"'],
  ['{ f: 3 }', 'is a function or { description, parameters, run }'],
])('refuses %s in a sentence', async (tools, sentence) => {
  await expect(open(tools)).rejects.toThrow(sentence)
})
