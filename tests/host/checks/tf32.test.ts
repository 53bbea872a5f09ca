/** A device that reads the factors of f32 products in TF32 passes the self-test of a run that chose it, and no other. */
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { runSelftest, type SelftestRequest } from '#host/checks/selftest.ts'
import type { SelftestFinding } from '#host/devices/deviceRecords.ts'
import { modelShapes, type ModelShapeName } from '#host/models/modelShapes.ts'
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
): Promise<SelftestFinding[]> {
  factors.bits = bits
  const device = { kind: 'cpu', threads: 1, deviceId: 0, tf32 } as const
  const findings: SelftestFinding[] = []
  for await (const finding of runSelftest({ device, full: true, directions: 1, parts }))
    findings.push(finding)
  return findings
}

const failed = (findings: readonly SelftestFinding[]): string[] =>
  findings.filter(({ passed }) => !passed).map(({ name }) => name)

describe('factors of 11 bits', () => {
  let exact: readonly SelftestFinding[]
  let rounded: readonly SelftestFinding[]

  beforeAll(async () => {
    exact = await found(11, false, ['architectures'])
    rounded = await found(11, true, ['architectures'])
  })

  test.each(families)('%s fails by the limits of f32, and passes by those of TF32', (family) => {
    const of = (findings: readonly SelftestFinding[]) =>
      findings.filter(({ name }) => name.startsWith(`${family}/`))
    expect(failed(of(exact)).length).toBeGreaterThan(of(exact).length / 2)
    expect(of(rounded)).toHaveLength(of(exact).length)
    expect(failed(of(rounded))).toEqual([])
  })
})

test('operators that multiply in f32 fail, and pass by the limits of TF32', async () => {
  const names = failed(await found(11, false, ['operators']))
  expect(names.filter((name) => name.includes('Head')).length).toBeGreaterThanOrEqual(4)
  expect(failed(await found(11, true, ['operators']))).toEqual([])
})

test('every product of large matrices tells f32, TF32 and 8 bits apart', async () => {
  const names = (await found(24, false, ['products'])).map(({ name }) => name)
  expect(names).toHaveLength(3)
  expect(failed(await found(24, false, ['products']))).toEqual([])
  expect(failed(await found(11, false, ['products']))).toEqual(names)
  expect(failed(await found(11, true, ['products']))).toEqual([])
  expect(failed(await found(8, true, ['products']))).toEqual(names)
})
