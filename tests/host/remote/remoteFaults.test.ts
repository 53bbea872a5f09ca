/** Servers that lack something, break off, forget, or lie: either kind, on this machine. */
import { existsSync, readdirSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Completion } from '#engine/policy.ts'
import { completionsOf, local, options, ownOf, requests, serveAs } from './remoteFixture.ts'
import { modelName } from './loopbackReply.ts'
import type { Kind } from './loopbackServer.ts'
import { eachOf } from '../../sweeps.ts'

const isAlways = (kind: Kind) => kind === 'sglang' // remotePolicy.test.ts has the other

eachOf(describe, { rows: ['vllm', 'sglang'] as const, isAlways }, '%s', (kind) => {
  const { server, adapterFolder, open, generated } = serveAs(kind)

  describe('what a server may lack is named, with the command that starts it', () => {
    const command = kind === 'vllm' ? 'vllm serve /models/starter' : '--model-path /models/starter'
    const cases: readonly [string, () => void, string][] = [
      ['token ids', () => (server.faults.withoutIds = true), 'returns no token ids'],
      ['log-probabilities', () => (server.faults.withoutLogprobs = true), 'returns no log-probabilities'],
      ['numbers in them', () => (server.faults.missing = 'all'), 'returns no log-probabilities'],
      [
        'the temperature',
        () => (server.faults.rawLogprobs = true),
        kind === 'vllm' ? '--logprobs-mode processed_logprobs' : 'SGLANG_RETURN_ORIGINAL_LOGPROB',
      ],
      ['adapters', () => (server.faults.loraOff = 'flag'), '--enable-lora is missing'],
      [
        'adapters at run time',
        () => (server.faults.loraOff = 'variable'),
        kind === 'vllm' ? 'VLLM_ALLOW_RUNTIME_LORA_UPDATING=True is missing' : '--enable-lora is missing',
      ],
      ['rank', () => (server.faults.maxRank = 1), 'rank 2 is greater than max_lora_rank 1'],
      [
        'the same model',
        () => (server.faults.shift = 0.4),
        "computes something other than the run's base model",
      ],
      ['the same tokenizer', () => (server.faults.otherTokenizer = true), 'tokenises text differently'],
    ]
    test.each(cases)('%s', async (_name, misbehave, sentence) => {
      misbehave()
      await expect(open()).rejects.toMatchObject({
        code: 'server/unsuitable',
        message: expect.stringContaining(sentence) as string,
        hint: expect.stringContaining(command) as string,
      })
      expect(existsSync(adapterFolder) ? readdirSync(adapterFolder) : []).toEqual([])
    })

    test('ids beyond the vocabulary', async () => {
      server.faults.idShift = local.vocabSize
      await expect(open()).rejects.toThrow(`the run’s model has only ${local.vocabSize}`)
    })

    test('the model', async () => {
      await expect(open({ model: 'other' })).rejects.toThrow(`does not serve other. It serves ${modelName}`)
    })

    test('room', async () => {
      server.faults.contextLength = 20
      await using policy = await open()
      await expect(completionsOf(policy, options({ maxNewTokens: 40 }))).rejects.toMatchObject({
        message: expect.stringContaining('accepts 20 tokens') as string,
      })
    })
  })

  test('the key comes from the environment alone', async () => {
    server.faults.key = 'secret'
    await expect(open()).rejects.toThrow('does not accept the key')
    await expect(open({ apiKeyVariable: 'ROLLOUT_KEY' })).rejects.toThrow('no such environment variable')
    await using policy = await open({ apiKeyVariable: 'ROLLOUT_KEY' }, { ROLLOUT_KEY: 'secret' })
    expect(await completionsOf(policy)).toHaveLength(6)
  })

  test('busy, closed and silent answers are asked for again, with the same result', async () => {
    await using policy = await open({ timeoutSeconds: 5 })
    const expected = await completionsOf(policy)
    policy.takeMetrics()
    Object.assign(server.faults, { busy: 2, closing: 1, hanging: 1 })
    expect(await completionsOf(policy)).toEqual(expected)
    expect(policy.takeMetrics()['rollout/server_retries']).toBe(4)
  })

  test('a server that stays away is named after all attempts', async () => {
    await using policy = await open({ retries: 1 })
    server.faults.busy = 1000
    await expect(completionsOf(policy)).rejects.toMatchObject({
      code: 'server/unreachable',
      message: expect.stringContaining('status 503, “Too many requests are waiting.”') as string,
    })
    await expect(open({ url: 'http://127.0.0.1:9', retries: 0 })).rejects.toMatchObject({
      code: 'server/unreachable',
      message: expect.stringContaining('ECONNREFUSED') as string,
    })
  })

  test('adapters that were forgotten are loaded again', async () => {
    await using policy = await open()
    const expected = await completionsOf(policy)
    server.forget()
    expect(await completionsOf(policy)).toEqual(expected)
    expect(server.loaded).toEqual([server.loaded[0], server.loaded[0]])
  })

  test('a server that starts anew in the middle of a rollout is waited for', async () => {
    await using policy = await open({ maxConcurrent: 1, retries: 5 })
    const expected = await completionsOf(policy)
    const found: Completion[] = []
    for await (const completion of policy.generate(requests, options())) {
      found.push(completion)
      if (found.length !== 2) continue
      await server.stop()
      setTimeout(() => void server.start(), 400)
    }
    expect(found.sort((a, b) => a.request - b.request || a.sample - b.sample)).toEqual(expected)
    expect(server.loaded).toHaveLength(2)
  })

  test('what was broken off goes on where it ended', async () => {
    await using policy = await open()
    const given = options({ greedy: true })
    const expected = await completionsOf(policy, given)
    Object.assign(server.faults, { aborting: 3, empty: 2 })
    server.received.length = 0
    const completions = await completionsOf(policy, given)
    expect(completions.map(({ ids }) => ids)).toEqual(expected.map(({ ids }) => ids))
    expect(generated()).toHaveLength(6 + 3 + 2)
    server.faults.empty = 1000
    await expect(completionsOf(policy, given)).rejects.toThrow('without generating another token')
  })

  test('our own number stands in for a log-probability that is missing', async () => {
    await using policy = await open()
    server.faults.missing = 'first'
    const completions = await completionsOf(policy)
    for (const completion of completions) {
      const [own] = await ownOf(completion)
      expect(completion.logprobs[0]).toBe(own![0])
    }
    expect(policy.takeMetrics()['sampling/server_missing_logprobs']).toBe(6)
    server.faults.missing = 'all'
    await expect(completionsOf(policy)).rejects.toThrow('stopped returning log-probabilities')
  })

  test('nothing is learned from log-probabilities that are too far away', async () => {
    await using policy = await open({ gapLimit: 0.05 })
    server.faults.shift = 0.04
    expect(await completionsOf(policy)).toHaveLength(6)
    expect(policy.takeMetrics()['sampling/server_logp_difference/mean']).toBeCloseTo(0.04, 3)
    server.faults.shift = -0.06
    await expect(completionsOf(policy)).rejects.toMatchObject({
      code: 'server/unsuitable',
      message: expect.stringContaining('differ from Turnwise’s by 0.0') as string,
    })
  })

  test('giving up cancels what is under way', async () => {
    await using policy = await open()
    server.faults.hanging = 1000
    const control = new AbortController()
    const waiting = completionsOf(policy, { ...options(), signal: control.signal })
    while (generated().length < 6) await wait(10)
    control.abort()
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
    while (server.givenUp < 6) await wait(10)
    server.faults.hanging = 0
    server.givenUp = 0
    for await (const _ of policy.generate(requests, options())) break
    while (server.givenUp === 0) await wait(10)
  })
})
