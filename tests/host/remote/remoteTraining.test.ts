/** Whole runs whose rollouts come from a server on this machine. */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import { runPaths, type RunFolder } from '#host/runs/runFolder.ts'
import { outboundRequests } from '#host/outboundRequests.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { createHome, historyOf, starterConfig, tensorsOf } from '../runs/runFixture.ts'
import { LoopbackServer } from './loopbackServer.ts'

const home = createHome()
const server = new LoopbackServer('vllm', starterConfig.model, path.join(home.directory, 'server-cache'))
const adapterFolder = path.join(home.directory, 'adapters')

beforeAll(async () => {
  await server.start()
})
afterAll(async () => {
  await server.dispose()
  home[Symbol.dispose]()
})

const configWith = (changes: Record<string, unknown> = {}) =>
  parseRunConfig({
    ...starterConfig,
    rollout: {
      ...starterConfig.rollout,
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

test(
  'a run whose server is gone fails in one sentence, and resumes when it is back',
  { timeout: 60_000 },
  async () => {
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
  },
)
