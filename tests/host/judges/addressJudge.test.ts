/** Judges behind an address: our own server with the starter model, and servers that misbehave. */
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ServingStatus } from '#shared/api/serving.ts'
import { judgeKeys, keyUsesOf } from '#shared/config/keyUses.ts'
import { consentsFile } from '#host/consents/consents.ts'
import { allowKeys } from '#host/consents/keys.ts'
import { parseJudge } from '#shared/config/judge.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { AddressJudge } from '#host/judges/addressJudge.ts'
import { Judge } from '#host/judges/judge.ts'
import { JudgeLog } from '#host/judges/judgeLog.ts'
import { runPaths } from '#host/workFolder/runFolder.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { outboundRequests } from '#host/outboundRequests.ts'
import type { RewardInput, Valued } from '#rl/rewards.ts'
import { createHostFixture } from '../api/hostFixture.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { createHome, historyOf, starterConfig } from '../runs/runFixture.ts'

type On = Extract<ServingStatus, { state: 'on' }>

const all = temporaryFolder()
const fixture = createHostFixture()
const home = createHome()
let on: On

beforeAll(async () => {
  await fixture.client.call('serving.start', { model: 'starter' })
  const status = await fixture.client.call('serving.status')
  if (status.state !== 'on') throw new Error(`Expected a server that is on, got ${status.state}.`)
  on = status
  process.env['TEST_JUDGE_KEY'] = on.key
})
afterAll(async () => {
  delete process.env['TEST_JUDGE_KEY']
  home[Symbol.dispose]()
  await fixture[Symbol.asyncDispose]()
})

const largest = {
  question: 'Largest of {completion}',
  scoreAfter: '',
  min: 0,
  max: 9,
  maxNewTokens: 8,
  keyVariable: 'TEST_JUDGE_KEY',
  retries: 0,
}
const input = (completion: string): RewardInput => ({ prompt: '', completion, row: {}, step: 0 })
const completions = ['3 8 5', '1 2 9', '4 6 1', '7 7 2', '3 8 5'].map(input)

interface Opened extends AsyncDisposable {
  readonly judge: Judge
  readonly spent: string[]
}

function openJudge(
  changes: object,
  environment: Record<string, string> = { TEST_JUDGE_KEY: on.key },
  folder?: string,
): Opened {
  const settings = parseJudge({ ...largest, address: on.address, ...changes }, 'settings')
  const spent: string[] = []
  const log = new JudgeLog(folder ?? mkdtempSync(path.join(all, 'run-')))
  const consents = consentsFile(all)
  if (settings.keyVariable !== '') allowKeys(judgeKeys(settings), consents)
  const model = new AddressJudge({ settings, keys: { consents, environment }, onRequest: () => undefined })
  const judge = new Judge({
    name: 'judge',
    settings,
    model,
    log,
    onSpent: (sentence) => spent.push(sentence),
  })
  return {
    judge,
    spent,
    async [Symbol.asyncDispose]() {
      await judge[Symbol.asyncDispose]()
      log[Symbol.dispose]()
    },
  }
}

/** A server of one's own for one test. */
async function serving(
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => void,
  use: (address: string) => Promise<void>,
): Promise<void> {
  const server: Server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => (body += String(chunk)))
    request.on('end', () => answer(request, response, body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

const said = (content: string, rest: object = {}) =>
  JSON.stringify({
    choices: [{ message: { content } }],
    usage: { prompt_tokens: 1000, completion_tokens: 10 },
    ...rest,
  })
const parsed = { read: 'parsed', servedModel: 'm', keyVariable: '' }

describe('a judge behind our own server', () => {
  test('scores as the same model on this machine does', async () => {
    const { LocalJudge } = await import('#host/judges/localJudge.ts')
    const { address: _, ...local } = { ...largest, address: '' }
    const settings = parseJudge({ ...local, keyVariable: '', model: starterConfig.model }, 'settings')
    using log = new JudgeLog(null)
    const model = new LocalJudge(settings, path.join(all, 'cache'))
    await using here = new Judge({ name: 'judge', settings, model, log, onSpent: () => undefined })
    await using there = openJudge({})
    const [ours, theirs] = await Promise.all([here.score(completions), there.judge.score(completions)])
    const valuesOf = (answers: readonly unknown[]) => (answers as Valued[]).map(({ value }) => value)
    expect(valuesOf(ours).filter((value) => value !== null).length).toBeGreaterThan(2)
    for (const [i, value] of valuesOf(theirs).entries()) {
      const own = valuesOf(ours)[i] ?? null
      if (own === null) expect(value).toBeNull()
      else expect(value).toBeCloseTo(own, 4)
    }
    expect(there.judge.takeCounts()).toMatchObject({ answers: 5, cached: 1 })
  })

  test('with a wrong key, an unknown model or no variable is refused in a sentence', async () => {
    await using wrong = openJudge({}, { TEST_JUDGE_KEY: 'wrong' })
    await expect(wrong.judge.score(completions)).rejects.toMatchObject({
      code: 'server/unsuitable',
      message: expect.stringMatching(/^The judge at http.* does not accept the key\.$/) as string,
    })
    await using unknown = openJudge({ servedModel: 'nobody' })
    await expect(unknown.judge.score(completions)).rejects.toThrow(/refuses the question: .*nobody/)
    expect(() => openJudge({}, {})).toThrow(/TEST_JUDGE_KEY, but there is no such/)
  })

  test('judges a run, whose config and log do not hold the key', async () => {
    const settings = { ...largest, address: on.address, promptPrice: 1000, answerPrice: 1000, budget: 0.02 }
    const run = home.createRun(
      parseRunConfig({
        ...starterConfig,
        rewards: [{ function: 'judge', settings }],
        evaluation: { every: 0, rows: 2 },
        device: { threads: 1 },
        steps: 30,
      }),
    )
    const request = {
      runDirectory: run.directory,
      cacheDirectory: path.join(home.directory, 'cache'),
      consents: consentsFile(all),
      resumeFrom: null,
    }
    allowKeys(
      keyUsesOf(parseRunConfig(JSON.parse(readFileSync(runPaths(run.directory).config, 'utf8')))),
      request.consents,
    )
    for await (const _ of runTraining(request, createControl()));
    const events = historyOf(run, 'warning', 'status', 'step', 'evaluation', 'samples', 'checkpoint-saved')
    // The budget ended it early, with a checkpoint and a sentence.
    expect(events.find(({ type }) => type === 'warning')?.['message']).toMatch(/whole budget of 0\.02/)
    expect(events.filter(({ type }) => type === 'status').at(-1)).toMatchObject({ phase: 'stopped' })
    const steps = events.filter(({ type }) => type === 'step')
    expect(steps.length).toBeLessThan(30)
    expect(events.some(({ type, step }) => type === 'checkpoint-saved' && step === steps.length)).toBe(true)
    const { events: log, config } = runPaths(run.directory)
    for (const file of [log, config]) expect(readFileSync(file, 'utf8')).not.toContain(on.key)
    expect(outboundRequests(home.directory)).toBe(0)
    await expect(async () => {
      for await (const _ of runTraining(request, createControl()));
    }).rejects.toThrow(/Fork|whole budget/)
  })
})

describe('a server that misbehaves', () => {
  test('is waited for only so long', async () => {
    await serving(
      () => undefined,
      async (address) => {
        await using opened = openJudge({ ...parsed, address, timeoutSeconds: 1 })
        await expect(opened.judge.score([input('1')])).rejects.toMatchObject({
          code: 'server/unreachable',
          message: expect.stringMatching(/no answer within 1 seconds/) as string,
        })
      },
    )
  })

  test('is asked again while it is busy, and never too much at once', async () => {
    let [requests, open, most] = [0, 0, 0]
    await serving(
      (_, response) => {
        most = Math.max(most, ++open)
        setTimeout(() => {
          open--
          response.writeHead(++requests === 1 ? 503 : 200).end(said('Score: 5'))
        }, 20)
      },
      async (address) => {
        await using opened = openJudge({ ...parsed, address, retries: 2, maxConcurrent: 2 })
        const answers = await opened.judge.score(['a', 'b', 'c', 'd', 'e'].map(input))
        expect(answers).toHaveLength(5)
        expect([requests, most]).toEqual([6, 2])
      },
    )
  })

  test.each([
    ['<html>hello</html>', {}, /something other than a chat completion/],
    [said('Score: 5'), { read: 'expected' }, /no log-probabilities/],
    [said('Score: 5', { usage: null }), { budget: 1, promptPrice: 1 }, /no counts of tokens/],
  ])('with %j ends in a sentence', async (body, changes, sentence) => {
    await serving(
      (_, response) => response.end(body),
      async (address) => {
        await using opened = openJudge({ ...parsed, address, ...changes })
        await expect(opened.judge.score([input('1')])).rejects.toThrow(sentence)
      },
    )
  })

  test('gives no reward without a score, and keeps what was answered before it broke', async () => {
    const folder = mkdtempSync(path.join(all, 'run-'))
    let answered = 0
    await serving(
      (_, response, body) => {
        if (body.includes('bad'))
          setTimeout(() => response.writeHead(404).end('{"error":{"message":"gone"}}'), 100)
        else response.end(said(++answered === 1 ? 'Well, well.' : 'Score: 9'))
      },
      async (address) => {
        const changes = {
          ...parsed,
          address,
          question: '{completion}',
          scoreAfter: 'Score:',
          maxConcurrent: 1,
        }
        {
          await using opened = openJudge(changes, {}, folder)
          await expect(opened.judge.score(['one', 'two', 'bad'].map(input))).rejects.toThrow(/gone/)
        }
        await using opened = openJudge(changes, {}, folder)
        const answers = (await opened.judge.score(['one', 'two'].map(input))) as Valued[]
        expect(answers.map(({ value }) => value)).toEqual([null, 1])
        expect(answers[0]?.columns).toEqual({ 'judge.score': null, 'judge.answer': 'Well, well.' })
        expect(answered).toBe(2)
      },
    )
  })

  test('refuses one completion and not the others', async () => {
    await serving(
      (_, response, body) => {
        if (body.includes('long')) response.writeHead(400).end('{"error":{"message":"too long"}}')
        else response.end(said('Score: 9'))
      },
      async (address) => {
        await using opened = openJudge({ ...parsed, address, maxConcurrent: 1 })
        const answers = await opened.judge.score(['one', 'long', 'two'].map(input))
        expect(answers[1]).toMatchObject({
          failure: { message: expect.stringMatching(/too long/) as string },
        })
        expect((answers[2] as Valued).value).toBe(1)
      },
    )
  })
})
