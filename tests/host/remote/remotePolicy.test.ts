/** A policy that acts on a server of either kind, against one on this machine with the same model. */
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { SamplingOptions } from '#engine/policy.ts'
import {
  completionsOf,
  decode,
  disturb,
  folder,
  local,
  options,
  ownOf,
  requests,
  serveAs,
  update,
} from './remoteFixture.ts'
import type { Kind } from './loopbackServer.ts'
import { eachOf } from '../../sweeps.ts'

/** In every run the one whose older versions differ. */
const isAlways = (kind: Kind) => kind === 'vllm'

eachOf(describe, { rows: ['vllm', 'sglang'] as const, isAlways }, '%s', (kind) => {
  const { server, adapterFolder, open, generated } = serveAs(kind)

  test('greedy tokens and their log-probabilities are those of this machine', async () => {
    await using policy = await open()
    for (const role of ['actor', 'base', 'reference'] as const) {
      const given = { ...options({ greedy: true, temperature: 0.7 }), role }
      const [here, there] = [await completionsOf(local, given), await completionsOf(policy, given)]
      expect(there.map(({ ids }) => ids)).toEqual(here.map(({ ids }) => ids))
      expect(there.map(({ stopReason }) => stopReason)).toEqual(here.map(({ stopReason }) => stopReason))
      there.forEach(({ logprobs }, i) =>
        logprobs.forEach((value, t) => expect(value).toBeCloseTo(here[i]!.logprobs[t]!, 4)),
      )
    }
    expect(server.loaded.some((name) => /^run_test-[0-9a-f]{6}-reference-v2$/.test(name))).toBe(true)
  })

  test('log-probabilities of sampled tokens are those of the tempered softmax', async () => {
    await using policy = await open()
    const told: number[] = []
    const given = { ...options({ temperature: 0.6 }), onToken: ({ id }: { id: number }) => told.push(id) }
    const completions = await completionsOf(policy, given)
    expect(completions).toHaveLength(6)
    expect(told).toHaveLength(6 * 8)
    for (const completion of completions) {
      const [own] = await ownOf(completion, 0.6)
      completion.logprobs.forEach((value, t) => expect(Math.abs(value - own![t]!)).toBeLessThan(1e-4))
    }
    expect(policy.takeMetrics()).toMatchObject({ 'rollout/server_retries': 0, 'rollout/server_adapters': 1 })
    expect(await completionsOf(policy, options({ temperature: 0.6 }))).toEqual(completions)
    expect(policy.takeMetrics()['sampling/server_logp_difference/max']).toBeLessThan(1e-4)
  })

  test('requests may come later and be sampled in their own way, as on this machine', async () => {
    await using policy = await open()
    const greedy = options({ greedy: true, maxNewTokens: 5 })
    const [first, second] = requests
    const late = [
      [{ ...second!, sampling: { ...greedy.sampling, maxNewTokens: 3 } }, first!],
      [{ ...first!, sampling: { ...greedy.sampling, greedy: false, temperature: 0.6 } }],
    ]
    const answers = async (asked: typeof policy | typeof local) => {
      const left = [...late]
      const later = (isIdle: boolean) => Promise.resolve(isIdle ? (left.shift() ?? null) : [])
      return completionsOf(asked, { ...greedy, later })
    }
    const [here, there] = [await answers(local), await answers(policy)]
    expect(there).toHaveLength(12)
    const isGreedy = ({ request }: { request: number }) => request < 5
    expect(there.filter(isGreedy).map(({ ids }) => ids)).toEqual(here.filter(isGreedy).map(({ ids }) => ids))
    expect(there.filter(({ request }) => request === 3).map(({ ids }) => ids.length)).toEqual([3, 3])
    for (const completion of there.filter((each) => !isGreedy(each))) {
      const [own] = await ownOf({ ...completion, request: 0 }, 0.6)
      completion.logprobs.forEach((value, t) => expect(Math.abs(value - own![t]!)).toBeLessThan(1e-4))
    }
    expect(policy.takeMetrics()['sampling/server_logp_difference/max']).toBeLessThan(1e-4)
  })

  test('stop ids, stop strings and minimal lengths are those of this machine', async () => {
    await using policy = await open()
    const ends = await completionsOf(local, options({ greedy: true }))
    const stopIds = [ends[0]!.ids[2]!]
    const texts = ends.flatMap(({ ids }) => [...ids.slice(1)].map((id) => decode([id])))
    const stopStrings = [texts.find((text) => text !== '')!]
    const cases: readonly Partial<SamplingOptions>[] = [
      { stopIds },
      { stopStrings },
      { stopIds, stopStrings, minNewTokens: 5 },
      { maxNewTokens: 1 },
    ]
    for (const changes of cases) {
      const given = options({ greedy: true, ...changes })
      const [here, there] = [await completionsOf(local, given), await completionsOf(policy, given)]
      expect(there.map(({ ids, stopReason }) => [ids, stopReason])).toEqual(
        here.map(({ ids, stopReason }) => [ids, stopReason]),
      )
      there.forEach(({ logprobs }, i) =>
        logprobs.forEach((value, t) => expect(value).toBeCloseTo(here[i]!.logprobs[t]!, 4)),
      )
    }
  })

  test('every update makes a version; old ones are unloaded and deleted', async () => {
    const policy = await open({ keepVersions: 2 })
    for (let step = 0; step < 4; step++) {
      await completionsOf(policy)
      await update(policy)
    }
    await completionsOf(policy)
    await completionsOf(policy)
    const numbers = (names: readonly string[]) => names.map((name) => Number(/-v(\d+)$/.exec(name)?.[1]))
    expect(numbers(server.loaded)).toEqual([1, 2, 3, 4, 5])
    expect(numbers(server.unloaded)).toEqual([1, 2, 3])
    expect(numbers(readdirSync(adapterFolder)).sort()).toEqual([4, 5])
    const used = generated().map(({ body }) => String(body[kind === 'vllm' ? 'model' : 'lora_path']))
    expect(used.at(-1)).toBe(server.loaded.at(-1))
    await policy[Symbol.asyncDispose]()
    expect([...server.model.adapters.keys()]).toEqual([])
    expect(readdirSync(adapterFolder)).toEqual([])
    disturb(local, 5)
  })

  test('what a process that was killed has left is cleared away by the next', async () => {
    const killed = await open()
    killed[Symbol.dispose]()
    expect(readdirSync(adapterFolder)).toEqual([...server.model.adapters.keys()])
    const mine = ['run_test-202401-v2', 'run_test-of-mine']
    for (const name of mine) mkdirSync(path.join(adapterFolder, name))
    await using _ = await open()
    expect(server.unloaded).toEqual([server.loaded[0]])
    expect(readdirSync(adapterFolder).sort()).toEqual([server.loaded[1]!, ...mine].sort())
  })

  test('the server may call the folder otherwise', async () => {
    const there = path.join(folder, `mounted-${kind}`)
    mkdirSync(adapterFolder, { recursive: true })
    symlinkSync(adapterFolder, there)
    await using _ = await open({ serverAdapterFolder: `${there}/` })
    const load = server.received.find(({ path: place }) => place.endsWith('/load_lora_adapter'))
    expect(load?.body['lora_path']).toBe(path.join(there, server.loaded[0]!))
    await expect(open({ serverAdapterFolder: '/nowhere' })).rejects.toMatchObject({
      code: 'server/failed',
      hint: expect.stringContaining('serverAdapterFolder') as string,
    })
  })

  test('a server that clings to old versions is asked again', async () => {
    await using policy = await open({ keepVersions: 1 })
    server.faults.clinging = true
    await update(policy)
    await completionsOf(policy)
    expect(policy.takeMetrics()['rollout/server_adapters']).toBe(2)
    server.faults.clinging = false
    await update(policy)
    await completionsOf(policy)
    expect(policy.takeMetrics()['rollout/server_adapters']).toBe(1)
    expect(server.unloaded).toEqual(server.loaded.slice(0, 2))
    disturb(local, 5)
  })

  test('filters are refused before anything is asked', async () => {
    await using policy = await open()
    server.received.length = 0
    for (const changes of [{ topK: 5 }, { topP: 0.9 }, { minP: 0.1 }, { repetitionPenalty: 1.1 }]) {
      await expect(completionsOf(policy, options(changes))).rejects.toMatchObject({ code: 'config/invalid' })
    }
    expect(server.received).toEqual([])
  })

  // SGLang has one spelling only.
  if (kind === 'vllm') {
    test('older versions spell ids into tokens', async () => {
      server.faults.isOld = true
      await using policy = await open()
      expect(await completionsOf(policy)).toHaveLength(6)
    })
  }
})
