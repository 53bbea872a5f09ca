/** Adapters that peft wrote, in its less usual forms, and one of MLX: they compute here what they compute there. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { createOrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { adapterForModel, readAdapter } from '#host/adapters/peft.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import { oneThread } from '../../engine/runtime/tinyModel.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const fixtures = path.resolve(import.meta.dirname, '../../fixtures')
const folder = openModelFolder(path.join(fixtures, 'reference/llama-grouped/model'))
const { ids, logprobs } = JSON.parse(readFileSync(path.join(fixtures, 'adapters/expected.json'), 'utf8')) as {
  ids: number[]
  logprobs: Record<string, number[]>
}

const cache = temporaryFolder()

/** Of those that needed padding or scaling, or zeros. */
const uneven = ['ranks', 'alphas', 'rslora', 'regex', 'layer', 'transformed', 'excluded', 'mlx']

describe('an adapter of peft with', () => {
  test.each(Object.entries(logprobs))('%s', async (name, expected) => {
    const directory = path.join(fixtures, 'adapters', name)
    const adapter = adapterForModel(readAdapter(directory), folder.config, directory)
    expect(adapter.warnings !== undefined).toBe(uneven.includes(name))
    using policy = await createOrtPolicy({
      source: await asFloat32Source(folder, cache),
      device: oneThread,
      lora: adapter.config,
      loraSeed: 1,
      adapter: adapter.tensors,
      rolloutPrecision: 'f32',
      activations: 'recompute',
      maxRows: 1,
    })
    const sequence = { ids: Int32Array.from(ids), actionMask: new Uint8Array(ids.length - 1).fill(1) }
    const [heads] = await policy.score([sequence], { role: 'actor', temperature: 1 })
    expected.forEach((value, at) => expect(Math.abs(value - heads!.logprobs[at]!)).toBeLessThan(1e-5))
  })
})
