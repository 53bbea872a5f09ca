import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ServingStatus } from '#shared/api/serving.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { openModel } from '#host/models/openModel.ts'
import { scoreSequences } from '#host/models/scoring.ts'
import { jobStarter } from '#host/processes/job.ts'
import type { WorkerProcess } from '#host/processes/messages.ts'
import { servingJob } from '#host/serving/servedProcess.ts'
import { eventually } from '../../eventually.ts'
import { createHostFixture } from '../api/hostFixture.ts'

type On = Extract<ServingStatus, { state: 'on' }>

let process: Pick<WorkerProcess<never, never>, 'kill' | 'ended' | 'pid'> | null = null
const start = jobStarter()
const fixture = createHostFixture({
  startJob(job, options) {
    const started = start(job, options)
    if (job.name === servingJob.name) process = started
    return started
  },
})
const { client } = fixture
let runId = ''
let on: On
let openai: OpenAI

const started = async (): Promise<On> => {
  await client.call('serving.start', { model: 'starter' })
  const status = await client.call('serving.status')
  if (status.state !== 'on') throw new Error(`Expected a server that is on, got ${status.state}.`)
  return status
}

beforeAll(async () => {
  runId = await fixture.start()
  await fixture.reached(runId, 'finished')
  on = await started()
  openai = new OpenAI({ apiKey: on.key, baseURL: on.address, maxRetries: 0 })
})

afterAll(() => fixture[Symbol.asyncDispose]())

const messages = [{ role: 'user' as const, content: 'What is 2 + 3?' }]
const greedy = { messages, temperature: 0, max_tokens: 24 }
const textOf = ({ choices }: OpenAI.ChatCompletion) => choices.map(({ message }) => message.content)

/** Completes as `turnwise generate` does. */
async function generated(step: number | null, sampling: object, samples = 1): Promise<string[]> {
  const adapter = step === null ? {} : { adapter: { runId, step } }
  const texts: string[] = []
  const pieces = client.stream('models.generate', {
    candidates: [{ model: 'starter', ...adapter }],
    prompt: { messages },
    samples,
    sampling: { seed: 5, temperature: 0, maxNewTokens: 24, ...sampling },
  })
  for await (const { sample, text } of pieces) texts[sample] = (texts[sample] ?? '') + text
  return texts
}

describe('models', () => {
  test('are the base, and each run with its checkpoints, the latest first', async () => {
    const names = (await openai.models.list()).data.map(({ id }) => id)
    expect(names).toEqual(['starter', runId, `${runId}@4`, `${runId}@2`])
    expect(await openai.models.retrieve(`${runId}@2`)).toMatchObject({ id: `${runId}@2`, object: 'model' })
  })
})

describe('chat completions', () => {
  test('are what generate says, of the base and of a checkpoint', async () => {
    for (const [model, step] of [
      ['starter', null],
      [runId, 4],
      [`${runId}@2`, 2],
    ] as const) {
      const completion = await openai.chat.completions.create({ model, ...greedy })
      expect(textOf(completion)).toEqual(await generated(step, {}))
      expect(completion.model).toBe(model)
      expect(completion.choices[0]?.finish_reason).toBe('stop')
      const { prompt_tokens, completion_tokens, total_tokens } = completion.usage!
      expect(prompt_tokens).toBeGreaterThan(4)
      expect(total_tokens).toBe(prompt_tokens + completion_tokens)
    }
  })

  test('of one seed are the same again, and those of generate: n = 4', async () => {
    const asked = { model: 'starter', messages, n: 4, seed: 5, temperature: 1, max_tokens: 24 }
    const first = textOf(await openai.chat.completions.create(asked))
    expect(first).toHaveLength(4)
    expect(new Set(first).size).toBeGreaterThan(1)
    expect(textOf(await openai.chat.completions.create(asked))).toEqual(first)
    expect(first).toEqual(await generated(null, { temperature: 1 }, 4))
    const anySeed = { ...asked, seed: null, n: 8 }
    const unseeded = await Promise.all([0, 1, 2].map(() => openai.chat.completions.create(anySeed)))
    expect(new Set(unseeded.map((each) => textOf(each).join())).size).toBe(3)
  })

  test('stream as they grow, and together are the whole', async () => {
    const asked = { model: runId, messages, n: 4, seed: 9, max_tokens: 24 }
    const whole = await openai.chat.completions.create(asked)
    const stream = await openai.chat.completions.create({
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    })
    const texts: string[] = []
    const reasons: string[] = []
    let [pieces, usage]: [number, OpenAI.CompletionUsage | null | undefined] = [0, null]
    for await (const chunk of stream) {
      usage = chunk.usage
      for (const { index, delta, finish_reason } of chunk.choices) {
        texts[index] = (texts[index] ?? '') + (delta.content ?? '')
        if (delta.content) pieces++
        if (finish_reason) reasons[index] = finish_reason
      }
    }
    expect(texts).toEqual(textOf(whole))
    expect(reasons).toEqual(whole.choices.map(({ finish_reason }) => finish_reason))
    expect(usage).toEqual(whole.usage)
    expect(pieces).toBeGreaterThan(4)
  })

  test('end before a stop text, which never shows in a stream', async () => {
    const [text = ''] = textOf(await openai.chat.completions.create({ model: 'starter', ...greedy }))
    // Across the border of two tokens.
    const stop = text!.slice(2, 7)
    const asked = { model: 'starter', ...greedy, stop: ['never', stop] }
    const whole = await openai.chat.completions.create(asked)
    expect(textOf(whole)).toEqual([text!.slice(0, 2)])
    expect(whole.choices[0]?.finish_reason).toBe('stop')
    let streamed = ''
    for await (const { choices } of await openai.chat.completions.create({ ...asked, stream: true }))
      streamed += choices[0]?.delta.content ?? ''
    expect(streamed).toBe(text!.slice(0, 2))
  })

  test('are cut off at the limit', async () => {
    const asked = { model: 'starter', messages, temperature: 0, max_completion_tokens: 2 }
    const { choices, usage } = await openai.chat.completions.create(asked)
    expect(choices[0]?.finish_reason).toBe('length')
    expect(usage?.completion_tokens).toBe(2)
  })
})

interface WithIds {
  readonly prompt_token_ids: number[]
  readonly token_ids: number[]
}

describe('log-probabilities', () => {
  test.each([
    ['the base', null, 1],
    ['a checkpoint', 4, 0.7],
  ])('are those of score: %s', async (_, step, temperature) => {
    const model = step === null ? 'starter' : runId
    const asked = { model, messages, n: 2, seed: 3, temperature, max_completion_tokens: 12 }
    const completion = await openai.chat.completions.create({
      ...asked,
      logprobs: true,
      top_logprobs: 3,
      return_token_ids: true,
    } as OpenAI.ChatCompletionCreateParamsNonStreaming)
    const checkpoints = await client.call('checkpoints.list', { runId })
    const directory = path.join(resourcesDirectory, 'starter')
    const adapter = checkpoints.find((each) => each.step === step)?.directory ?? null
    for (const choice of completion.choices) {
      const { prompt_token_ids: prompt, token_ids: ids } = choice as unknown as WithIds
      const content = choice.logprobs!.content!
      const sequences = [Int32Array.from([...prompt, ...ids])]
      const scored = await scoresOf({ directory, adapter, sequences, temperature })
      expect(content).toHaveLength(ids.length)
      content.forEach(({ logprob }, i) => expect(logprob).toBeCloseTo(scored[prompt.length - 1 + i]!, 3))
      for (const { token, logprob, top_logprobs: top } of content) {
        expect(top).toHaveLength(3)
        const own = top.find((each) => each.token === token)
        if (own === undefined) expect(logprob).toBeLessThanOrEqual(top[2]!.logprob)
        else expect(own.logprob).toBe(logprob)
      }
      expect(content.map(({ token }) => token).join('')).toContain(choice.message.content)
    }
  })
})

async function scoresOf(asked: {
  readonly directory: string
  readonly adapter: string | null
  readonly sequences: Int32Array[]
  readonly temperature: number
}): Promise<number[]> {
  const device = { kind: null, threads: 1 }
  const rest = {
    device,
    precision: 'f32',
    base: null,
    maxRows: 1,
    cacheDirectory: fixture.directory,
  } as const
  using model = await openModel({ ...asked, ...rest })
  return (await scoreSequences(model, { ...asked, coefficients: [] })).logprobs[0] ?? []
}

describe('text completions', () => {
  test('of several prompts, of texts and of ids, echoed', async () => {
    const asked = { model: 'starter', max_tokens: 4, temperature: 0 }
    const { choices } = await openai.completions.create({
      ...asked,
      prompt: ['1 + 1 =', '2 + 2 ='],
      echo: true,
      return_token_ids: true,
    } as OpenAI.CompletionCreateParamsNonStreaming)
    expect(choices.map(({ text }) => text.slice(0, 7))).toEqual(['1 + 1 =', '2 + 2 ='])
    const prompts = choices.map((choice) => (choice as unknown as WithIds).prompt_token_ids)
    const again = await openai.completions.create({ ...asked, prompt: prompts })
    expect(again.choices.map(({ text }) => text)).toEqual(choices.map(({ text }) => text.slice(7)))
    const stream = await openai.completions.create({ ...asked, prompt: '1 + 1 =', echo: true, stream: true })
    let streamed = ''
    for await (const chunk of stream) streamed += chunk.choices[0]?.text ?? ''
    expect(streamed).toBe(choices[0]?.text)
  })

  test('tell log-probabilities in their own form', async () => {
    const asked = { model: 'starter', prompt: '1 + 1 =', max_tokens: 4, logprobs: 2, seed: 1 }
    const { choices } = await openai.completions.create(asked)
    const { tokens = [], token_logprobs, top_logprobs, text_offset = [] } = choices[0]!.logprobs!
    expect(tokens.length).toBeGreaterThan(0)
    expect(token_logprobs).toHaveLength(tokens.length)
    for (const [at, token] of tokens.entries()) {
      const top = top_logprobs?.[at] ?? {}
      expect(top[token]).toBe(token_logprobs?.[at])
      expect([2, 3]).toContain(Object.keys(top).length)
    }
    const sampled = await openai.completions.create({ ...asked, logprobs: 0 })
    const alone = sampled.choices[0]!.logprobs!
    expect(alone.top_logprobs?.map(Object.keys)).toEqual(alone.tokens?.map((token) => [token]))
    expect(text_offset).toEqual(tokens.map((_, i) => tokens.slice(0, i).join('').length))
  })
})

describe('many clients', () => {
  test('32 at once, of three models, each get what they would get alone', async () => {
    const models = ['starter', runId, `${runId}@2`]
    const questions = ['What is 2 + 3?', 'What is 4 + 4?', 'What is 1 + 7?', 'What is 9 + 5?']
    const ask = (model: string, content: string) =>
      openai.chat.completions.create({
        model,
        messages: [{ role: 'user', content }],
        temperature: 0,
        max_completion_tokens: 16,
      })
    const alone = new Map<string, (string | null)[]>()
    for (const model of models)
      for (const content of questions) alone.set(model + content, textOf(await ask(model, content)))
    const all = Array.from({ length: 32 }, async (_, i) => {
      const [model, content] = [models[i % 3]!, questions[i % 4]!]
      expect(textOf(await ask(model, content))).toEqual(alone.get(model + content))
    })
    await eventually(async () => {
      const status = await client.call('serving.status')
      expect(status.state === 'on' && status.active).toBeGreaterThan(1)
    })
    await Promise.all(all)
  })

  test('one that leaves frees its rows: the others go on', async () => {
    const endless = {
      model: 'starter',
      messages,
      min_tokens: on.contextLength - 32,
      n: 100,
      stream: true as const,
    }
    const stream = await openai.chat.completions.create(endless as OpenAI.ChatCompletionCreateParamsStreaming)
    const answered = (await client.call('serving.status')) as On
    let seen = 0
    for await (const _ of stream) if (++seen === 300) break // leaving the loop aborts the request
    await eventually(async () => expect(await client.call('serving.status')).toMatchObject({ active: 0 }))
    const next = await openai.chat.completions.create({ model: 'starter', ...greedy })
    expect(textOf(next)).toEqual(await generated(null, {}))
    // What was left counts for nothing.
    expect(await client.call('serving.status')).toMatchObject({ answered: answered.answered + 1 })
  })
})

describe('curl', () => {
  test('streams to the end', async () => {
    const body = JSON.stringify({ model: 'starter', messages, stream: true, temperature: 0, max_tokens: 24 })
    const { stdout } = await promisify(execFile)('curl', [
      ...['-sN', `${on.address}/chat/completions`, '-H', `Authorization: Bearer ${on.key}`],
      ...['-H', 'Content-Type: application/json', '-d', body],
    ])
    const events = stdout.trim().split('\n\n')
    expect(events.at(-1)).toBe('data: [DONE]')
    const chunks = events
      .slice(0, -1)
      .map((event) => JSON.parse(event.replace(/^data: /, '')) as OpenAI.ChatCompletionChunk)
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(
      (await generated(null, {}))[0],
    )
  })
})

describe('the server', () => {
  test('is on once, keeps its key, and says when its process is gone', async () => {
    await expect(started()).rejects.toMatchObject({ code: 'api/refused' })
    await expect(client.call('serving.renewKey')).rejects.toMatchObject({ code: 'api/refused' })
    await client.call('serving.stop')
    expect(await client.call('serving.status')).toEqual({ state: 'off' })
    await expect(openai.models.list()).rejects.toBeInstanceOf(OpenAI.APIConnectionError)

    const again = await started()
    expect(again.key).toBe(on.key)
    const other = new OpenAI({ apiKey: again.key, baseURL: again.address, maxRetries: 0 })
    const long = other.chat.completions.create({
      model: 'starter',
      messages,
      n: 64,
      min_tokens: on.contextLength - 32,
    } as OpenAI.ChatCompletionCreateParamsNonStreaming)
    const failed = expect(long).rejects.toThrow()
    await eventually(async () => expect(await client.call('serving.status')).toMatchObject({ active: 1 }))
    process?.kill()
    await failed
    expect(await client.call('serving.status')).toMatchObject({
      state: 'failed',
      error: { code: 'runtime/killed' },
    })
    const [agents, programs] = [await client.call('serving.agentKey'), await client.call('serving.renewKey')]
    const renewed = await client.call('serving.agentKey')
    expect(new Set([on, agents, programs, renewed].map(({ key }) => key)).size).toBe(4)
  })

  test('cannot be started with a model that is not there, and says why', async () => {
    await expect(client.call('serving.start', { model: 'nothing' })).rejects.toMatchObject({
      code: 'model/invalid',
    })
  })

  test('has caused no fault', () => expect(fixture.faults).toEqual([]))
})
