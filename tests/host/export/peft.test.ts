/**
 * Exported adapters and merged models in peft and transformers themselves, where Python has them: TURNWISE_PYTHON, or
 * python3. What came of it is in tests/fixtures/peft/README.md. The other way round, adapters that peft made are read in
 * engine/runtime/reference.test.ts.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { createOrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { policyReader } from '#host/export/parityReaders.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'
import { fixtureLora, randomFixture, referenceFixture, type ExportFixture } from './exportFixture.ts'
import { hasPeft, python } from './python.ts'

const script = path.join(import.meta.dirname, '../../fixtures/peft/check.py')
const sequences = [
  [7, 1, 30, 4, 9, 2, 11, 3, 5, 8],
  [2, 17, 6],
]

async function ourLogprobs({ model, adapter }: ExportFixture, cache: string): Promise<number[][]> {
  using policy = await createOrtPolicy({
    source: await asFloat32Source(model, cache),
    device: { kind: 'cpu', threads: 1, deviceId: 0 },
    lora: adapter.config,
    loraSeed: 0,
    adapter: adapter.tensors,
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows: 1,
  })
  const scores = await policyReader(policy, 'actor').score(sequences.map((ids) => Int32Array.from(ids)))
  return scores.map((row) => [...row])
}

test.skipIf(!hasPeft())(
  'exported adapters and merged models give our log-probabilities in peft (skipped without Python with peft)',
  async () => {
    const folder = temporaryFolder()
    const make = (name: string) => {
      mkdirSync(path.join(folder, name))
      return path.join(folder, name)
    }
    const fixtures = [
      await randomFixture(make('llama'), 'tiny-llama'),
      await randomFixture(make('qwen2'), 'tiny-qwen2', { lora: { ...fixtureLora, rsLora: false } }),
      await referenceFixture(make('gpt2'), 'gpt2'),
      await referenceFixture(make('phi3'), 'phi3'),
      await referenceFixture(make('gemma2'), 'gemma2'),
      await referenceFixture(make('lfm2'), 'lfm2'),
      await referenceFixture(make('granite-moe'), 'granite-moe'),
      await referenceFixture(make('qwen3-moe'), 'qwen3-moe'),
      await referenceFixture(make('hunyuan'), 'hunyuan'),
    ]
    const [cases, expected]: [object[], number[][][]] = [[], []]
    for (const fixture of fixtures) {
      const ours = await ourLogprobs(fixture, path.join(fixture.folder, 'cache'))
      const { directory: adapter } = await fixture.export({ format: 'peft' })
      const { directory: merged } = await fixture.export({ format: 'merged', dtype: 'f32' })
      cases.push(
        { model: fixture.model.directory, adapter, sequences },
        { model: merged, adapter: null, sequences },
      )
      expected.push(ours, ours)
    }
    const [input, output] = [path.join(folder, 'cases.json'), path.join(folder, 'out.json')]
    writeFileSync(input, JSON.stringify(cases))
    execFileSync(python, [script, input, output], { stdio: ['ignore', 'ignore', 'inherit'] })
    const { logprobs, versions } = JSON.parse(readFileSync(output, 'utf8')) as {
      logprobs: number[][][]
      versions: Record<string, string>
    }
    const differences = expected.map((rows, index) =>
      Math.max(
        ...rows.flatMap((row, at) => row.map((value, t) => Math.abs(value - logprobs[index]![at]![t]!))),
      ),
    )
    expect(versions['peft']).toMatch(/^0\./)
    for (const difference of differences) expect(difference).toBeLessThan(1e-4)
    process.stdout.write(`${JSON.stringify(versions)} ${JSON.stringify(differences)}\n`)
  },
)
