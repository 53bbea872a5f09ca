import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { DeviceFile } from '#host/devices/deviceFile.ts'
import { createWorkplace } from './turnwise.ts'

test('a report says of a device why it cannot be used; a file that is there stays', async () => {
  using place = createWorkplace()
  const file = place.path('report.json')
  const done = await place.run('device', 'report', '--device', 'coreml', '--out', file)
  expect([done.status, done.stderr]).toEqual([0, ''])
  expect(done.stdout).toContain('Not available.')
  const written = readFileSync(file, 'utf8')
  const { devices } = JSON.parse(written) as DeviceFile
  expect(devices).toMatchObject([{ kind: 'coreml', available: false, check: null }])
  expect(written).not.toContain(place.path(''))
  const again = await place.run('device', 'report', '--device', 'coreml', '--out', file)
  expect(again.status).toBe(1)
  expect(again.stderr).toContain('already exists')
  expect(readFileSync(file, 'utf8')).toBe(written)
  const unknown = await place.run('device', 'report', '--device', 'tpu', '--out', place.path('no.json'))
  expect([unknown.status, existsSync(place.path('no.json'))]).toEqual([2, false])
})
