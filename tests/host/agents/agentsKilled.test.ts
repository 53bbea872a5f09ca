import { afterAll, expect, test } from 'vitest'
import { setTimeout as wait } from 'node:timers/promises'
import { runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { readEvents } from '#host/workFolder/eventLog.ts'
import { resolveResume } from '#host/runs/runTarget.ts'
import type { KillPlan } from '../runs/killedProcess.ts'
import { createHome, historyOf, starterConfig, startKilled, stepsOf, tensorsOf } from '../runs/runFixture.ts'
import { isWhole } from '../../sweeps.ts'

const home = createHome(startKilled)
afterAll(() => {
  home[Symbol.dispose]()
})

const key = 'key-of-this-test'
const steps = 6
const config = {
  ...starterConfig,
  steps,
  device: { threads: 1 },
  checkpoints: { every: 2, keepLast: 3 },
  evaluation: { every: 3, rows: 4 },
}
const withAgent = { ...config, rollout: { ...config.rollout, agent: { port: 0 } } }

interface Taken {
  readonly id: string | null
  readonly over: boolean
  readonly base_url: string
  readonly prompt_token_ids: readonly number[]
}

/** Agents that go on whatever happens to the run, wherever its address is now, until told to stop. */
class Agents {
  /** Ends that were confirmed. */
  confirmed = 0
  #isStopped = false
  readonly #run: RunFolder
  readonly #loops: Promise<void>

  constructor(run: RunFolder, count: number) {
    this.#run = run
    this.#loops = Promise.all(Array.from({ length: count }, () => this.#loop())).then(() => undefined)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#loops
  }

  async #loop(): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#play()
      } catch {
        await wait(20) // the process is dead, or not there yet
      }
    }
  }

  async #play(): Promise<void> {
    const address = historyOf(this.#run, 'agents').at(-1)?.['address']
    if (typeof address !== 'string') throw new Error('Expected an address.')
    const session = (await this.#post(`${address}/sessions`, { wait: 1 })) as Taken
    if (session.id === null) return
    await this.#post(`${session.base_url}/completions`, { model: 'policy', prompt: session.prompt_token_ids })
    await this.#post(`${address}/sessions/${session.id}/end`, {})
    this.confirmed++
  }

  async #post(url: string, body: object): Promise<unknown> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    })
    if (response.status !== 200) throw new Error(await response.text())
    return response.json()
  }
}

/** Trains from the last whole checkpoint on until the process ends, as planned or by itself. */
async function train(run: RunFolder, plan: KillPlan | null): Promise<string> {
  const { checkpoint } = resolveResume(home.directory, run.id)
  process.env['TURNWISE_TEST_KILL'] = plan === null ? '' : JSON.stringify(plan)
  const ended = home
    .supervise({ agentKey: () => key })
    .start(run, { resumeFrom: checkpoint?.directory ?? null })
  delete process.env['TURNWISE_TEST_KILL']
  return (await ended).kind
}

/** Rows, tokens and rewards of all samples. */
const learned = (run: RunFolder) =>
  historyOf(run, 'samples').flatMap(({ step, samples }) =>
    (samples as readonly Record<string, unknown>[]).map(({ row, completion, reward, tokens, advantage }) => ({
      step,
      row,
      completion,
      reward,
      tokens,
      advantage,
    })),
  )

/** While a session is kept, between two of a step, in an evaluation, in the midst of a checkpoint. */
const plans: readonly KillPlan[] = [
  { operation: 'write', path: 'sessions.jsonl', count: 6, moment: 'half' },
  { operation: 'write', path: 'sessions.jsonl', count: 1, moment: 'after' },
  { operation: 'write', path: 'sessions.jsonl', count: 11, moment: 'before' },
  { operation: 'write', path: 'checkpoints', count: 3, moment: 'half' },
  { operation: 'write', path: 'sessions.jsonl', count: 9, moment: 'after' },
]

test('a run killed among its agents’ sessions learns the same bytes, and confirms no session twice', async () => {
  const undisturbed = home.createRun(config)
  expect(await train(undisturbed, null)).toBe('finished')
  const run = home.createRun(withAgent)
  const agents = new Agents(run, 5)
  for (const plan of isWhole ? plans : plans.slice(0, 1)) expect(await train(run, plan)).toBe('crashed')
  expect(await train(run, null)).toBe('finished')
  await agents.stop()

  expect(stepsOf(run)).toEqual(Array.from({ length: steps }, (_, i) => i + 1))
  expect(learned(run)).toEqual(learned(undisturbed))
  expect(tensorsOf(run, steps)).toEqual(tensorsOf(undisturbed, steps))
  const kept = readEvents(runPaths(run.directory).sessions, ['session'])
  const places = new Set(kept.map(({ place }) => JSON.stringify(place)))
  expect(places.size).toBe(kept.length)
  // One that was kept when its process died may not have been confirmed; none was confirmed that was not kept.
  expect(agents.confirmed).toBeLessThanOrEqual(kept.length)
  expect(agents.confirmed).toBeGreaterThan(kept.length - plans.length * 5)
})
