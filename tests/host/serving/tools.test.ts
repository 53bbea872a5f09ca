import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHostFixture } from '../api/hostFixture.ts'
import { hasPython, interpreter } from '../python/interpreter.ts'
import { addTool, lessons, question, toolModel } from './toolModel.ts'

const fixture = createHostFixture()
const { client } = fixture
let openai: OpenAI
let on: { readonly key: string; readonly address: string }
let model = ''

beforeAll(async () => {
  const folder = toolModel(fixture.directory)
  const train = fixture.write('lessons.jsonl', lessons.map((row) => JSON.stringify(row)).join('\n'))
  const learning = {
    model: folder,
    rewards: [],
    algorithm: { id: 'sft' as const, settings: {} },
    steps: 200,
    data: { train, heldOut: null, prompt: { column: 'prompt' }, tools: 'tools' },
    adapter: { rank: 16, alpha: 32, targets: 'all-linear' },
    rollout: { promptsPerStep: 2, maxNewTokens: 16 },
    optimization: { learningRate: 0.004, minibatchSize: 2, schedule: 'cosine', warmupProportion: 0.1 },
    checkpoints: { every: 200 },
  }
  model = await fixture.start(learning as never)
  const { status, error } = await fixture.reached(model, 'finished', 'failed')
  if (status === 'failed') throw new Error(error?.message)
  await client.call('serving.start', { model: folder })
  const started = await client.call('serving.status')
  if (started.state !== 'on') throw new Error(`Expected a server that is on, got ${started.state}.`)
  on = started
  openai = new OpenAI({ apiKey: on.key, baseURL: on.address, maxRetries: 0 })
})

afterAll(() => fixture[Symbol.asyncDispose]())

/** Settings of a run of one step from what was learned. */
async function playing(environment: string) {
  const [checkpoint] = await client.call('checkpoints.list', { runId: model })
  return {
    model: toolModel(fixture.directory),
    rewards: [],
    environment: { function: environment },
    data: {
      train: fixture.write('rows.jsonl', JSON.stringify({ prompt: question.content, answer: '5' })),
      heldOut: null,
      prompt: { column: 'prompt' },
    },
    adapter: { rank: 16, alpha: 32, targets: 'all-linear', initial: checkpoint?.directory },
    rollout: { promptsPerStep: 2, groupSize: 2, maxNewTokens: 20, temperature: 0.02 },
    steps: 1,
  } as never
}

/** The call, its result and what the policy makes of it. */
async function expectCalled(runId: string): Promise<void> {
  const { status, error } = await fixture.reached(runId, 'finished', 'failed')
  if (status === 'failed') throw new Error(error?.message)
  const [sample] = await client.call('samples.list', { runId, limit: 1 })
  expect(sample).toMatchObject({ completion: '[add(a=2, b=3)]5It is 5', reward: 1 })
  expect(sample?.logged).toMatchObject({ 'tool calls': 1, 'tool errors': 0 })
}

test('a run plays functions as the tools of its environment', async () => {
  const tools = `import { defineTools } from 'turnwise'
export default defineTools({ add: (a: number, b: number) => a + b })`
  await expectCalled(await fixture.start(await playing(fixture.write('tools.ts', tools))))
})

test('a run plays the tools of an MCP server, once that is allowed', async () => {
  const script = fileURLToPath(new URL('../python/server/mcpServerProcess.ts', import.meta.url))
  const sums = { command: process.execPath, args: [script, '--add-alone'] }
  const file = fixture.write('tools.json', JSON.stringify({ mcpServers: { sums } }))
  const config = await playing(file)
  await expect(fixture.start(config)).rejects.toMatchObject({ code: 'python/not-allowed' })
  const asked = { functions: [file], interpreter: null }
  await client.call('python.allow', { asked, reviewed: await client.call('python.review', asked) })
  await expectCalled(await fixture.start(config))
})

const ask = (more: object = {}) =>
  openai.chat.completions.create({
    model,
    messages: [question],
    tools: [addTool],
    temperature: 0,
    max_completion_tokens: 32,
    ...more,
    stream: false,
  })

test('an answer calls a tool, and goes on from its result', async () => {
  const { choices } = await ask()
  const [{ message, finish_reason }] = choices as [OpenAI.ChatCompletion.Choice]
  expect(finish_reason).toBe('tool_calls')
  expect(message).toMatchObject({ role: 'assistant', content: null })
  const [call] = message.tool_calls ?? []
  expect(call).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{9}$/) as string,
    type: 'function',
    function: { name: 'add', arguments: '{"a":2,"b":3}' },
  })
  const result = { role: 'tool', tool_call_id: call!.id, content: '5' }
  const next = await ask({ messages: [question, message, result] })
  expect(next.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'It is 5' } })
})

test('a stream says the name of a function, then its arguments, and nothing of their form', async () => {
  const stream = openai.chat.completions.stream({
    model,
    messages: [question],
    tools: [addTool],
    temperature: 0,
    max_completion_tokens: 32,
  })
  const deltas: OpenAI.ChatCompletionChunk.Choice.Delta[] = []
  for await (const { choices } of stream) deltas.push(...choices.map(({ delta }) => delta))
  expect(deltas.map(({ content }) => content ?? '').join('')).toBe('')
  expect(deltas.flatMap(({ tool_calls }) => tool_calls ?? [])).toMatchObject([
    { index: 0, type: 'function', function: { name: 'add', arguments: '' } },
    { index: 0, function: { arguments: '{"a":2,"b":3}' } },
  ])
  const [choice] = (await stream.finalChatCompletion()).choices
  expect(choice).toMatchObject({
    finish_reason: 'tool_calls',
    message: { tool_calls: [{ function: { name: 'add', arguments: '{"a":2,"b":3}' } }] },
  })
})

test('with tool_choice none, the same words are text', async () => {
  const plain = await ask({ tool_choice: 'none' })
  expect(plain.choices[0]?.message.tool_calls).toBeUndefined()
  expect(plain.choices[0]?.finish_reason).not.toBe('tool_calls')
})

test.each([
  [{ tool_choice: 'required' }, 'tool_choice', /auto or none/],
  [{ tool_choice: { type: 'function', function: { name: 'add' } } }, 'tool_choice', /auto or none/],
  [{ tools: [{ type: 'custom' }] }, 'tools[0].type', /"function"/],
  [{ messages: [{ role: 'tool', content: '5' }] }, 'messages[0].tool_call_id', /names the call/],
  [{ messages: [{ role: 'assistant', content: null }] }, 'messages[0].content', /has none/],
])('refuses %j in a sentence', async (more, param, sentence) => {
  await expect(ask(more)).rejects.toMatchObject({ status: 400, param })
  await expect(ask(more)).rejects.toThrow(sentence)
})

const script = `
import json, sys
from openai import OpenAI
client = OpenAI(api_key=sys.argv[1], base_url=sys.argv[2])
given = json.loads(sys.argv[3])
asked = dict(model=given["model"], tools=given["tools"], temperature=0, max_tokens=32)
messages = given["messages"]
message = client.chat.completions.create(messages=messages, **asked).choices[0].message
call = message.tool_calls[0]
values = json.loads(call.function.arguments)
result = {"role": "tool", "tool_call_id": call.id, "content": str(values["a"] + values["b"])}
print(client.chat.completions.create(messages=[*messages, message, result], **asked).choices[0].message.content)
pieces = [c.choices[0].delta for c in client.chat.completions.create(messages=messages, stream=True, **asked) if c.choices]
print("".join(t.function.arguments or "" for d in pieces for t in d.tool_calls or []))
`

test.skipIf(!hasPython('openai'))('the Python package openai calls a tool and sends its result', async () => {
  const given = JSON.stringify({ model, tools: [addTool], messages: [question] })
  const { stdout } = await promisify(execFile)(interpreter, ['-c', script, on.key, on.address, given])
  expect(stdout).toBe('It is 5\n{"a":2,"b":3}\n')
})
