import { describe, expect, test } from 'vitest'
import type { GradientCase } from '#engine/ops/gradientCase.ts'
import { gradientCases } from '#engine/ops/gradientCases.ts'
import { mul } from '#engine/ops/arithmetic.ts'
import { defineOp, onlyCotangent } from '#engine/ops/define.ts'
import { composites, ops } from './everyOp.ts'
import { apply } from '#engine/graph/value.ts'
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

  test('names of ops and of cases are unique', () => {
    const names = [...ops.map(({ name }) => name), ...composites]
    expect(new Set(names).size).toBe(names.length)
    expect(new Set(gradientCases.map(({ name }) => name)).size).toBe(gradientCases.length)
  })

  test.each(gradientCases)('$name agrees with central differences ($dtype)', async (gradientCase) => {
    expect(await gradientError(gradientCase, 7, device)).toBeLessThan(
      gradientLimits(device)[gradientCase.dtype],
    )
  })
})

describe('the check itself', () => {
  // Sigmoid's rule without its factor 1 − y.
  const wrong = defineOp(
    'Wrong',
    ({ node, cotangents }) => [mul(onlyCotangent(cotangents), node.outputs[0]!)],
    {
      type: 'Sigmoid',
    },
  )
  const caseOf = (dtype: GradientCase['dtype']): GradientCase => ({
    op: 'Wrong',
    name: 'a wrong rule',
    dtype,
    inputs: [{ kind: 'real', shape: ['N', 3], from: -1, to: 1 }],
    build: (values) => [apply(wrong, values, {}, [values[0]!])[0]!],
  })

  test.each(['float64', 'float32'] as const)('a wrong rule is far beyond the limit (%s)', async (dtype) => {
    expect(await gradientError(caseOf(dtype), 7, device)).toBeGreaterThan(
      1000 * gradientLimits(device)[dtype],
    )
  })
})
