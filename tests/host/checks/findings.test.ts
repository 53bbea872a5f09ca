/** A self-test that goes on where one of its checks cannot. */
import { expect, test } from 'vitest'
import { gradientCases } from '#engine/ops/gradientCases.ts'
import { checkedIn } from '#engine/runtime/gradientCheck.ts'
import { finding, measuredFinding, orFailure } from '#host/checks/findings.ts'
import { readProof, rememberProof, type SelftestFinding } from '#host/devices/deviceRecords.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const words = { good: 'It is right.', bad: 'It is wrong.' }
const folder = temporaryFolder()

async function all(findings: AsyncGenerator<SelftestFinding>): Promise<SelftestFinding[]> {
  const found: SelftestFinding[] = []
  for await (const each of findings) found.push(each)
  return found
}

test('a check that ends in an error fails with its words, and is asked again', async () => {
  const missing = () => Promise.reject(new Error('Type 11 is not\nimplemented.'))
  const findings = [
    ...(await all(orFailure('operators/a', measuredFinding('operators/a', missing, 1e-4, words)))),
    ...(await all(
      orFailure(
        'operators/b',
        measuredFinding('operators/b', () => Promise.resolve(1e-6), 1e-4, words),
      ),
    )),
  ]
  expect(findings).toEqual([
    {
      name: 'operators/a',
      passed: false,
      measured: null,
      limit: 0,
      sentence: 'Type 11 is not implemented.',
      broke: true,
    },
    { name: 'operators/b', passed: true, measured: 1e-6, limit: 1e-4, sentence: 'It is right.' },
  ])
  const place = { kind: 'cuda', deviceId: 0 } as const
  rememberProof(place, folder, { findings, seconds: 1 })
  expect(readProof(place, folder)).toMatchObject({
    problem: 'Type 11 is not implemented.',
    failures: [{ name: 'operators/a', measured: null }],
  })
})

test('a number that is none fails as wrong', () => {
  expect(finding('a', NaN, 1, words)).toEqual({
    name: 'a',
    passed: false,
    measured: null,
    limit: 1,
    sentence: 'It is wrong.',
  })
})

test('a device is checked in the type that it computes in, the CPU in f64 where it can', () => {
  const kinds = (kind: 'cpu' | 'cuda' | 'webgpu') =>
    new Set(gradientCases.map((each) => checkedIn(each, { kind, threads: 1, deviceId: 0 })))
  expect([...kinds('cuda')]).toEqual(['float32'])
  expect([...kinds('webgpu')]).toEqual(['float32'])
  expect(kinds('cpu').size).toBe(2)
})
