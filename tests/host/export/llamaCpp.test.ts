/**
 * The exported adapter in llama.cpp itself: the same greedy tokens as the policy that was trained. The library comes
 * prebuilt for Linux; where it cannot be loaded the tests say so by their name.
 */
import path from 'node:path'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import { createOrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { policyReader } from '#host/export/parityReaders.ts'
import { oneThread } from '../../engine/runtime/tinyModel.ts'
import { randomFixture, type ExportFixture } from './exportFixture.ts'
import { continuationsOf, loadLlama } from '../gguf/llama.ts'
import { writeGgufBase } from './ggufBase.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'turnwise-llama-'))

const loading = await loadLlama()

afterAll(async () => {
  if (typeof loading !== 'string') await loading.dispose()
  rmSync(folder, { recursive: true, force: true })
})

const prompts = [
  [72, 101, 108, 108, 111],
  [49, 43, 49, 61],
  [1, 2, 3, 5, 8, 13, 21, 34],
  [200, 7, 150],
].map((ids) => Int32Array.from(ids))
const count = 16

async function askPolicy({ model, adapter }: ExportFixture, role: 'actor' | 'base'): Promise<number[][]> {
  using policy = await createOrtPolicy({
    source: model,
    device: oneThread,
    lora: adapter.config,
    loraSeed: 0,
    adapter: adapter.tensors,
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows: 4,
  })
  const answers = await policyReader(policy, role).proceed(prompts, count)
  return answers.map((ids) => [...ids])
}

if (typeof loading === 'string') {
  test(`llama.cpp could not be loaded here, so adapters are not tried in it: ${loading}`, () => {
    // Nothing can be computed; on the platforms of CI the library must be there.
    expect(process.platform === 'linux' && process.arch === 'x64').toBe(false)
  })
} else {
  test.each(['tiny-llama', 'tiny-qwen2'] as const)(
    'a %s base and its exported adapter give the tokens of the policy in llama.cpp',
    async (shape) => {
      const place = path.join(folder, shape)
      mkdirSync(place)
      const fixture = await randomFixture(place, shape)
      const base = path.join(place, 'base.gguf')
      writeGgufBase(base, fixture.model)
      const { directory } = await fixture.export({ format: 'gguf' })
      const adapter = path.join(directory, 'adapter.gguf')

      const alone = await continuationsOf(loading, { base, adapter: null, prompts, count })
      const adapted = await continuationsOf(loading, { base, adapter, prompts, count })
      expect(alone).toEqual(await askPolicy(fixture, 'base'))
      expect(adapted).toEqual(await askPolicy(fixture, 'actor'))
      for (const [index, ids] of adapted.entries()) expect(ids).not.toEqual(alone[index])
    },
    120_000,
  )
}
