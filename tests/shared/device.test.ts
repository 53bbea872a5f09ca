/** What is said of devices beside what a check finds. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { deviceKinds, deviceRemarks, offeredDevices, trials } from '#shared/device.ts'

const root = path.resolve(import.meta.dirname, '../..')

test('every kind but the CPU is experimental, in what is said and what is offered', () => {
  for (const kind of deviceKinds) {
    const trial = trials[kind]
    expect(trial === null).toBe(kind === 'cpu')
    expect(trial ?? 'experimental').toContain('experimental')
    expect(offeredDevices[kind]).toContain(trial ?? 'CPU')
    expect(deviceRemarks(kind).join(' ').toLowerCase()).toContain(trial?.toLowerCase() ?? '')
  }
})

test.each(['README.md', 'CHANGELOG.md', 'docs/reference.md', 'docs/guide/gpu.md'])(
  '%s says how far they were tried',
  (name) => {
    const text = readFileSync(path.join(root, name), 'utf8')
    for (const trial of Object.values(trials)) expect(text).toContain(trial ?? '')
  },
)
