import { describe, expect, test } from 'vitest'
import { gradients } from '#engine/graph/gradient.ts'
import { apply, input, outputOf } from '#engine/graph/value.ts'
import { gradientCases } from '#engine/ops/gradientCases.ts'
import { composites, ops } from '#engine/ops/registry.ts'
import { gradientError, gradientLimits } from '#engine/runtime/gradientCheck.ts'

const device = { kind: 'cpu', threads: 1, deviceId: 0 } as const
const covered = new Set(gradientCases.map(({ op }) => op))
const differentiable = ops.filter(({ vjp }) => typeof vjp !== 'string').map(({ name }) => name)

describe('gradient rules', () => {
  test('every differentiable op has a case', () => {
    expect([...differentiable, ...composites].filter((name) => !covered.has(name))).toEqual([])
  })

  test('every case is of an op in the registry', () => {
    expect([...covered].filter((name) => ![...differentiable, ...composites].includes(name))).toEqual([])
  })

  test.each(gradientCases)('$name agrees with central differences ($dtype)', async (gradientCase) => {
    expect(await gradientError(gradientCase, 7, device)).toBeLessThan(gradientLimits[gradientCase.dtype])
  })
})
