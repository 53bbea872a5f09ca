import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { answer, createWorkplace, linesOf } from './turnwise.ts'

afterEach(() => vi.unstubAllEnvs())

test('files that telemetry left are listed, and removed on demand, and no others', async () => {
  using place = createWorkplace()
  const reports = 'cache/Microsoft/DeveloperTools/.onnxruntime'
  vi.stubEnv('XDG_CACHE_HOME', place.path('cache'))
  vi.stubEnv('TMPDIR', place.path('tmp'))
  const left = [`${reports}/deviceid`, `${reports}/onnxruntime.db`, 'tmp/.ses', 'tmp/mat-debug-12.log']
  for (const name of [...left, 'tmp/mat-debug-x.log', 'tmp/other.log', 'precious']) place.write(name, 'x')
  mkdirSync(place.path('tmp/mat-debug-13.log'))
  symlinkSync(place.path('precious'), place.path('tmp/mat-debug-14.log'))
  const files = left.map((name) => place.path(name))

  const { stdout } = await answer('telemetry', '--json')
  expect(linesOf(stdout)).toEqual([{ files: expect.arrayContaining(files) as string[], removed: 0 }])
  expect(files.every((file) => existsSync(file))).toBe(true)

  expect((await answer('telemetry', '--remove')).stdout).toContain(`Removed ${place.path('tmp/.ses')}`)
  expect(files.some((file) => existsSync(file))).toBe(false)
  for (const name of ['tmp/mat-debug-x.log', 'tmp/mat-debug-13.log', 'tmp/mat-debug-14.log', 'precious'])
    expect(existsSync(place.path(name)), name).toBe(true)
  expect((await answer('telemetry')).stdout).toBe('There are no such files on this machine.\n')
})
