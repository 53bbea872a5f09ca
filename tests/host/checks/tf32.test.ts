/** A device that reads the factors of f32 products in TF32 passes the self-test of a run that chose it, and no other. */
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { onlyOnCpu } from '#engine/models/programSupport.ts'
import { configOfShape } from '#host/models/randomModel.ts'
import { runSelftest, type SelftestRequest } from '#host/checks/selftest.ts'
import type { SelftestFinding } from '#host/devices/deviceRecords.ts'
import { modelShapes, type ModelShapeName } from '#host/models/modelShapes.ts'
import { isLong, isWhole, wholeTitle } from '../../sweeps.ts'
import { factors } from './tensorCores.ts'

vi.mock('#engine/graph/onnxMessages.ts', async (original) => {
  const { roundingFactors } = await import('./tensorCores.ts')
  return roundingFactors(original)
})

/** Families that devices compute, as those of the CPU alone are never read in TF32; in a short run the one of a quick self-test. */
const families = (Object.keys(modelShapes) as ModelShapeName[]).filter(
  (name) =>
    name.startsWith('tiny-') &&
    onlyOnCpu(configOfShape(modelShapes[name])) === null &&
    (isLong || name === 'tiny-qwen3'),
)

/** `full`: of every family, where architectures are asked for. */
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
  let rounded: readonly SelftestFinding[]
  const familyOf = ({ name }: SelftestFinding) => name.slice(0, name.indexOf('/'))
  const of = (findings: readonly SelftestFinding[], family: string) =>
    findings.filter((finding) => familyOf(finding) === family)

  beforeAll(async () => {
    rounded = await found(11, true, ['architectures'], isLong)
  })

  test.each(families)('%s passes by the limits of TF32', (family) => {
    expect(of(rounded, family).length).toBeGreaterThan(4)
    expect(failed(of(rounded, family))).toEqual([])
  })

  // Of one family, or of all in the long run: how far 11 bits are from f32 is no matter of the family.
  test(`most checks fail by the limits of f32, of ${isLong ? 'every' : 'a'} family`, async () => {
    const exact = await found(11, false, ['architectures'], isLong)
    const tried = new Set(exact.map(familyOf).filter((family) => families.some((name) => name === family)))
    expect(tried.size).toBe(isLong ? families.length : 1)
    for (const family of tried) {
      expect(failed(of(exact, family)).length).toBeGreaterThan(of(exact, family).length / 2)
      expect(of(rounded, family)).toHaveLength(of(exact, family).length)
    }
  })
})

const title = 'operators that multiply in f32 fail, and pass by the limits of TF32'
test.runIf(isWhole)(wholeTitle(title), async () => {
  const names = failed(await found(11, false, ['operators']))
  expect(names.filter((name) => name.includes('Head')).length).toBeGreaterThanOrEqual(4)
  expect(failed(await found(11, true, ['operators']))).toEqual([])
})

const products = 'every product of large matrices tells f32, TF32 and 8 bits apart'
test.runIf(isWhole)(wholeTitle(products), async () => {
  const exact = await found(24, false, ['products'])
  const names = exact.map(({ name }) => name)
  expect(names).toHaveLength(3)
  expect(failed(exact)).toEqual([])
  expect(failed(await found(11, false, ['products']))).toEqual(names)
  expect(failed(await found(11, true, ['products']))).toEqual([])
  expect(failed(await found(8, true, ['products']))).toEqual(names)
})
