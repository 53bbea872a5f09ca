import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readModelConfig } from '#engine/models/registry.ts'

interface ReferenceCase {
  readonly name: string
  readonly config: Record<string, unknown>
  readonly inverseFrequencies: readonly number[]
  readonly attentionFactor: number
}

const reference = JSON.parse(readFileSync(new URL('ropeReference.json', import.meta.url), 'utf8')) as {
  cases: ReferenceCase[]
}

describe('rotary frequencies', () => {
  test.each(reference.cases)(
    '$name agrees with transformers',
    ({ config, inverseFrequencies, attentionFactor }) => {
      const rope = readModelConfig(config, 'config.json').ropes[0]!
      expect(rope.inverseFrequencies).toHaveLength(inverseFrequencies.length)
      // Two units in the last place of f32: frameworks differ in how they round a power.
      const worst = Math.max(
        ...inverseFrequencies.map((expected, pair) =>
          Math.abs((rope.inverseFrequencies[pair] ?? NaN) / expected - 1),
        ),
      )
      expect(worst).toBeLessThan(2.4e-7)
      expect(rope.attentionFactor).toBeCloseTo(attentionFactor, 12)
    },
  )

  const base = reference.cases[0]?.config ?? {}

  test.each(['mrope', 'yarn2', 'constructor', '__proto__'])('type %s is refused by name', (type) => {
    const config = { ...base, rope_scaling: { rope_type: type, factor: 2 } }
    expect(() => readModelConfig(config, 'config.json')).toThrow(`config.json asks for rope type “${type}”`)
  })

  test.each([
    ['factor', { rope_type: 'linear' }],
    ['factor', { rope_type: 'linear', factor: 0 }],
    ['factor', { rope_type: 'yarn', factor: '4' }],
    ['low_freq_factor', { rope_type: 'llama3', factor: 8, high_freq_factor: 4 }],
    ['high_freq_factor', { rope_type: 'llama3', factor: 8, low_freq_factor: 4, high_freq_factor: 4 }],
    ['rope_theta', { rope_type: 'default', rope_theta: -1 }],
    ['rope_theta', { rope_type: 'default', rope_theta: Infinity }],
    ['truncate', { rope_type: 'yarn', factor: 4, truncate: 1 }],
  ])('a wrong %s names file and field', (key, scaling) => {
    expect(() => readModelConfig({ ...base, rope_scaling: scaling }, 'config.json')).toThrow(
      new RegExp(`“rope_scaling\\.${key}” in config\\.json must be`),
    )
  })

  test('heads that are rotated in part are refused', () => {
    expect(() => readModelConfig({ ...base, partial_rotary_factor: 0.5 }, 'config.json')).toThrow(
      'partly rotated heads',
    )
  })
})
