import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Adapter, adapterForModel, peftTensorName, readAdapter } from '#host/adapters/peft.ts'
import { bytesOf, writeSafetensors } from '#host/files/safetensors.ts'
import { byName, editConfig, errorOf, lora, model, tensorsFor, write } from './exampleAdapter.ts'

describe('modules with ranks and alphas of their own', () => {
  /** q of rank 2 beside v of rank 4. */
  async function uneven(change: Record<string, unknown>): Promise<string> {
    const [q, v] = [{ ...lora(['q_proj']), rank: 2 }, lora(['v_proj'])].map(tensorsFor)
    const path = await write(lora(), () => [...(q ?? []), ...(v ?? [])])
    editConfig(path, change)
    return path
  }
  const matrix = (adapter: Adapter, name: string) => byName(adapter).get(`model.layers.1.self_attn.${name}`)!

  test('become one rank and one scale, computing the same', async () => {
    const path = await uneven({
      rank_pattern: { q_proj: 2 },
      alpha_pattern: { '^model.layers.1.self_attn.v_proj': 24 },
    })
    const adapter = readAdapter(path)
    expect(adapter.config).toEqual(lora())
    expect(adapter.warnings).toEqual([expect.stringContaining('different ranks (2 to 4)')])
    const own = new Map(
      [...tensorsFor({ ...lora(['q_proj']), rank: 2 }), ...tensorsFor(lora(['v_proj']))].map((each) => [
        each.name,
        each.data,
      ]),
    )
    const ownOf = (name: string) => own.get(`model.layers.1.self_attn.${name}`)!
    // q: two rows of A above two of zeros; 8 / 2 is twice the scale 8 / 4, which B makes up for.
    const [a, b] = [matrix(adapter, 'q_proj.lora_A'), matrix(adapter, 'q_proj.lora_B')]
    expect([a.shape, b.shape]).toEqual([
      [4, 16],
      [16, 4],
    ])
    expect([...a.data]).toEqual([...ownOf('q_proj.lora_A'), ...new Float32Array(32)])
    expect([...b.data.subarray(0, 4)]).toEqual([
      2 * ownOf('q_proj.lora_B')[0]!,
      2 * ownOf('q_proj.lora_B')[1]!,
      0,
      0,
    ])
    // v: three times the alpha in layer 1 alone.
    expect(matrix(adapter, 'v_proj.lora_B').data[5]).toBeCloseTo(3 * ownOf('v_proj.lora_B')[5]!, 5)
    const v0 = byName(adapter).get('model.layers.0.self_attn.v_proj.lora_B')!
    expect(v0.data[5]).toBe(own.get('model.layers.0.self_attn.v_proj.lora_B')![5])
  })

  test('that are all alike are no exception', async () => {
    const path = await write({ ...lora(), rank: 4 })
    editConfig(path, {
      r: 16,
      lora_alpha: 64,
      rank_pattern: { q_proj: 4, v_proj: 4 },
      alpha_pattern: { 'self_attn.q_proj': 8, v_proj: 8 },
    })
    const adapter = readAdapter(path)
    expect(adapter.config).toEqual(lora())
    expect(adapter.warnings).toBeUndefined()
    expect(adapterForModel(adapter, model, 'a').tensors).toEqual(tensorsFor(lora()))
  })

  test('without a pattern every rank is the one stated', async () => {
    const path = await uneven({})
    expect(errorOf(() => readAdapter(path)).message).toContain('for rank 4 it must be [4, input]')
  })

  test('a matrix of each pair must fit the other', async () => {
    const path = await uneven({ rank_pattern: { q_proj: 2 } })
    const whole = readAdapter(path)
    const tensors = whole.tensors.map(({ name, shape, data }, at) => ({
      name: peftTensorName(name),
      dtype: 'F32' as const,
      shape: at === 0 ? [2, 16] : shape,
      pieces: () => [bytesOf(at === 0 ? data.subarray(0, 32) : data)],
    }))
    await writeSafetensors(join(path, 'adapter_model.safetensors'), tensors)
    expect(errorOf(() => readAdapter(path)).message).toContain('for rank 2 it must be [output, 2]')
  })

  test('ranks that would blow a small file up are refused', async () => {
    const [q, v] = [
      { ...lora(['q_proj']), rank: 1 },
      { ...lora(['v_proj']), rank: 1 },
    ].map(tensorsFor)
    const blown = (v ?? []).map((tensor) =>
      tensor.name.endsWith('lora_A')
        ? { ...tensor, shape: [4000, 0], data: new Float32Array(0) }
        : { ...tensor, shape: [0, 4000], data: new Float32Array(0) },
    )
    const path = await write({ ...lora(), rank: 1 }, () => [...(q ?? []), ...blown])
    editConfig(path, { rank_pattern: { v_proj: 4000 } })
    expect(errorOf(() => readAdapter(path)).message).toContain('ranks up to 4000, too different to be padded')
  })
})
