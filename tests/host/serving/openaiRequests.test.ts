import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import path from 'node:path'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ServingStatus } from '#shared/api/serving.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { loadTokenizer } from '#host/models/tokenizerFolder.ts'
import { createHostFixture } from '../api/hostFixture.ts'

const fixture = createHostFixture()
let on: Extract<ServingStatus, { state: 'on' }>
let openai: OpenAI

/** The starter with a template that reads a switch. */
function writeModel(): string {
  const [from, to] = [path.join(resourcesDirectory, 'starter'), path.join(fixture.directory, 'starter')]
  cpSync(from, to, { recursive: true })
  const config = JSON.parse(readFileSync(path.join(from, 'tokenizer_config.json'), 'utf8')) as {
    chat_template: string
  }
  writeFileSync(
    path.join(to, 'chat_template.jinja'),
    `{% for m in messages %}{{ m.reasoning_content }}{% endfor %}{{ mode if mode != 'date' else strftime_now('%Y-%m-%d') }}${config.chat_template}`,
  )
  return to
}

beforeAll(async () => {
  await fixture.client.call('serving.start', { model: writeModel() })
  const status = await fixture.client.call('serving.status')
  if (status.state !== 'on') throw new Error(`Expected a server that is on, got ${status.state}.`)
  on = status
  openai = new OpenAI({ apiKey: on.key, baseURL: on.address, maxRetries: 0 })
})

afterAll(() => fixture[Symbol.asyncDispose]())

const messages = [{ role: 'user' as const, content: 'What is 2 + 3?' }]

describe('what is sent back as it came', () => {
  type Message = OpenAI.ChatCompletionMessageParam
  const ask = (turns: readonly Message[], body: object = {}) =>
    openai.chat.completions.create({
      model: 'starter',
      messages: [...turns],
      temperature: 0,
      max_completion_tokens: 4,
      return_token_ids: true,
      ...body,
    } as OpenAI.ChatCompletionCreateParamsNonStreaming)
  async function idsOf(turns: readonly Message[], body?: object): Promise<readonly number[]> {
    const [choice] = (await ask(turns, body)).choices as unknown as [{ prompt_token_ids: number[] }]
    return choice.prompt_token_ids
  }

  test('is an answer, with all that it has or a client fills in', async () => {
    const { choices } = await ask(messages)
    const answer = choices[0]?.message ?? expect.fail('no answer')
    const next = { role: 'user' as const, content: 'And 4 + 4?' }
    const plain = await idsOf([...messages, { role: 'assistant', content: answer.content }, next])
    const filled = { annotations: [], audio: null, function_call: null, tool_calls: null, refusal: null }
    expect(await idsOf([...messages, answer, next])).toEqual(plain)
    expect(await idsOf([...messages, { ...answer, ...filled } as unknown as Message, next])).toEqual(plain)
    await expect(ask([{ ...answer, tool_calls: [{ id: '1' }] } as unknown as Message])).rejects.toMatchObject(
      { status: 400, param: 'messages[0].tool_calls[0].type' },
    )
  })

  test('and reasoning reaches the template', async () => {
    const turn = { role: 'assistant', content: '5', reasoning_content: 'two' } as Message
    const ids = await idsOf([...messages, turn, ...messages])
    const without = await idsOf([...messages, { role: 'assistant', content: '5' }, ...messages])
    expect(ids.length).toBeGreaterThan(without.length)
    expect(ids.slice(-without.length)).toEqual(without)
  })

  test('templates write the day of the request', async () => {
    const today = () => {
      const now = new Date()
      const padded = (value: number) => String(value).padStart(2, '0')
      return `${now.getFullYear()}-${padded(now.getMonth() + 1)}-${padded(now.getDate())}`
    }
    const before = today()
    const ids = await idsOf(messages, { chat_template_kwargs: { mode: 'date' } })
    const { tokenizer } = loadTokenizer(path.join(fixture.directory, 'starter'))
    expect([before, today()]).toContain(tokenizer.decode(ids, { skipSpecialTokens: true }).slice(0, 10))
  })

  test('a last answer is followed by a new turn, or continued as vLLM’s parameters say', async () => {
    const turns = [...messages, { role: 'assistant', content: '5 and' }] satisfies Message[]
    const bare = await idsOf(turns, { add_generation_prompt: false })
    const opened = await idsOf(turns)
    expect(opened.slice(0, bare.length)).toEqual(bare)
    expect(opened.length).toBeGreaterThan(bare.length)
    const further = { continue_final_message: true, add_generation_prompt: false }
    const continued = await idsOf(turns, further)
    expect(continued.length).toBeLessThan(bare.length)
    expect(bare.slice(0, continued.length)).toEqual(continued)
    const refused = { status: 400, param: 'continue_final_message' }
    await expect(ask(turns, { continue_final_message: true })).rejects.toMatchObject(refused)
    await expect(ask(messages, further)).rejects.toMatchObject(refused)
  })

  test('switches of the template are set by their names, but for those of the request', async () => {
    const [plain, switched] = [
      await idsOf(messages),
      await idsOf(messages, { chat_template_kwargs: { mode: 'two', enable_thinking: false } }),
    ]
    expect(switched.length).toBeGreaterThan(plain.length)
    expect(switched.slice(-plain.length)).toEqual(plain)
    await expect(ask(messages, { chat_template_kwargs: { messages: 'x' } })).rejects.toMatchObject({
      status: 400,
      param: 'chat_template_kwargs.messages',
      message: expect.stringContaining('cannot be replaced') as string,
    })
  })
})

describe('what is refused', () => {
  const chat = (body: object, from = openai) =>
    from.chat.completions.create({
      model: 'starter',
      messages,
      ...body,
    } as OpenAI.ChatCompletionCreateParamsNonStreaming)

  test('a wrong key', async () => {
    const stranger = new OpenAI({ apiKey: 'sk-wrong', baseURL: on.address, maxRetries: 0 })
    await expect(chat({}, stranger)).rejects.toBeInstanceOf(OpenAI.AuthenticationError)
    await expect(stranger.models.list()).rejects.toThrow(/The key is missing or wrong/)
  })

  test('an unknown model', async () => {
    const refused = chat({ model: 'gpt-4o' })
    await expect(refused).rejects.toBeInstanceOf(OpenAI.NotFoundError)
    await expect(refused).rejects.toMatchObject({ code: 'model_not_found', status: 404 })
  })

  test.each([
    [{ messages: 'Hello' }, 'messages', /expected a list, got "Hello"/],
    [{ messages: [] }, 'messages', /at least 1 entries/],
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
      'messages[0].content[0].type',
      /"text"/,
    ],
    [{ temperature: 3 }, 'temperature', /at most 2, got 3/],
    [{ presence_penalty: 0.5 }, 'presence_penalty', /is not supported/],
    [{ tools: [{ type: 'function' }] }, 'tools[0].function', /expected an object/],
    [{ tools: [{ type: 'function', function: { name: 'add' } }] }, null, /chat template has no tools/],
    [{ response_format: { type: 'json_object' } }, 'response_format', /is not supported/],
    [{ top_logprobs: 2 }, 'top_logprobs', /needs `logprobs`/],
    [{ temprature: 1 }, 'temprature', /no parameter `temprature`/],
    [{ min_tokens: 9, max_tokens: 8 }, 'min_tokens', /`min_tokens` is 9, .* at most 8 tokens/],
    [{ max_tokens: 9, max_completion_tokens: 8 }, 'max_tokens', /is 9, .* is 8: send one/],
  ])('by name: %j', async (body, param, message) => {
    const refused = chat(body)
    await expect(refused).rejects.toBeInstanceOf(OpenAI.BadRequestError)
    await expect(refused).rejects.toMatchObject({ param, type: 'invalid_request_error' })
    await expect(refused).rejects.toThrow(message)
  })

  test('a completion that has to be longer than it may be', async () => {
    const completion = (body: object) =>
      openai.completions.create({ model: 'starter', prompt: '1 +', ...body })
    await expect(completion({ min_tokens: 17 })).rejects.toThrow(
      /400 .*`min_tokens` is 17, .* at most 16 tokens/,
    )
    await expect(completion({ min_tokens: 16, max_tokens: 16 })).resolves.toMatchObject({
      usage: { completion_tokens: 16 },
    })
    const tooLong = chat({ min_tokens: on.contextLength })
    await expect(tooLong).rejects.toThrow(/400 At least \d+ new tokens .* leaves room for \d+/)
  })

  test('a prompt that leaves no room, and what asks for nothing is no reason', async () => {
    const content = 'and '.repeat(on.contextLength)
    await expect(chat({ messages: [{ role: 'user', content }] })).rejects.toThrow(
      /the model reads \d+ in all/,
    )
    const harmless = {
      presence_penalty: 0,
      tools: [],
      logit_bias: null,
      user: 'me',
      response_format: { type: 'text' },
    }
    const plain = { temperature: 0, max_tokens: 24 }
    const [first, second] = [await chat({ ...harmless, ...plain }), await chat(plain)]
    expect(first.choices).toEqual(second.choices)
  })

  test('another address, another method, no JSON, a body that is too large', async () => {
    const headers = { authorization: `Bearer ${on.key}` }
    const post = (target: string, body: string, method = 'POST') =>
      fetch(`${on.address}${target}`, { method, headers, ...(method === 'GET' ? {} : { body }) })
    expect((await post('/embeddings', '{}')).status).toBe(404)
    expect((await post('/chat/completions', '', 'GET')).status).toBe(405)
    const broken = await post('/completions', '{"model": "starter",}')
    expect(broken.status).toBe(400)
    expect(await broken.json()).toMatchObject({
      error: { message: expect.stringContaining('not valid JSON') as string },
    })
    const large = await post(
      '/completions',
      JSON.stringify({ model: 'starter', prompt: 'a'.repeat(3 << 20) }),
    )
    expect(large.status).toBe(413)
  })

  test.each([
    [{ host: 'example.org' }, 421],
    [{ origin: 'https://example.org' }, 403],
  ])('a page of another site: %j', async (headers, status) => {
    const { hostname, port } = new URL(on.address)
    const options = {
      hostname,
      port,
      path: '/v1/models',
      headers: { authorization: `Bearer ${on.key}`, ...headers },
    }
    const answered = await new Promise<number | undefined>((resolve, reject) => {
      httpRequest(options, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end()
    })
    expect(answered).toBe(status)
  })
})
