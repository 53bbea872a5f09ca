import { expect, test } from 'vitest'
import { Session } from '#host/agents/session.ts'

const place = { source: 'training', step: 1, row: 0, sample: 0 } as const
const episode = {
  row: {},
  prompt: null,
  environment: null,
  isEvaluation: false,
  seed: 1,
  asked: [],
  answers: [],
}
const tools = [{ type: 'function', function: { name: 'add' } }]
const sampling = { maxNewTokens: 32, stopStrings: [] } as never
const user = { role: 'user', content: 'Add 2 and 3' }
const called = { name: 'add', arguments: '{"a":2,"b":3}' }

test('a conversation that answers a call goes on from its tokens, however the arguments are written', async () => {
  const session = new Session(place, episode, 32)
  const first = session.complete({ prompts: [{ messages: [user], tools }], samples: 1, sampling })
  expect(await session.next(episode)).toMatchObject({
    requests: [{ request: { kind: 'generate', messages: [user], tools } }],
  })
  const completion = { text: '', toolCalls: [called], ids: [7, 8], logprobs: [0, 0], version: 0 }
  const answers = [
    { completions: [{ ...completion, finishReason: 'stop' }], isList: true, promptIds: [1, 2] },
  ]
  const going = session.next({ ...episode, answers })
  expect((await first).completions[0]).toMatchObject({ toolCalls: [called] })

  const result = { role: 'tool', content: '5', tool_call_id: 'x' }
  const call = { id: 'x', type: 'function', function: { name: 'add', arguments: '{"b": 3, "a": 2}' } }
  const asked = [user, { role: 'assistant', content: '', tool_calls: [call] }, result]
  const second = session.complete({ prompts: [{ messages: asked, tools }], samples: 1, sampling })
  expect(await going).toMatchObject({
    requests: [{ request: { kind: 'reply', ids: [1, 2, 7, 8], message: [result] } }],
  })
  const after = session.next({ ...episode, answers: [...answers, { ids: [1, 2, 7, 8, 9] }] })
  expect(await after).toMatchObject({ requests: [{ request: { ids: [1, 2, 7, 8, 9], tools } }] })
  session.break({ failure: 'over' })
  await expect(second).rejects.toThrow('over')
})

test('a conversation whose calls are other ones is asked anew', async () => {
  const session = new Session(place, episode, 32)
  void session.complete({ prompts: [{ messages: [user], tools }], samples: 1, sampling })
  await session.next(episode)
  const completion = { text: '', toolCalls: [called], ids: [7], logprobs: [0], version: 0 }
  const answers = [{ completions: [{ ...completion, finishReason: 'stop' }], isList: true, promptIds: [1] }]
  const going = session.next({ ...episode, answers })
  const call = { id: 'x', type: 'function', function: { name: 'add', arguments: '{"a":9}' } }
  const asked = [user, { role: 'assistant', content: '', tool_calls: [call] }, { role: 'tool', content: '5' }]
  session.complete({ prompts: [{ messages: asked, tools }], samples: 1, sampling }).catch(() => undefined)
  expect(await going).toMatchObject({ requests: [{ request: { kind: 'generate', messages: asked } }] })
  session.break({ failure: 'over' })
})
