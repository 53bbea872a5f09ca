/** Runs on a base in blocks, from config to checkpoint and back, and what is measured of it. */
import { readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { RunEvent } from '#shared/events.ts'
import { blockPrecisions, type HeldPrecision } from '#shared/precision.ts'
import { int8Form } from '#engine/runtime/device.ts'
import { loadCheckpoint } from '#host/models/checkpoints.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { readAdapter } from '#host/adapters/peft.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { createRunFolder, runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { openText } from '#host/models/completing.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { openModel } from '#host/models/openModel.ts'
import { checkPrecision } from '#host/checks/precisionCheck.ts'
import { oneThread } from '../../engine/runtime/tinyModel.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { eachOf } from '../../sweeps.ts'

const root = temporaryFolder()
const inside = (name: string) => path.join(root, name)
const cacheDirectory = inside('cache')

beforeAll(async () => {
  await writeRandomModel(inside('model'), modelShapes['tiny-llama'], 1, 'BF16')
  writeFileSync(inside('rows.csv'), 'prompt,answer\n1+1=,2\n2+2=,4\n')
})

const newRun = (precision: HeldPrecision, changes: object = {}) =>
  createRunFolder(root, {
    model: inside('model'),
    base: { precision },
    data: { train: inside('rows.csv') },
    rewards: [{ function: 'length-penalty', settings: { free: 0, limit: 30 } }],
    adapter: { rank: 2 },
    rollout: { promptsPerStep: 2, groupSize: 4, maxNewTokens: 12 },
    optimization: { learningRate: 0.02 },
    checkpoints: { every: 1, keepLast: 10 },
    device: { threads: 1 },
    steps: 3,
    ...changes,
  })

async function trainRun({ directory }: RunFolder, resumeFrom: string | null = null): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  const request = { runDirectory: directory, cacheDirectory, resumeFrom }
  for await (const event of runTraining(request, createControl())) events.push(event)
  return events
}

const checkpointOf = ({ directory }: RunFolder, step: number) =>
  path.join(runPaths(directory).checkpoints, `step-00000${step}`)
const messagesOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'warning' ? [event.message] : []))

const isSmallest = (precision: (typeof blockPrecisions)[number]) => precision === 'int4'

eachOf(describe, { rows: blockPrecisions, isAlways: isSmallest }, 'a run on %s', (precision) => {
  test('says what rounding does, corrects the sampler, and goes on from a checkpoint with the same bytes', async () => {
    const run = newRun(precision)
    const events = await trainRun(run)
    expect(messagesOf(events)).toEqual([
      expect.stringMatching(
        `^The base is quantised to ${precision}: log-probabilities differ .* by 0\\.\\d+ nats`,
      ),
    ])
    const step = events.find((event) => event.type === 'step')
    expect(step?.metrics['sampling/importance_sampling_ratio/mean']).toBeGreaterThan(0.5)
    const whole = loadCheckpoint(checkpointOf(run, 3))
    expect(whole.base).toBe(precision)
    expect(whole.actor).not.toEqual(loadCheckpoint(checkpointOf(run, 2)).actor)
    const again = await trainRun(run, checkpointOf(run, 1))
    expect(messagesOf(again)).toEqual([])
    const { actor, optimizer } = loadCheckpoint(checkpointOf(run, 3))
    expect({ actor, optimizer }).toEqual({ actor: whole.actor, optimizer: whole.optimizer })
  })

  test('its checkpoint is asked on the same base, unless another is asked for', async () => {
    const run = newRun(precision, { steps: 1, seed: 7 })
    await trainRun(run)
    const adapter = checkpointOf(run, 1)
    expect(readAdapter(adapter).base).toBe(precision)
    const scoresOn = async (base: HeldPrecision | null) => {
      using model = await openModel({
        directory: inside('model'),
        adapter,
        device: oneThread,
        precision: 'f32',
        base,
        maxRows: 1,
        cacheDirectory,
      })
      const ids = Int32Array.from([5, 17, 4, 100, 42, 9])
      const sequence = { ids, actionMask: new Uint8Array(5).fill(1) }
      return (await model.policy.score([sequence], { role: model.role, temperature: 1 }))[0]!.logprobs
    }
    expect(await scoresOn(null)).toEqual(await scoresOn(precision))
    expect(await scoresOn(null)).not.toEqual(await scoresOn('f32'))
  })
})

test('a run on exact weights says nothing of rounding and leaves no word of it', async () => {
  const run = newRun('f32', { steps: 1 })
  expect(messagesOf(await trainRun(run))).toEqual([])
  expect(loadCheckpoint(checkpointOf(run, 1))).not.toHaveProperty('base')
})

describe('the effect of rounding', () => {
  const check = (cache: string, precision: 'int8' | 'int4', texts: readonly string[] | null) => {
    const model = openModelFolder(inside('model'))
    const { tokenizer } = openText(model)
    return checkPrecision({ model, tokenizer, precision, texts, device: oneThread, cacheDirectory: cache })
  }

  test('is larger for 4 bits than for 8, and never in f32 on disk', async () => {
    const cache = inside('effects')
    const int8 = await check(cache, 'int8', null)
    const int4 = await check(cache, 'int4', null)
    expect(int8.tokens).toBeGreaterThan(500)
    for (const effect of [int8, int4]) {
      expect(effect.largest).toBeGreaterThan(effect.mean)
      expect(Math.abs(effect.loss)).toBeLessThanOrEqual(effect.mean)
      expect(effect.divergence).toBeGreaterThan(0)
      expect(effect.samplerGap).toBeGreaterThan(0)
    }
    expect(int8.mean).toBeGreaterThan(1e-4)
    expect(int8.mean).toBeLessThan(0.05)
    expect(int4.mean).toBeGreaterThan(4 * int8.mean)
    expect(int4.divergence).toBeGreaterThan(10 * int8.divergence)
    expect(int8.exactBytes / int8.roundedBytes).toBeGreaterThan(3)
    expect(int4.exactBytes / int4.roundedBytes).toBeGreaterThan(5)
    const files = readdirSync(cache, { recursive: true }).map((file) => path.basename(String(file)))
    expect(files.filter((file) => file.endsWith('.safetensors')).toSorted()).toEqual([
      '0-model.safetensors',
      'base-int4.safetensors',
      `base-int8-with-head-${int8Form(oneThread)}.safetensors`,
      // What rollouts read, where the processor has a unit for bytes.
      ...(int8Form(oneThread) === 'rows' ? ['rows-int4.safetensors'] : []),
    ])
    expect(await check(cache, 'int8', null)).toEqual(int8)
  })

  test('of texts of one’s own is of those texts', async () => {
    const effect = await check(inside('own'), 'int8', ['abcdef', 'x', ''])
    expect(effect.tokens).toBeLessThan(12)
    expect(effect.tokens).toBeGreaterThan(3)
    await expect(check(inside('own'), 'int8', [''])).rejects.toMatchObject({ code: 'data/invalid' })
  })
})
