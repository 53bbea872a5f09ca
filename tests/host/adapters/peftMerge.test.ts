import { describe, expect, test } from 'vitest'
import { linearNames, type LoraConfig } from '#engine/models/config.ts'
import type { NamedTensor } from '#engine/models/source.ts'
import {
  mergeLora,
  mergePeftFields,
  padAdapter,
  padMatrix,
  samePeftFields,
} from '#host/adapters/peftMerge.ts'

const lora = (change: Partial<LoraConfig> = {}): LoraConfig => ({
  rank: 4,
  alpha: 8,
  rsLora: false,
  targets: ['q_proj'],
  ...change,
})

describe('configs', () => {
  test('are the same whatever the order, and however they are used', () => {
    const config = {
      r: 4,
      target_modules: ['q_proj', 'v_proj'],
      inference_mode: true,
      rank_pattern: { a: 1, b: 2 },
    }
    const other = {
      target_modules: ['v_proj', 'q_proj'],
      r: 4,
      rank_pattern: { b: 2, a: 1 },
      inference_mode: false,
    }
    expect(samePeftFields(config, other)).toBe(true)
    expect(samePeftFields(config, { ...other, bias: null })).toBe(true)
    expect(samePeftFields(config, { ...other, r: 5 })).toBe(false)
    expect(samePeftFields(config, { ...other, target_modules: ['q_proj'] })).toBe(false)
    expect(samePeftFields(config, { ...other, bias: 'none' })).toBe(false)
  })

  test('merge to the larger rank and both targets; all else is the current one', () => {
    const { merged, changed } = mergePeftFields(
      { r: 8, target_modules: 'all-linear', modules_to_save: null, lora_dropout: 0 },
      { r: 16, target_modules: ['q_proj'], modules_to_save: ['summary'], lora_dropout: 0.1 },
    )
    expect(merged).toEqual({
      r: 16,
      target_modules: ['all-linear', 'q_proj'],
      modules_to_save: null,
      lora_dropout: 0,
    })
    expect(changed).toEqual(['r', 'target_modules', 'modules_to_save', 'lora_dropout'])
  })

  test('of a run and its adapter, with what that does to the scale', () => {
    const { lora: merged, warnings } = mergeLora(
      lora({ rank: 16, alpha: 16, targets: ['v_proj', 'k_proj'] }),
      lora({ rank: 4, alpha: 16 }),
    )
    expect(merged).toEqual(lora({ rank: 16, alpha: 16, targets: ['q_proj', 'k_proj', 'v_proj'] }))
    expect(warnings).toEqual([
      'The initial adapter continues under a merged config: r 16, target_modules ["q_proj","k_proj","v_proj"].',
      'With alpha 16 and rank 16 the initial adapter acts 0.25 times as strongly as before; choose adapter.alpha so that the scale stays 4 to avoid that.',
    ])
  })

  test('texts of targets count as lists of one, and lists of modules to save unite', () => {
    const { merged, changed } = mergePeftFields(
      { target_modules: 'q_proj', modules_to_save: ['score'], use_rslora: false },
      { target_modules: 'q_proj', modules_to_save: ['summary'], use_rslora: true },
    )
    expect(merged).toEqual({
      target_modules: ['q_proj'],
      modules_to_save: ['score', 'summary'],
      use_rslora: false,
    })
    expect(changed).toEqual(['modules_to_save', 'use_rslora'])
    expect(mergePeftFields(null, { r: 4 })).toEqual({ merged: { r: 4 }, changed: [] })
  })

  test('that do not differ merge without a word', () => {
    const config = lora({ targets: linearNames })
    expect(mergeLora(config, { ...config, targets: linearNames.toReversed() })).toEqual({
      lora: config,
      warnings: [],
    })
  })
})

const matrix = (
  name: string,
  shape: readonly [number, number],
  value: (index: number) => number,
): NamedTensor => ({
  name,
  shape,
  data: Float32Array.from({ length: shape[0] * shape[1] }, (_, index) => value(index)),
})

describe('matrices', () => {
  test('a smaller one lies in the corner of the fresh one', () => {
    const padded = padMatrix(
      matrix('a', [3, 4], () => 9),
      matrix('a', [2, 2], (index) => index),
    )
    expect(padded.shape).toEqual([3, 4])
    expect([...padded.data]).toEqual([0, 1, 9, 9, 2, 3, 9, 9, 9, 9, 9, 9])
  })

  test('a larger one is passed through', () => {
    const larger = matrix('a', [2, 5], (index) => index)
    expect(
      padMatrix(
        matrix('a', [3, 4], () => 9),
        larger,
      ),
    ).toBe(larger)
  })

  test('the product of the two factors stays what it was', () => {
    const [rank, wide] = [2, 5]
    const given = [matrix('m.lora_A', [rank, 3], (i) => i - 2), matrix('m.lora_B', [4, rank], (i) => i / 3)]
    const fresh = [
      matrix('m.lora_A', [wide, 3], (i) => Math.sin(i)),
      matrix('m.lora_B', [4, wide], () => 0),
      matrix('n.lora_A', [wide, 3], (i) => Math.cos(i)),
    ]
    const padded = padAdapter(fresh, given)
    expect(padded[2]).toBe(fresh[2])
    const product = (b: NamedTensor, a: NamedTensor, inner: number) =>
      Array.from({ length: 12 }, (_, at) => {
        const [row, column] = [Math.floor(at / 3), at % 3]
        return Array.from(
          { length: inner },
          (_, k) => b.data[row * inner + k]! * a.data[k * 3 + column]!,
        ).reduce((x, y) => x + y)
      })
    expect(product(padded[1]!, padded[0]!, wide)).toEqual(product(given[1]!, given[0]!, rank))
  })
})
