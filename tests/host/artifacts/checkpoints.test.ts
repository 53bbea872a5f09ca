import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  bestCheckpoint,
  listCheckpoints,
  loadCheckpoint,
  pruneCheckpoints,
  saveCheckpoint,
  type Checkpoint,
} from '#host/artifacts/checkpoints.ts'
import { exportPeft } from '#host/artifacts/exportAdapter.ts'
import { readAdapter } from '#host/artifacts/peft.ts'
import { createRunFolder, runPaths, type RunFolder } from '#host/artifacts/runFolder.ts'
import { resolveCheckpoint, resolveResume } from '#host/artifacts/runTarget.ts'

let data: string
let run: RunFolder

beforeEach(() => {
  data = mkdtempSync(path.join(tmpdir(), 'turnwise-'))
  run = createRunFolder(data, {})
})

afterEach(() => {
  rmSync(data, { recursive: true })
})

const numbers = (length: number, seed: number) =>
  Float32Array.from({ length }, (_, i) => Math.sin(seed + i) / 3)

function checkpointOf(step: number, reward: number | null = null): Checkpoint {
  const tensor = (name: string, shape: number[], seed: number) => ({
    name: `model.layers.0.self_attn.q_proj.lora_${name}`,
    shape,
    data: numbers((shape[0] ?? 0) * (shape[1] ?? 0), seed),
  })
  const tensors = [tensor('A', [2, 4], step), tensor('B', [6, 2], step + 0.5)]
  return {
    trainer: { step, promptsDrawn: 8 * step, updates: 2 * step, tokens: 1000 * step },
    events: 3 * step,
    reward,
    lora: { rank: 2, alpha: 4, rsLora: true, targets: ['q_proj'] },
    baseModel: 'some/model',
    actor: tensors,
    reference: tensors.map(({ data: values, ...rest }) => ({ ...rest, data: values.map((x) => -x) })),
    optimizer: { step: 2 * step, buffers: { firstMoments: numbers(20, 7), secondMoments: numbers(20, 8) } },
  }
}

const steps = () => listCheckpoints(run.directory).map(({ step }) => step)

describe('checkpoints', () => {
  test('come back as they were saved', async () => {
    const saved = checkpointOf(4, 0.25)
    const { directory } = await saveCheckpoint(run.directory, saved)
    expect(loadCheckpoint(directory)).toEqual(saved)
  })

  test('are PEFT adapters', async () => {
    const saved = checkpointOf(1)
    const { directory } = await saveCheckpoint(run.directory, saved)
    expect(readAdapter(directory).tensors).toEqual(saved.actor)
  })

  test('one of the same step is replaced', async () => {
    await saveCheckpoint(run.directory, checkpointOf(1, 0.1))
    await saveCheckpoint(run.directory, checkpointOf(1, 0.9))
    expect(listCheckpoints(run.directory).map(({ reward }) => reward)).toEqual([0.9])
  })

  test('the last few and the best stay', async () => {
    for (const [step, reward] of [
      [1, 0.2],
      [2, 0.7],
      [3, null],
      [4, 0.5],
      [5, 0.6],
    ] as const) {
      await saveCheckpoint(run.directory, checkpointOf(step, reward))
    }
    pruneCheckpoints(run.directory, 2)
    expect(steps()).toEqual([2, 4, 5])
    expect(bestCheckpoint(listCheckpoints(run.directory))?.step).toBe(2)
    expect(readdirSync(runPaths(run.directory).checkpoints).length).toBe(3)
  })

  test('what a killed process left is cleared away, and never listed', async () => {
    await saveCheckpoint(run.directory, checkpointOf(1))
    const { checkpoints } = runPaths(run.directory)
    mkdirSync(path.join(checkpoints, '.step-000002.77.1.partial'))
    mkdirSync(path.join(checkpoints, 'step-000003'))
    expect(steps()).toEqual([1])
    pruneCheckpoints(run.directory, 1)
    expect(existsSync(path.join(checkpoints, '.step-000002.77.1.partial'))).toBe(false)
  })

  test.each(['adapter_model.safetensors', 'optimizer.safetensors', 'adapter_config.json'])(
    'a changed %s is noticed, and the checkpoint before it is used',
    async (name) => {
      await saveCheckpoint(run.directory, checkpointOf(1))
      const { directory } = await saveCheckpoint(run.directory, checkpointOf(2))
      const file = path.join(directory, name)
      const bytes = readFileSync(file)
      bytes[bytes.length - 2] = (bytes.at(-2) ?? 0) ^ 1
      writeFileSync(file, bytes)
      expect(() => loadCheckpoint(directory)).toThrow(`${name} is not as it was written`)
      expect(resolveResume(data, run.id).checkpoint?.step).toBe(1)
      expect(resolveCheckpoint(data, run.id, 'last')).toMatch(/step-000001$/)
    },
  )

  test('a missing file is named', async () => {
    const { directory } = await saveCheckpoint(run.directory, checkpointOf(1))
    rmSync(path.join(directory, 'optimizer.safetensors'))
    expect(() => loadCheckpoint(directory)).toThrow('optimizer.safetensors is missing')
  })
})

describe('what a person may name', () => {
  test('a run without checkpoints begins again', () => {
    expect(resolveResume(data, run.id)).toEqual({ run, checkpoint: null })
    expect(() => resolveCheckpoint(data, run.id, 'last')).toThrow('has no checkpoint')
  })

  test('a checkpoint by its folder', async () => {
    const first = await saveCheckpoint(run.directory, checkpointOf(1, 0.5))
    await saveCheckpoint(run.directory, checkpointOf(2))
    expect(resolveResume(data, first.directory)).toEqual({ run, checkpoint: first })
    expect(resolveCheckpoint(data, first.directory, 'best')).toBe(first.directory)
    expect(resolveCheckpoint(data, run.directory, 'best')).toBe(first.directory)
    expect(resolveCheckpoint(data, run.directory, 'last')).toMatch(/step-000002$/)
  })

  test('no best without a held-out reward', async () => {
    await saveCheckpoint(run.directory, checkpointOf(1))
    expect(() => resolveCheckpoint(data, run.id, 'best')).toThrow('has a held-out reward')
  })
})

test('an export holds exactly the checkpoint', async () => {
  const saved = checkpointOf(3)
  const { directory } = await saveCheckpoint(run.directory, saved)
  const out = path.join(data, 'exported')
  expect(await exportPeft(directory, out)).toEqual({ directory: out, tensors: 2, maxDifference: 0 })
  expect(readAdapter(out)).toEqual({ config: saved.lora, baseModel: 'some/model', tensors: saved.actor })
})
