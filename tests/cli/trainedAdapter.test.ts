import { readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import type { LoraConfig } from '#engine/models/config.ts'
import type { TokenSequence } from '#engine/policy.ts'
import { createOrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { writeAdapter } from '#host/adapters/peft.ts'
import { oneThread } from '../engine/runtime/tinyModel.ts'
import { createWorkplace } from './turnwise.ts'

const place = createWorkplace()
afterAll(() => {
  place[Symbol.dispose]()
})

const lora: LoraConfig = { rank: 4, alpha: 12, rsLora: true, targets: ['q_proj', 'v_proj', 'down_proj'] }
const rows = [
  [3, 1, 4, 1, 5, 9, 2, 6],
  [2, 7, 1, 8, 2, 8],
  [1, 6],
]
const sequences: TokenSequence[] = rows.map((row) => ({
  ids: Int32Array.from(row),
  actionMask: new Uint8Array(row.length - 1).fill(1),
}))

test('a policy that was trained here answers the same after its adapter was written and read by the command line', async () => {
  const model = place.path('model')
  await place.run('model', 'random', '--shape', 'tiny-qwen2', '--out', model)
  using policy = await createOrtPolicy({
    source: openModelFolder(model),
    device: oneThread,
    lora,
    loraSeed: 3,
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows: 1,
  })
  const score = async () =>
    (await policy.score(sequences, { role: 'actor', temperature: 1 })).map(({ logprobs }) => [...logprobs])
  const untrained = await score()
  for (let step = 0; step < 5; step++) {
    await policy.accumulate(sequences, { temperature: 1, entropyGradient: false }, (heads) =>
      heads.map(({ logprobs }) => ({ logprobs: logprobs.map(() => -0.1), entropies: null, values: null })),
    )
    await policy.update({ learningRates: { actor: 0.01, critic: 0 }, maxGradNorm: 1 })
  }
  const trained = await score()
  expect(trained.flat().reduce((a, b) => a + b) - untrained.flat().reduce((a, b) => a + b)).toBeGreaterThan(1)

  const adapter = place.path('adapter')
  await writeAdapter(adapter, {
    config: lora,
    baseModel: null,
    tensors: await policy.adapterTensors('actor'),
    metadata: {},
  })
  const input = place.write('rows.json', { sequences: rows })
  const output = place.path('scores.json')
  const done = await place.run(
    'score',
    '--model',
    model,
    '--adapter',
    adapter,
    '--input',
    input,
    '--output',
    output,
  )
  expect(done.status).toBe(0)
  const reloaded = JSON.parse(readFileSync(output, 'utf8')) as { logprobs: number[][] }
  trained.forEach((row, index) => {
    row.forEach((value, at) => {
      expect(Math.abs(value - reloaded.logprobs[index]![at]!)).toBeLessThan(1e-5)
    })
  })
})
