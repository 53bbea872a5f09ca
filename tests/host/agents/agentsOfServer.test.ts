/** Sessions of agents whose answers come from a rollout server, while the policy learns. */
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { readEvents } from '#host/workFolder/eventLog.ts'
import { eventually } from '../../eventually.ts'
import { LoopbackServer } from '../remote/loopbackServer.ts'
import { createHome, historyOf, starterConfig, stepsOf } from '../runs/runFixture.ts'

const home = createHome()
const server = new LoopbackServer('vllm', starterConfig.model, path.join(home.directory, 'server-cache'))
beforeAll(() => server.start())
afterAll(async () => {
  await server.dispose()
  home[Symbol.dispose]()
})

const key = 'key-of-this-test'
const configOf = () =>
  parseRunConfig({
    ...starterConfig,
    steps: 4,
    device: { threads: 1 },
    rollout: {
      ...starterConfig.rollout,
      agent: { port: 0 },
      maxStaleness: 1,
      server: { kind: 'vllm', url: server.url, adapterFolder: path.join(home.directory, 'adapters') },
    },
    optimization: { learningRate: 0.05 },
    evaluation: { every: 0, rows: 2 },
    checkpoints: { every: 1, keepLast: 20 },
  })

interface Taken {
  readonly id: string | null
  readonly over: boolean
  readonly base_url: string
  readonly step: number
  readonly columns: { readonly prompt: string }
}

/** Plays one session after the other until the run is over. Those of step 2 last until the first update was made. */
async function play(run: RunFolder, address: string): Promise<void> {
  const post = async <T>(url: string, body: object): Promise<T> => {
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as T
  }
  let session = await post<Taken>(`${address}/sessions`, {})
  while (!session.over) {
    const { id, base_url, step, columns } = session
    if (id === null) {
      session = await post(`${address}/sessions`, {})
      continue
    }
    const ask = async (...messages: readonly object[]) => {
      const answer = await post<{ choices: readonly { message: object }[] }>(`${base_url}/chat/completions`, {
        model: 'policy',
        messages,
      })
      return [...messages, answer.choices[0]!.message]
    }
    const first = await ask({ role: 'user', content: columns.prompt })
    if (step === 2) await eventually(() => expect(stepsOf(run)).toContain(1))
    const all = await ask(...first, { role: 'user', content: 'Again' })
    session = await post(`${address}/sessions/${id}/end`, { reward: JSON.stringify(all).length, next: {} })
  }
}

/** Steps of the sessions that ended. */
const endedIn = (run: RunFolder) =>
  readEvents(runPaths(run.directory).sessions, ['session']).map(({ place }) => (place as Taken).step)

async function train(run: RunFolder, resumeFrom: string | null, stopAfter = Infinity): Promise<void> {
  const control = createControl()
  const cacheDirectory = path.join(home.directory, 'cache')
  const request = { runDirectory: run.directory, cacheDirectory, resumeFrom, agentKey: key }
  const agents: Promise<unknown>[] = []
  for await (const event of runTraining(request, control)) {
    // A stop refuses their calls while the loop still waits.
    if (event.type === 'agents')
      agents.push(Promise.allSettled(Array.from({ length: 8 }, () => play(run, event.address))))
    if (event.type !== 'step' || event.step !== stopAfter) continue
    await eventually(() => expect(endedIn(run)).toContain(stopAfter + 1))
    control.stop()
  }
  await Promise.all(agents)
}

test('sessions go on over an update, are corrected for it, and are asked anew after a stop', async () => {
  const run = home.createRun(configOf())
  await train(run, null, 2)
  await train(run, path.join(runPaths(run.directory).checkpoints, 'step-000002'))
  expect(stepsOf(run)).toEqual([1, 2, 3, 4])
  const metrics = historyOf(run, 'step').map((event) => event['metrics'] as Readonly<Record<string, number>>)
  const of = (name: string) => metrics.map((each) => each[name])
  expect(of('rollout/staleness')).toEqual([0, 1, 0, 1])
  expect(of('workflow/failed_ratio')).toEqual([0, 0, 0, 0])
  expect(of('workflow/turns')).toEqual([2, 2, 2, 2])
  const [first, second, third, fourth] = of('sampling/sampling_logp_difference/mean')
  for (const fresh of [first, third]) expect(fresh).toBeLessThan(1e-4)
  for (const stale of [second, fourth]) expect(stale).toBeGreaterThan(1e-3)
  expect(of('sampling/importance_sampling_ratio/min')[1]).toBeLessThan(1)
})
