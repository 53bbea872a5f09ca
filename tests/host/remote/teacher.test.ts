/** A teacher behind an address: a model that this program serves, and a server of the other kind that gives its numbers. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { usedLength } from '#engine/prefixes.ts'
import type { Heads, TokenSequence } from '#engine/policy.ts'
import { keyUsesOf } from '#shared/config/keyUses.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { allowKeys } from '#host/consents/keys.ts'
import { resourcesDirectory } from '#host/dataDirectory.ts'
import { openText } from '#host/models/completing.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { chooseDevice, openModel } from '#host/models/openModel.ts'
import { openTeacherServer } from '#host/remote/teacher.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { collect, createHostFixture } from '../api/hostFixture.ts'
import { createHome, historyOf, starterConfig } from '../runs/runFixture.ts'
import { writeStudent } from '../training/student.ts'

const fixture = createHostFixture()
const { client } = fixture
const home = createHome()
const folder = openModelFolder(path.join(resourcesDirectory, 'starter'))
const { tokenizer } = openText(folder)
const served = { address: '', key: '' }

beforeAll(async () => {
  await client.call('serving.start', { model: 'starter' })
  const status = await client.call('serving.status')
  if (status.state !== 'on') throw new Error(`Expected a server that is on, got ${status.state}.`)
  served.address = new URL(status.address).origin
  served.key = status.key
  process.env['TEACHER_KEY'] = served.key
})

afterAll(async () => {
  delete process.env['TEACHER_KEY']
  home[Symbol.dispose]()
  await fixture[Symbol.asyncDispose]()
})

const configOf = (reference: object, over: object = {}) =>
  parseRunConfig({
    ...starterConfig,
    reference,
    algorithm: { id: 'distillation' },
    rewards: [],
    steps: 3,
    evaluation: { every: 0 },
    rollout: { promptsPerStep: 8, maxNewTokens: 6 },
    device: { threads: 1 },
    ...over,
  })

type Server = Partial<NonNullable<ReturnType<typeof configOf>['reference']['server']>>

function openTeacher(server: Server, { isAllowed = true, key = served.key } = {}) {
  const config = configOf({
    server: { kind: 'vllm', url: served.address, apiKeyVariable: 'TEACHER_KEY', retries: 0, ...server },
  })
  const consents = consentsFile(path.join(home.directory, isAllowed ? 'allowed' : 'asked'))
  if (isAllowed) allowKeys(keyUsesOf(config), consents)
  const keys = { consents, environment: { TEACHER_KEY: key } }
  return openTeacherServer({
    settings: config.reference.server!,
    tokenizer,
    keys,
    onRequest: () => undefined,
  })
}

/** Texts of several lengths; prompts of some, and what is behind the last action, are not scored. */
const sequences = ['What is 2 + 3?', 'The largest of 1, 9 and 4 is', 'x y', '7'].map(
  (text, i): TokenSequence => {
    const ids = Int32Array.from(
      tokenizer.encode(`${text} ${'and '.repeat(3 * i)}5`, { addSpecialTokens: false }),
    )
    const actionMask = new Uint8Array(ids.length - 1)
    actionMask.fill(1, 1, ids.length - 1 - (i % 2))
    return { ids, actionMask }
  },
)

const seen = (logprobs: ArrayLike<number>, sequence: TokenSequence) =>
  Array.from(logprobs).slice(0, usedLength(sequence))

async function ownHeads(likeliest = 0): Promise<Heads[]> {
  const { policy } = await openModel({
    directory: folder.directory,
    adapter: null,
    device: await chooseDevice({ kind: 'cpu', threads: 1 }),
    cacheDirectory: path.join(home.directory, 'cache'),
    precision: 'f32',
    base: null,
    maxRows: 4,
  })
  using _ = policy
  return await policy.score(sequences, { role: 'base', temperature: 1, likeliest })
}

/** Answers as SGLang does, with the numbers of the model that is served; `change` alters an answer. */
async function translating(
  change: (scores: [number | null, number, string | null][]) => unknown,
  tells = Infinity,
) {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const ask = (body: object) =>
      fetch(`${served.address}/v1/completions`, {
        method: 'POST',
        headers: { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    if (request.url === '/v1/models') return response.end(JSON.stringify({ data: [{ id: 'teacher' }] }))
    const { input_ids: ids, top_logprobs_num: likeliest } = JSON.parse(Buffer.concat(chunks).toString()) as {
      input_ids: number[]
      top_logprobs_num: number
    }
    const top = Math.min(likeliest, tells)
    const scored = await ask({ model: 'starter', prompt: ids, max_tokens: 1, prompt_logprobs: top })
    interface Scored {
      choices: { prompt_logprobs: (Record<string, { logprob: number; decoded_token: string }> | null)[] }[]
    }
    const [choice] = ((await scored.json()) as Scored).choices
    const triples = ids.map((id, i): [number | null, number, string | null] => {
      const own = choice?.prompt_logprobs[i]?.[String(id)]
      return [own?.logprob ?? null, id, own?.decoded_token ?? null]
    })
    const tops = choice?.prompt_logprobs.map(
      (all) => all && Object.entries(all).map(([id, { logprob }]) => [logprob, Number(id), null]),
    )
    return response.end(
      JSON.stringify({ meta_info: { input_token_logprobs: change(triples), input_top_logprobs: tops } }),
    )
  }
  return listening((request, response) => void answer(request, response))
}

/** A server that says to be SGLang. */
async function listening(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    settings: { kind: 'sglang', url: `http://127.0.0.1:${String(port)}` } as const,
    [Symbol.dispose]: () => void server.close(),
  }
}

describe('log-probabilities of a server', () => {
  test.each(['vllm', 'sglang'] as const)('as %s are those of the model', async (kind) => {
    using translator = await translating((scores) => scores)
    using teacher = await openTeacher(kind === 'vllm' ? {} : translator.settings)
    const heads = await teacher.score(sequences, { role: 'base', temperature: 1 })
    const own = await ownHeads()
    for (const [i, { logprobs }] of heads.entries()) {
      expect(logprobs).toHaveLength(sequences[i]!.actionMask.length)
      seen(logprobs, sequences[i]!).forEach((value, t) => expect(value).toBeCloseTo(own[i]!.logprobs[t]!, 6))
    }
  })

  test.each(['vllm', 'sglang'] as const)(
    'the likeliest tokens as %s are those of the model',
    async (kind) => {
      using translator = await translating((scores) => scores)
      using teacher = await openTeacher(kind === 'vllm' ? {} : translator.settings)
      const heads = await teacher.score(sequences, { role: 'base', temperature: 1, likeliest: 5 })
      const own = await ownHeads(5)
      for (const [i, { alternatives }] of heads.entries()) {
        const expected = own[i]!.alternatives!
        expect(alternatives!.ids).toEqual(expected.ids)
        alternatives!.logprobs.forEach((value, at) => expect(value).toBeCloseTo(expected.logprobs[at]!, 6))
      }
    },
  )

  test('a server that tells fewer of the likeliest is refused', async () => {
    using translator = await translating((scores) => scores, 2)
    using teacher = await openTeacher(translator.settings)
    const asked = teacher.score(sequences, { role: 'base', temperature: 1, likeliest: 8 })
    await expect(asked).rejects.toThrow('likeliest tokens of a prediction, not 8')
  })

  test('another vocabulary is refused', async () => {
    using translator = await translating((scores) => scores.map(([value, id]) => [value, id, `${id}`]))
    await expect(openTeacher(translator.settings)).rejects.toThrow('has another vocabulary')
  })

  test.each([
    ['tokens left out', (scores: unknown[]) => scores.slice(1)],
    [
      'numbers left out',
      (scores: unknown[]) => scores.map((each) => [null, ...(each as unknown[]).slice(1)]),
    ],
    [
      'other tokens',
      (scores: [number | null, number, unknown][]) => scores.map(([v, id, t]) => [v, id + 1, t]),
    ],
    ['nothing', () => undefined],
  ])('%s are not taken for scores', async (_, change) => {
    using translator = await translating(change)
    await expect(openTeacher(translator.settings)).rejects.toThrow('does not tell log-probabilities')
  })

  test('neither an unknown model nor a wrong key nor silence goes on', async () => {
    await expect(openTeacher({ model: 'other' })).rejects.toThrow('does not serve other. It serves starter')
    await expect(openTeacher({}, { key: 'wrong' })).rejects.toThrow('does not accept the key')
    await expect(openTeacher({ url: 'http://127.0.0.1:9' })).rejects.toThrow('does not answer')
  })

  test('a page in the place of models is no matter of its context', async () => {
    using page = await listening((_, response) => void response.end('<html></html>'))
    await expect(openTeacher(page.settings)).rejects.toMatchObject({
      message: `The teacher at ${page.settings.url} did not list its models: status 200, “<html></html>”.`,
      hint: expect.not.stringContaining('context') as string,
    })
  })

  test('the key goes nowhere without leave', async () => {
    await expect(openTeacher({}, { isAllowed: false })).rejects.toMatchObject({ code: 'key/not-allowed' })
  })
})

test('a check asks it with the key that was allowed', async () => {
  const { reference, ...rest } = configOf({
    server: { kind: 'vllm', url: served.address, apiKeyVariable: 'TEACHER_KEY' },
  })
  const config = { ...rest, reference }
  const check = () => collect(client.stream('runs.calibrate', { config }))
  await expect(check()).rejects.toMatchObject({ code: 'key/not-allowed' })
  await client.call('keys.allow', { keys: [...keyUsesOf(config)] })
  expect((await check()).at(-1)).toMatchObject({ result: { samples: [expect.anything()] } })
})

test('a run learns from it what it learns from the model itself', async () => {
  const student = path.join(home.directory, 'student')
  await writeStudent(student)
  const divergences = async (reference: object) => {
    const config = configOf(reference, { model: student })
    const consents = consentsFile(path.join(home.directory, 'runs'))
    allowKeys(keyUsesOf(config), consents)
    const run = home.createRun(config)
    const cacheDirectory = path.join(home.directory, 'cache')
    const request = { runDirectory: run.directory, cacheDirectory, resumeFrom: null, consents }
    for await (const _ of runTraining(request, createControl()));
    return historyOf(run, 'step').map(({ metrics }) => (metrics as Record<string, number>)['kl']!)
  }
  const model = path.join(resourcesDirectory, 'starter')
  const server = { kind: 'vllm', url: served.address, apiKeyVariable: 'TEACHER_KEY' }
  const [here, there] = [await divergences({ model }), await divergences({ server })]
  expect(here).toHaveLength(3)
  expect(here[0]).toBeGreaterThan(0.1)
  here.forEach((value, i) => expect(there[i]).toBeCloseTo(value, 4))
})
