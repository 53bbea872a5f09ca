/** Whole runs whose rollouts come from a server on this machine. */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { outboundRequests } from '#host/outboundRequests.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { isLong, isWhole, longTitle, wholeTitle } from '../../sweeps.ts'
import { createHome, historyOf, starterConfig, tensorsOf } from '../runs/runFixture.ts'
import { LoopbackServer } from './loopbackServer.ts'

const home = createHome()
const serving = () =>
  new LoopbackServer('vllm', starterConfig.model, path.join(home.directory, 'server-cache'))
const server = serving()
const other = serving()
const adapterFolder = path.join(home.directory, 'adapters')

beforeAll(async () => {
  await server.start()
  await other.start()
})
afterAll(async () => {
  await server.dispose()
  await other.dispose()
  home[Symbol.dispose]()
})

const configWith = (changes: Record<string, unknown> = {}, rollout: Record<string, unknown> = {}) =>
  parseRunConfig({
    ...starterConfig,
    rollout: {
      ...starterConfig.rollout,
      ...rollout,
      server: { kind: 'vllm', url: server.url, adapterFolder, retries: 6, ...changes },
    },
    evaluation: { every: 0, rows: 2 },
    checkpoints: { every: 1, keepLast: 20 },
    device: { threads: 1 },
    steps: 2,
  })

async function trainRun({ directory }: RunFolder, resumeFrom: string | null = null) {
  const request = { runDirectory: directory, cacheDirectory: path.join(home.directory, 'cache'), resumeFrom }
  for await (const _ of runTraining(request, createControl()));
}

type Numbers = Readonly<Record<string, number>>
const metricsOf = (run: RunFolder) => historyOf(run, 'step').map(({ metrics }) => metrics as Numbers)

test('two steps of GRPO learn from what a server generates', async () => {
  const run = home.createRun(configWith())
  await trainRun(run)
  const steps = metricsOf(run)
  expect(steps).toHaveLength(2)
  for (const metrics of steps) {
    expect(metrics['sampling/sampling_logp_difference/max']).toBeLessThan(1e-4)
    expect(metrics['sampling/server_logp_difference/max']).toBeLessThan(1e-4)
    expect(metrics['sampling/importance_sampling_ratio/mean']).toBeCloseTo(1, 3)
    expect(metrics['rollout/server_retries']).toBe(0)
    const { 'rewards/correct/mean': correct, 'rewards/format/mean': format, reward } = metrics
    expect(reward).toBeCloseTo(0.8 * correct! + 0.2 * format!, 6)
    expect(metrics['grad_norm']).toBeGreaterThan(0)
  }
  // Each step makes two updates, and rollouts need one version for the beginning and one for what each step left.
  expect(server.loaded.map((name) => name.replace(/^(run_).*(-v\d+)$/, '$1$2'))).toEqual([
    'run_-v1',
    'run_-v2',
    'run_-v3',
  ])
  expect(server.unloaded.toSorted()).toEqual(server.loaded.toSorted())
  expect(readdirSync(adapterFolder)).toEqual([])
  expect(outboundRequests(home.directory)).toBe(0)
})

const gone = 'a run whose server is gone fails in one sentence, and resumes when it is back'
test.runIf(isWhole)(wholeTitle(gone), async () => {
  server.reset()
  const whole = home.createRun(configWith())
  await trainRun(whole)
  const broken = home.createRun(configWith({ retries: 0 }))
  const request = { runDirectory: broken.directory, cacheDirectory: path.join(home.directory, 'cache') }
  const failing = async () => {
    for await (const event of runTraining({ ...request, resumeFrom: null }, createControl())) {
      if (event.type === 'step' && event.step === 1) await server.stop()
    }
  }
  await expect(failing()).rejects.toMatchObject({ code: 'server/unreachable' })
  expect(historyOf(broken, 'error')[0]).toMatchObject({ code: 'server/unreachable' })
  await server.start()
  await trainRun(broken, path.join(runPaths(broken.directory).checkpoints, 'step-000001'))
  expect(tensorsOf(broken, 2)).toEqual(tensorsOf(whole, 2))
})

test('a run on two servers goes on when one is killed, and learns the same', async () => {
  for (const each of [server, other]) each.reset()
  const url = [server.url, other.url]
  const whole = home.createRun(configWith({ url }))
  await trainRun(whole)
  expect(metricsOf(whole).map((metrics) => metrics['rollout/servers'])).toEqual([2, 2])
  const broken = home.createRun(configWith({ url, maxConcurrent: 1 }))
  const request = { runDirectory: broken.directory, cacheDirectory: path.join(home.directory, 'cache') }
  const before = other.received.length
  // The fourth request is the second of a group.
  const killing = setInterval(() => {
    const own = other.received.slice(before).filter(({ path: place }) => place === '/v1/completions')
    if (own.length < 4) return
    clearInterval(killing)
    void other.stop()
  })
  for await (const _ of runTraining({ ...request, resumeFrom: null }, createControl()));
  clearInterval(killing)
  expect(metricsOf(broken).map((metrics) => metrics['rollout/servers'])).toEqual([1, 1])
  const warnings = historyOf(broken, 'warning').map(({ message }) => String(message))
  expect(warnings).toEqual([
    expect.stringMatching(/^The rollout server at \S+ does not answer: .* It is left out/) as string,
  ])
  expect(tensorsOf(broken, 2)).toEqual(tensorsOf(whole, 2))
  await other.start()
})

const stale = 'rollouts while the policy learns: one step old, taken up after a stop'
test.runIf(isWhole)(wholeTitle(stale), async () => {
  server.reset()
  const config = { ...configWith({}, { maxStaleness: 1 }), steps: 4 }
  const run = home.createRun(config)
  const control = createControl()
  const request = { runDirectory: run.directory, cacheDirectory: path.join(home.directory, 'cache') }
  for await (const event of runTraining({ ...request, resumeFrom: null }, control))
    if (event.type === 'step' && event.step === 2) control.stop()
  expect(server.unloaded.toSorted()).toEqual(server.loaded.toSorted())
  await trainRun(run, path.join(runPaths(run.directory).checkpoints, 'step-000002'))
  const steps = historyOf(run, 'step')
  expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4])
  const of = (metric: string) => metricsOf(run).map((metrics) => metrics[metric]!)
  expect(of('rollout/staleness')).toEqual([0, 1, 0, 1])
  // Nothing is handed over for a step after the last.
  for (const gap of of('sampling/server_logp_difference/max').slice(0, 3)) expect(gap).toBeLessThan(1e-4)
  const [first, second, third, fourth] = of('sampling/sampling_logp_difference/mean')
  for (const fresh of [first, third]) expect(fresh).toBeLessThan(1e-4)
  for (const stale of [second, fourth]) expect(stale).toBeGreaterThan(1e-3)
  for (const seconds of of('time/handover').slice(0, 3)) expect(seconds).toBeGreaterThan(0)
  expect(readdirSync(adapterFolder)).toEqual([])
})

const learned = 'the demo task is learned from completions that are one step old'
test.runIf(isLong)(longTitle(learned), async () => {
  server.reset()
  const run = home.createRun({
    ...configWith({}, { promptsPerStep: 4, groupSize: 8, maxNewTokens: 8, maxStaleness: 1 }),
    steps: 10,
    evaluation: { every: 0, rows: 60 },
    checkpoints: { every: 0 },
    optimization: { learningRate: 0.005, weightDecay: 0 },
    algorithm: { id: 'grpo', settings: { klCoefficient: 0 } },
    adapter: { rank: 16, alpha: 32 },
  })
  await trainRun(run)
  const staleness = metricsOf(run).map((metrics) => metrics['rollout/staleness'])
  expect(staleness).toEqual([0, 1, 1, 1, 1, 1, 1, 1, 1, 1])
  const [before, after] = historyOf(run, 'evaluation').map(
    ({ metrics }) => (metrics as Numbers)['eval_reward'],
  )
  expect(before).toBeLessThan(0.3)
  expect(after).toBeGreaterThan(0.5)
})
