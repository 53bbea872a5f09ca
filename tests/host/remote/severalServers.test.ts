/** Several rollout servers as one: which is asked for what, and what happens when one of them is gone, slow or wrong. */
import { rmSync } from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Completion, GenerationRequest } from '#engine/policy.ts'
import { randomStream } from '#shared/random.ts'
import { eventually } from '../../eventually.ts'
import { LoopbackServer } from './loopbackServer.ts'
import { disturb, folder, local, openOn, options, promptIds, starter, update } from './remoteFixture.ts'
import { isWhole, wholeTitle } from '../../sweeps.ts'

const servers = [0, 1].map(() => new LoopbackServer('vllm', starter, path.join(folder, 'cache')))
const [first, second] = servers as [LoopbackServer, LoopbackServer]
const adapterFolder = path.join(folder, 'adapters-several')

beforeAll(async () => {
  for (const server of servers) await server.start()
})
afterAll(async () => {
  for (const server of servers) await server.dispose()
})
afterEach(async () => {
  for (const server of servers) {
    await server.stop()
    server.reset()
    await server.start()
  }
  rmSync(adapterFolder, { recursive: true, force: true })
})

const open = (changes: Record<string, unknown> = {}) =>
  openOn({ kind: 'vllm', url: servers.map(({ url }) => url), adapterFolder, retries: 3, ...changes })

/** Prompts of the same length, each with two samples. */
const requests: readonly GenerationRequest[] = Array.from({ length: 6 }, (_, prompt) => ({
  promptIds: promptIds(`${prompt} + 1 =`),
  streams: [randomStream(3, prompt, 0), randomStream(3, prompt, 1)],
}))

type Acting = Pick<typeof local, 'generate'>

async function completionsOf(policy: Acting, onEach: (count: number) => unknown = () => null) {
  const found: Completion[] = []
  for await (const completion of policy.generate(requests, options())) {
    found.push(completion)
    await onEach(found.length)
  }
  return found.sort((a, b) => a.request - b.request || a.sample - b.sample)
}

/** Prompts of the completions that a server was asked for, since the list was emptied. */
const asked = (server: LoopbackServer): string[] =>
  server.received
    .filter(({ path: place }) => place === '/v1/completions')
    .map(({ body }) => (body['prompt'] as number[]).join(' '))

const forgetRequests = () => servers.forEach(({ received }) => (received.length = 0))

/** The second server takes part, in the first rollout for which it answers in time. */
const joins = (policy: Acting, expected: readonly Completion[]) =>
  eventually(async () => {
    forgetRequests()
    expect(await completionsOf(policy)).toEqual(expected)
    expect(asked(second)).not.toEqual([])
  })

test('a prompt stays on one server, prompts are shared out, and every version is on all of them', async () => {
  const policy = await open()
  forgetRequests()
  expect(await completionsOf(policy)).toHaveLength(12)
  const [here, there] = [asked(first), asked(second)]
  expect([here.length, there.length]).toEqual([6, 6])
  expect(new Set(here).size + new Set(there).size).toBe(6)
  await update(policy)
  await completionsOf(policy)
  expect(first.loaded).toHaveLength(2)
  expect(second.loaded).toEqual(first.loaded)
  const { 'time/handover': handOver, 'rollout/servers': taking } = policy.takeMetrics()
  expect(handOver).toBeGreaterThan(0)
  expect(taking).toBe(2)
  await policy[Symbol.asyncDispose]()
  for (const server of servers) expect([...server.model.adapters.keys()]).toEqual([])
  disturb(local, 5)
})

test.runIf(isWhole)(wholeTitle('a slow server gets fewer prompts'), async () => {
  await using policy = await open({ maxConcurrent: 1 })
  forgetRequests()
  first.faults.delayMs = 400
  expect(await completionsOf(policy)).toHaveLength(12)
  expect(asked(first).length).toBeLessThanOrEqual(4)
  expect(asked(second).length).toBe(12 - asked(first).length)
})

test('a server that dies is left out, and takes part again when it answers', async () => {
  await using policy = await open({ maxConcurrent: 2 })
  const expected = await completionsOf(policy)
  policy.takeMetrics()
  const killed = await completionsOf(policy, async (count) => count === 3 && (await second.stop()))
  expect(killed).toEqual(expected)
  expect(policy.takeMetrics()['rollout/servers']).toBe(1)
  expect(policy.takeNotes()).toEqual([
    expect.stringMatching(
      /^The rollout server at \S+ does not answer: .+ It is left out, and tried again/,
    ) as string,
  ])
  forgetRequests()
  expect(await completionsOf(policy)).toEqual(expected)
  expect(asked(first)).toHaveLength(12)
  await second.start()
  await joins(policy, expected)
  expect(policy.takeNotes()).toEqual([`The rollout server at ${second.url} answers and takes part again.`])
  expect(policy.takeMetrics()['rollout/servers']).toBe(2)
})

const hanging = 'a server that hangs is left out once it has been silent for the whole time'
test.runIf(isWhole)(wholeTitle(hanging), async () => {
  await using policy = await open({ timeoutSeconds: 5 })
  const expected = await completionsOf(policy)
  second.faults.hanging = 1000
  expect(await completionsOf(policy)).toEqual(expected)
  expect(policy.takeNotes()).toEqual([expect.stringContaining('no answer within 5 seconds') as string])
})

test('when none is left, any of them is waited for; then the run ends with the reason', async () => {
  await using policy = await open({ retries: 3, maxConcurrent: 1 })
  const expected = await completionsOf(policy)
  const back = await completionsOf(policy, async (count) => {
    if (count !== 3) return
    await Promise.all(servers.map((server) => server.stop()))
    setTimeout(() => void first.start(), 500)
  })
  expect(back).toEqual(expected)
  await first.stop()
  await expect(completionsOf(policy)).rejects.toMatchObject({ code: 'server/unreachable' })
})

test('a server that is not there at the start is checked when it comes', async () => {
  await second.stop()
  await using policy = await open()
  expect(policy.takeNotes()).toEqual([expect.stringContaining('ECONNREFUSED') as string])
  const expected = await completionsOf(policy)
  await second.start()
  await joins(policy, expected)
  expect(second.loaded).toEqual(first.loaded)
  expect(policy.takeMetrics()['rollout/servers']).toBe(2)
})

test('one that comes later and is of no use takes no part', async () => {
  await second.stop()
  await using policy = await open()
  policy.takeNotes()
  second.faults.shift = 0.4
  await second.start()
  const expected = await completionsOf(policy)
  expect(policy.takeNotes()).toEqual([
    expect.stringMatching(/computes something other than .* takes no part in this run\.$/) as string,
  ])
  expect(await completionsOf(policy)).toEqual(expected)
  expect(policy.takeMetrics()['rollout/servers']).toBe(1)
})

test('the one whose log-probabilities are wrong is named', async () => {
  await using policy = await open({ gapLimit: 0.05, gapCompletions: 1 })
  second.faults.shift = 0.2
  await expect(completionsOf(policy)).rejects.toMatchObject({
    code: 'server/unsuitable',
    message: expect.stringContaining(second.url) as string,
  })
})

test('all of them are needed to be right at the start', async () => {
  second.faults.loraOff = 'flag'
  await expect(open()).rejects.toMatchObject({ code: 'server/unsuitable' })
})
