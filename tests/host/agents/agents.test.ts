import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { AgentSessions, type AgentSettings } from '#host/agents/agentSessions.ts'
import { startAgentServer } from '#host/agents/agentServer.ts'
import { parseRunConfig } from '#shared/runConfig.ts'
import { rolloutSection } from '#shared/config/rollout.ts'
import type { Prompt } from '#rl/rollout/prompts.ts'
import { generateTrajectories } from '#rl/rollout/rollout.ts'
import { rewardTrajectories } from '#rl/rollout/trajectoryRewards.ts'
import { createTurnText } from '#rl/rollout/turnText.ts'
import { playWorkflow, type WorkflowOptions, type WorkflowRequest } from '#rl/rollout/workflows.ts'
import type { LiveWorkflow } from '#rl/rollout/workflow.ts'
import { eventually } from '../../eventually.ts'
import { fakePolicy, fakeTokenizer, stopId } from '../../rl/fakePolicy.ts'
import { likesC } from '../../rl/training/run.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const key = 'key-of-this-test'
const sampling = {
  greedy: false,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  minNewTokens: 0,
  maxNewTokens: 6,
  stopIds: [stopId],
  stopStrings: [],
}
const decode = (ids: Iterable<number>) => fakeTokenizer.decode(ids)
const prompts: Prompt[] = ['ab', 'ca', 'bbb'].map((text, row) => ({
  row,
  columns: { name: text },
  text,
  ids: fakeTokenizer.encode(text),
}))
const request = { prompts, groupSize: 4, seed: 5, step: 3, source: 'training' } as const

/** Turns of the user end with g, those of the assistant with h. */
const chatTemplate = {
  render: (messages: readonly { readonly role: string; readonly content: string }[]) =>
    messages.map(({ role, content }) => `${content}${role === 'assistant' ? 'h' : 'g'}`).join(''),
} as NonNullable<WorkflowOptions['tools']['chatTemplate']>

const optionsOf = (workflow: LiveWorkflow): WorkflowOptions => ({
  policy: fakePolicy(),
  generate: { role: 'actor', sampling },
  decode,
  workflow,
  tools: {
    environment: null,
    hasCritic: false,
    tokenizer: fakeTokenizer,
    chatTemplate,
    rewards: { rewards: [likesC], onFailure: 'null', step: 3 },
    text: createTurnText({
      tokenizer: fakeTokenizer,
      chatTemplate,
      applyChatTemplate: true,
      strictBoundary: true,
    }),
  },
})

interface Taken {
  readonly id: string
  readonly base_url: string
  readonly over: boolean
  readonly columns: { readonly name: string }
  readonly row: number
  readonly prompt_token_ids: readonly number[]
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function open(
  settings: Partial<AgentSettings> = {},
  file = join(temporaryFolder(), 'sessions.jsonl'),
  farewellMs = 500,
) {
  const stopping = new AbortController()
  const sessions = new AgentSessions(file, stopping.signal)
  const server = await startAgentServer({ port: 0, key, sessions, farewellMs })
  let isClosed = false
  const close = async () => {
    if (isClosed) return
    isClosed = true
    await server[Symbol.asyncDispose]()
  }
  closing.push(close)
  const agent = { ...rolloutSection.parse({ agent: {} }).agent!, ...settings }
  const config = parseRunConfig({ model: 'm', data: { train: 'd' }, rollout: { maxNewTokens: 6 } })
  const send = async (path: string, body: object | string, headers: Record<string, string> = {}) => {
    const response = await fetch(path.startsWith('http') ? path : `${server.origin}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as never }
  }
  const post = async <T = Record<string, never>>(path: string, body: object = {}): Promise<T> => {
    const { status, body: answer } = await send(path, body)
    if (status !== 200) throw new Error(JSON.stringify(answer))
    return answer
  }
  const play = (more: Partial<WorkflowRequest> = {}, own = config) =>
    playWorkflow({ ...request, ...more }, optionsOf(sessions.workflowOf(own, agent)))
  return { file, close, send, post, play, sessions, config, stop: () => stopping.abort() }
}

type Place = Awaited<ReturnType<typeof open>>

/** Holds timers of this length, until one is let pass: how long a busy machine takes decides nothing. */
function heldTimers(ms: number) {
  const held: (() => void)[] = []
  const start = globalThis.setTimeout
  const holding = (run: () => void, after?: number, ...words: []) => {
    if (after !== ms) return start(run, after, ...words)
    held.push(run)
    return start(() => undefined, 0)
  }
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(holding)
  return { passNewest: () => held.at(-1)?.(), [Symbol.dispose]: () => spy.mockRestore() }
}

interface Completion {
  readonly id: string
  readonly choices: readonly { readonly message: { readonly content: string }; readonly text: string }[]
}

const chat = async (place: Place, { base_url }: Taken, ...contents: readonly string[]) => {
  const messages = contents.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content }))
  const answer = await place.post<Completion>(`${base_url}/chat/completions`, { model: 'any', messages })
  return { id: answer.id, text: answer.choices[0]!.message.content }
}

/** Plays with so many agents at a time. Each takes up sessions until the run is over. */
async function played(
  place: Place,
  act: (session: Taken) => Promise<object | null>,
  agents = 3,
  more: Partial<WorkflowRequest> = {},
) {
  const playing = place.play(more)
  const loop = async () => {
    for (;;) {
      const session = await place.post<Taken>('/sessions')
      if (session.over) return
      const end = await act(session)
      if (end !== null) await place.post(`/sessions/${session.id}/end`, end)
    }
  }
  const acting = Array.from({ length: agents }, loop)
  const closed = playing.then(() => place.close())
  await Promise.all([closed, ...acting])
  return playing
}

const bare = (all: Awaited<ReturnType<Place['play']>>) =>
  all.map(({ workflow: _, subgroup: _subgroup, tokenLimit: _limit, ...rest }) => rest)

describe('sessions of agents', () => {
  test.each([1, 7])(
    'that complete the prompt are the rollouts without an agent (%i at a time)',
    async (agents) => {
      const place = await open()
      const own = await played(
        place,
        async ({ base_url, prompt_token_ids: prompt }) => {
          await place.post(`${base_url}/completions`, { model: 'policy', prompt })
          return {}
        },
        agents,
      )
      const built = await generateTrajectories(request, {
        policy: fakePolicy(),
        generate: { role: 'actor', sampling } as const,
        decode,
      })
      expect(bare(own)).toEqual(bare(built))
      const options = { rewards: [likesC], onFailure: 'null', step: 3, tokenizer: fakeTokenizer } as const
      expect((await rewardTrajectories(own, options)).map(({ reward }) => reward.total)).toEqual(
        (await rewardTrajectories(built, options)).map(({ reward }) => reward.total),
      )
    },
  )

  test('are one trajectory for a conversation, in the tokens that were generated', async () => {
    const place = await open()
    const own = await played(place, async (session) => {
      const first = await chat(place, session, 'ab')
      const second = await chat(place, session, 'ab', first.text, 'cd')
      return { reward: 2, call_rewards: { [second.id]: 0.5 }, parts: { style: 1 } }
    })
    expect(own).toHaveLength(12)
    for (const { ids, turnIds, actionMask, workflow, prompt } of own) {
      expect(new Set(turnIds)).toEqual(new Set([-1, 0, 1]))
      expect(decode(prompt.ids)).toBe('abg')
      // Between the turns: the end of the assistant's, what the user said, and the end of that.
      const gap = [...ids].slice(turnIds!.lastIndexOf(0) + 2, turnIds!.indexOf(1) + 1)
      expect(decode(gap)).toBe('hcdg')
      expect(actionMask[0]).toBe(0)
      expect(workflow?.reward).toMatchObject({
        total: 2.5,
        parts: { style: 1 },
        placed: { perTurn: [0, 0.5] },
      })
    }
  })

  test('are over for an agent too that takes its time after the last one', async () => {
    const place = await open({}, undefined, 60_000)
    const playing = place.play()
    for (let ended = 0; ended < 12; ended++) {
      const session = await place.post<Taken>('/sessions')
      await chat(place, session, session.columns.name)
      await place.post(`/sessions/${session.id}/end`, { reward: 1 })
    }
    await playing
    const closed = place.close()
    await setTimeout(1000)
    expect(await place.post('/sessions')).toEqual({ id: null, over: true })
    await closed
  })

  test('follow each other where the end asks for the next, and a row’s prompt is written once', async () => {
    const render = vi.spyOn(chatTemplate, 'render')
    const place = await open()
    const playing = place.play()
    let session = await place.post<Taken>('/sessions')
    for (const seen = new Set<string>(); !session.over;) {
      expect(seen).not.toContain(session.id)
      seen.add(session.id)
      await chat(place, session, session.columns.name)
      if (seen.size === 12) void playing.then(() => place.close())
      session = await place.post<Taken>(`/sessions/${session.id}/end`, { reward: 1, next: { wait: 60 } })
    }
    expect(session).toEqual({ id: null, over: true })
    expect((await playing).map(({ workflow }) => workflow?.reward?.total)).toEqual(Array(12).fill(1))
    expect(render).toHaveBeenCalledTimes(prompts.length)
  })

  test('that branch have a trajectory for each end, and each call is learned from once', async () => {
    const place = await open()
    const own = await played(place, async (session) => {
      const { text } = await chat(place, session, 'ab')
      await Promise.all([chat(place, session, 'ab', text, 'c'), chat(place, session, 'ab', text, 'd')])
      return { reward: 1 }
    })
    expect(own).toHaveLength(24)
    const turns = own.map(({ workflow }) => workflow?.turns).sort()
    expect(turns).toEqual([...Array.from({ length: 12 }, () => 1), ...Array.from({ length: 12 }, () => 2)])
  })

  test('sample as the run does, whatever the client asks for; limits and stops are the client’s', async () => {
    const place = await open()
    const own = await played(place, async ({ base_url, prompt_token_ids: prompt }) => {
      const body = { model: 'policy', prompt, temperature: 0, seed: 7, max_tokens: 2, top_p: 0.1 }
      await place.post(`${base_url}/completions`, body)
      return {}
    })
    const { maxNewTokens: _, ...rest } = sampling
    const built = await generateTrajectories(request, {
      policy: fakePolicy(),
      generate: { role: 'actor', sampling: { ...rest, maxNewTokens: 2 } },
      decode,
    })
    expect(own.map(({ ids }) => [...ids])).toEqual(built.map(({ ids }) => [...ids]))
  })

  test('stream, and give token ids, as OpenAI’s clients read them', async () => {
    const place = await open()
    const streams: string[] = []
    await played(place, async ({ base_url }) => {
      const response = await fetch(`${base_url}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({
          model: 'x',
          stream: true,
          return_token_ids: true,
          messages: [{ role: 'user', content: 'a' }],
        }),
      })
      streams.push(await response.text())
      return { reward: 0 }
    })
    expect(streams).toHaveLength(12)
    for (const text of streams) expect(text).toMatch(/^data: .*"token_ids":\[.*\ndata: \[DONE\]\n\n$/s)
  })
})

describe('what agents do wrong', () => {
  test('foreign ids, ends given twice, bad bodies and keys are refused in a sentence', async () => {
    const place = await open()
    const playing = place.play()
    const session = await place.post<Taken>('/sessions', { row: 1 })
    expect(session).toMatchObject({ row: 1, columns: { name: 'ca' }, over: false })
    const other = await place.post<Taken>('/sessions')
    const { id: foreign } = await chat(place, other, 'b')
    const { send } = place
    const end = `/sessions/${session.id}/end`
    const messages = [{ role: 'user', content: 'a' }]
    const refusals = [
      [await send('/sessions/nobody/end', {}), 404, 'There is no open session with this id'],
      [await send('/v1/chat/completions', { model: 'x', messages }), 400, 'Which session is this?'],
      [await send('/nowhere', {}), 404, 'There is nothing at this address'],
      [await send('/sessions', {}, { authorization: 'Bearer wrong' }), 401, 'The key is missing or wrong'],
      [await send('/sessions', {}, { origin: 'http://elsewhere' }), 403, 'web pages'],
      [await send('/sessions', { rows: 1 }), 400, 'There is no parameter `rows`.'],
      [await send('/sessions', 'x'.repeat(3 << 20)), 413, 'The body is larger than'],
      [await send(end, '{"reward": 1e999}'), 400, 'reward'],
      [await send(end, { call_rewards: { [foreign]: 1 } }), 400, 'no answer of this session'],
      [await send(`${session.base_url}/completions`, { model: 'x', prompt: ['a', 'b'] }), 400, 'one prompt'],
      [await send(`${session.base_url}/completions`, { model: 'x', prompt: [99] }), 400, 'no token 99'],
      [
        await send(`${session.base_url}/chat/completions`, { model: 'x', messages, tools: [{}] }),
        400,
        'tools',
      ],
      [
        await send(`${session.base_url}/chat/completions`, { model: 'x', messages, logprobs: true }),
        400,
        'logprobs',
      ],
      [await send(end, { failure: 'no idea' }), 200, ''],
      [await send(end, { reward: 1 }), 404, 'no open session'],
      [await send(`${session.base_url}/completions`, { model: 'x', prompt: [1] }), 404, 'no open session'],
    ] as const
    for (const [{ status, body }, wanted, words] of refusals) {
      expect(status, JSON.stringify(body)).toBe(wanted)
      expect(JSON.stringify(body)).toContain(words)
    }
    place.stop()
    await place.post(`/sessions/${other.id}/end`, { reward: 1 })
    const own = await playing
    const failures = own.map(({ workflow }) => workflow?.failure)
    expect(failures.filter((failure) => failure === 'The agent gave up: no idea')).toHaveLength(1)
    expect(failures.filter((failure) => failure?.includes('stopped'))).toHaveLength(10)
    expect(own.filter(({ workflow }) => workflow?.reward?.total === 1)).toHaveLength(1)
  })

  test('silence ends a session: left out, or with reward 0', async () => {
    const silenceSeconds = 4321
    using silences = heldTimers(silenceSeconds * 1000)
    const left = await open({ silenceSeconds })
    const act = (place: Place) => async (session: Taken) => {
      await chat(place, session, 'a')
      if (session.row !== 1) return { reward: 1 }
      silences.passNewest()
      return null
    }
    // One at a time: the newest silence is that of the session.
    const own = await played(left, act(left), 1)
    expect(own.map(({ workflow }) => workflow?.end === 'failed')).toEqual(
      own.map(({ prompt }) => prompt.row === 1),
    )
    expect(own.find(({ prompt }) => prompt.row === 1)?.workflow?.failure).toMatch(/silent for 4321 seconds/)
    const zero = await open({ silenceSeconds, silent: 'zero' })
    const counted = await played(zero, act(zero), 1)
    expect(counted.map(({ workflow }) => workflow?.reward?.total)).toEqual(
      counted.map(({ prompt }) => (prompt.row === 1 ? 0 : 1)),
    )
  })

  test('an answer that nobody waited for is not learned from', async () => {
    const place = await open()
    const own = await played(
      place,
      async (session) => {
        const leaving = new AbortController()
        const asked = fetch(`${session.base_url}/chat/completions`, {
          method: 'POST',
          signal: leaving.signal,
          headers: { authorization: `Bearer ${key}` },
          body: JSON.stringify({ model: 'x', messages: [{ role: 'user', content: 'ddd' }] }),
        })
        const open = place.sessions.find(session.id)!
        await eventually(() => open.isBusy || open.calls > 0)
        leaving.abort()
        await asked.catch(() => undefined)
        await eventually(() => open.calls === 1)
        await chat(place, session, 'a')
        return { reward: 1 }
      },
      1,
      { groupSize: 1 },
    )
    for (const { prompt, workflow } of own) {
      expect(decode(prompt.ids)).toBe('ag')
      expect(workflow?.turns).toBe(1)
    }
  })

  test('no more sessions than allowed are open, and one that waits is told that there is none', async () => {
    const place = await open({ maxSessions: 2 })
    const playing = place.play({ groupSize: 1 })
    const [first] = [await place.post<Taken>('/sessions'), await place.post<Taken>('/sessions')]
    expect(await place.post('/sessions', { wait: 0 })).toEqual({ id: null, over: false })
    const waiting = place.post<Taken>('/sessions')
    await place.post(`/sessions/${first.id}/end`, { failure: 'x' })
    expect((await waiting).over).toBe(false)
    place.stop()
    await place.close()
    await expect(playing).resolves.toHaveLength(3)
  })
})

describe('a resumed run', () => {
  const act = (place: Place) => async (session: Taken) => {
    const { text } = await chat(place, session, session.columns.name)
    await chat(place, session, session.columns.name, text, 'c')
    return { reward: session.row, parts: { row: session.row } }
  }

  test('repeats the sessions that ended, and needs no agent for them', async () => {
    const place = await open()
    const before = await played(place, act(place))
    expect(readFileSync(place.file, 'utf8').trim().split('\n')).toHaveLength(12)
    const again = await open({}, place.file)
    const after = await again.play()
    expect(after).toEqual(before)
  })

  test('asks an agent for the others, and where the settings are not the same', async () => {
    const place = await open()
    await played(place, act(place))
    const more = await open({}, place.file)
    const own = await played(more, act(more), 3, { groupSize: 5 })
    expect(own).toHaveLength(15)
    expect(readFileSync(place.file, 'utf8').trim().split('\n')).toHaveLength(15)
    const other = await open({}, place.file)
    const playing = other.play({ groupSize: 1 }, { ...other.config, seed: 9 })
    expect((await other.post<Taken>('/sessions')).over).toBe(false)
    other.stop()
    await other.close()
    await playing
  })
})
