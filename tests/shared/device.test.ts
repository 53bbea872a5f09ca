/** What is said of devices beside what a check finds. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { deviceKinds, deviceRemarks, neverRun, offeredDevices } from '#shared/device.ts'

const root = path.resolve(import.meta.dirname, '../..')

test('every kind but the CPU is experimental, in what is said and what is offered', () => {
  for (const kind of deviceKinds) {
    const isExperimental = kind !== 'cpu'
    expect(offeredDevices[kind].includes(neverRun)).toBe(isExperimental)
    expect(deviceRemarks(kind).join(' ').toLowerCase().includes(neverRun)).toBe(isExperimental)
  }
})

test.each(['README.md', 'CHANGELOG.md', 'docs/reference.md', 'docs/guide/gpu.md'])('%s says so', (name) => {
  expect(readFileSync(path.join(root, name), 'utf8')).toContain(neverRun)
})
