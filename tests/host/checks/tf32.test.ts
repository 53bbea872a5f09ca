/** A device that reads the factors of f32 products in TF32 passes the self-test of a run that chose it, and no other. */
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { runSelftest, type SelftestRequest } from '#host/checks/selftest.ts'
import type { SelftestFinding } from '#host/devices/deviceRecords.ts'
import { modelShapes, type ModelShapeName } from '#host/models/modelShapes.ts'
import { isLong } from '../../sweeps.ts'
import { factors } from './tensorCores.ts'

vi.mock('#engine/graph/onnxMessages.ts', async (original) => {
  const { roundingFactors } = await import('./tensorCores.ts')
  return roundingFactors(original)
})

const families = (Object.keys(modelShapes) as ModelShapeName[]).filter((name) => name.startsWith('tiny-'))

async function found(
  bits: number,
  tf32: boolean,
  parts: NonNullable<SelftestRequest['parts']>,
  full = true,
): Promise<SelftestFinding[]> {
  factors.bits = bits
  const device = { kind: 'cpu', threads: 1, deviceId: 0, tf32 } as const
  const findings: SelftestFinding[] = []
  for await (const finding of runSelftest({ device, full, directions: 1, parts })) findings.push(finding)
  return findings
}

const failed = (findings: readonly SelftestFinding[]): string[] =>
  findings.filter(({ passed }) => !passed).map(({ name }) => name)

describe('factors of 11 bits', () => {
  let exact: readonly SelftestFinding[]
  let rounded: readonly SelftestFinding[]

  beforeAll(async () => {
    // Without being told, one family in a short run: there is one limit for all.
    exact = await found(11, false, ['architectures'], isLong)
    rounded = await found(11, true, ['architectures'])
  })

  const of = (findings: readonly SelftestFinding[], family: string) =>
    findings.filter(({ name }) => name.startsWith(`${family}/`))

  test.each(isLong ? families : [families.find((family) => family === 'tiny-qwen3')!])(
    '%s fails by the limits of f32',
    (family) => {
      expect(failed(of(exact, family)).length).toBeGreaterThan(of(exact, family).length / 2)
      expect(of(rounded, family)).toHaveLength(of(exact, family).length)
    },
  )

  test.each(families)('%s passes by the limits of TF32', (family) => {
    expect(of(rounded, family).length).toBeGreaterThan(0)
    expect(failed(of(rounded, family))).toEqual([])
  })
})

test('operators that multiply in f32 fail, and pass by the limits of TF32', async () => {
  const names = failed(await found(11, false, ['operators']))
  expect(names.filter((name) => name.includes('Head')).length).toBeGreaterThanOrEqual(4)
  expect(failed(await found(11, true, ['operators']))).toEqual([])
})

test('every product of large matrices tells f32, TF32 and 8 bits apart', async () => {
  const whole = await found(24, false, ['products'])
  const names = whole.map(({ name }) => name)
  expect(names).toHaveLength(3)
  expect(failed(whole)).toEqual([])
  expect(failed(await found(11, false, ['products']))).toEqual(names)
  expect(failed(await found(11, true, ['products']))).toEqual([])
  expect(failed(await found(8, true, ['products']))).toEqual(names)
})
