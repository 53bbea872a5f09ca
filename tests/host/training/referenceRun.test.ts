/** A run whose divergence is measured from an adapter of its own form, on the real engine. */
import path from 'node:path'
import { expect, test } from 'vitest'
import { parseRunConfig } from '#shared/runConfig.ts'
import type { LoraConfig } from '#engine/models/config.ts'
import { loraSlots } from '#engine/models/lora.ts'
import { loadCheckpoint } from '#host/models/checkpoints.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { writeAdapter } from '#host/adapters/peft.ts'
import { runPaths, type RunFolder } from '#host/workFolder/runFolder.ts'
import { createControl, runTraining } from '#host/training/entry.ts'
import { createHome, historyOf, starterConfig } from '../runs/runFixture.ts'

const home = createHome()
const { config: model } = openModelFolder(starterConfig.model)
const lora: LoraConfig = { rank: 3, alpha: 2, rsLora: true, targets: ['q_proj', 'o_proj'] }

async function train(settings: object): Promise<RunFolder> {
  const config = parseRunConfig({
    ...starterConfig,
    steps: 2,
    evaluation: { every: 0, rows: 1 },
    checkpoints: { every: 1 },
    device: { threads: 1 },
    // One update a step: its divergence is that of the policy as it acted.
    optimization: { learningRate: 0.005 },
    ...settings,
  })
  const run = home.createRun(config)
  const cacheDirectory = path.join(home.directory, 'cache')
  const request = { runDirectory: run.directory, cacheDirectory, resumeFrom: null }
  for await (const _ of runTraining(request, createControl()));
  return run
}

const divergence = (run: RunFolder): number[] =>
  historyOf(run, 'step').map(({ metrics }) => (metrics as Record<string, number>)['kl'] ?? Number.NaN)

test('a policy that begins as the base diverges from the adapter, which stays as it was', async () => {
  using _ = home
  const adapter = path.join(home.directory, 'reference')
  const tensors = loraSlots(model, lora).map(({ name, shape, size, offset }) => ({
    name,
    shape,
    data: Float32Array.from({ length: size }, (__, at) => Math.sin(3 * (offset + at)) / 4),
  }))
  await writeAdapter(adapter, { config: lora, baseModel: null, tensors, metadata: {} })
  const settings = { adapter: { rank: 4, alpha: 8 }, reference: { adapter } }
  const [run, plain] = [await train(settings), await train({ adapter: settings.adapter })]
  expect(Math.abs(divergence(plain)[0] ?? 1)).toBeLessThan(1e-9)
  expect(divergence(run)[0]).toBeGreaterThan(1e-3)

  const at = (step: number) =>
    loadCheckpoint(path.join(runPaths(run.directory).checkpoints, `step-00000${String(step)}`))
  expect(at(1).lora).toMatchObject({ rank: 4, alpha: 8, rsLora: false })
  const [first, second] = [at(1).reference ?? [], at(2).reference ?? []]
  expect(first.length).toBeGreaterThan(0)
  expect(second).toEqual(first)
  // A in the corner; B times the scale of the one over that of the other.
  const a = first.find(({ name }) => name === 'model.layers.0.self_attn.q_proj.lora_A')!
  const own = tensors.find(({ name }) => name === a.name)!
  expect([...a.data.subarray(0, own.data.length)]).toEqual([...own.data])
  const [b, ownB] = [first, tensors].map((list) =>
    list.find(({ name }) => name.endsWith('0.self_attn.q_proj.lora_B'))!,
  )
  expect(b!.data[0]).toBeCloseTo((ownB!.data[0]! * (2 / Math.sqrt(3))) / 2, 6)
})
