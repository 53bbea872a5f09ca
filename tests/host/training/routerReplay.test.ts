/** A run over a mixture of experts whose learning replays what the sampler chose. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import type { RunEvent } from '#shared/events.ts'
import type { MetricName } from '#shared/metrics.ts'
import { loadCheckpoint } from '#host/models/checkpoints.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { createRunFolder, runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const root = temporaryFolder()
const inside = (name: string) => path.join(root, name)

beforeAll(async () => {
  const config = { num_local_experts: 8, num_experts_per_tok: 2 }
  const shape = { ...modelShapes['tiny-llama'], modelType: 'granitemoe', deviation: 0.3, config } as const
  await writeRandomModel(inside('model'), shape, 1, 'F32')
  writeFileSync(inside('rows.csv'), 'prompt,answer\n1+1=,2\n2+2=,4\n3+4=,7\n')
})

const newRun = (routerReplay: boolean, changes: object = {}) =>
  createRunFolder(root, {
    model: inside('model'),
    data: { train: inside('rows.csv') },
    rewards: [{ function: 'length-penalty', settings: { free: 0, limit: 30 } }],
    algorithm: { id: 'grpo', settings: { klCoefficient: 0.05 } },
    adapter: { rank: 2 },
    rollout: { precision: 'int8', promptsPerStep: 2, groupSize: 6, maxNewTokens: 24, routerReplay },
    optimization: { learningRate: 0.01, epochs: 2 },
    checkpoints: { every: 1, keepLast: 10 },
    device: { threads: 1 },
    steps: 3,
    ...changes,
  })

async function trainRun({ directory }: RunFolder, resumeFrom: string | null = null): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  const request = { runDirectory: directory, cacheDirectory: inside('cache'), resumeFrom }
  for await (const event of runTraining(request, createControl())) events.push(event)
  return events
}

const checkpointOf = ({ directory }: RunFolder, step: number) =>
  path.join(runPaths(directory).checkpoints, `step-00000${step}`)

const metricOf = (events: readonly RunEvent[], name: MetricName) =>
  events.flatMap((event) => (event.type === 'step' ? [event.metrics[name]!] : []))

test('comes nearer to its sampler, and goes on from a checkpoint with the same bytes', async () => {
  const run = newRun(true)
  const events = await trainRun(run)
  const gap = 'sampling/sampling_logp_difference/mean'
  const [replayed] = metricOf(events, gap)
  const [own] = metricOf(await trainRun(newRun(false, { steps: 1 })), gap)
  expect(replayed).toBeLessThan(own!)
  const whole = loadCheckpoint(checkpointOf(run, 3))
  expect(whole.actor).not.toEqual(loadCheckpoint(checkpointOf(run, 1)).actor)
  await trainRun(run, checkpointOf(run, 1))
  const { actor, optimizer } = loadCheckpoint(checkpointOf(run, 3))
  expect({ actor, optimizer }).toEqual({ actor: whole.actor, optimizer: whole.optimizer })
})
