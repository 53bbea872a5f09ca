/** Checks of devices run in processes of their own: on the real CPU, and with a driver that crashes or hangs. */
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import type { DeviceCheck, DeviceKind } from '#shared/device.ts'
import { checkDevice, type CheckNews } from '#host/jobs/deviceCheck.ts'
import { readCheck } from '#host/devices/deviceRecords.ts'
import { createAsk, jobStarter, type StartJob } from '#host/processes/job.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const cacheDirectory = temporaryFolder()
const unsteady = jobStarter(fileURLToPath(new URL('unsteadyDevice.ts', import.meta.url)))

interface Checking {
  readonly start?: StartJob
  readonly silentMs?: number
  readonly cancelAfter?: number
}

async function check(
  kind: DeviceKind,
  { start = unsteady, silentMs = 20_000, cancelAfter = Infinity }: Checking = {},
): Promise<{ readonly news: readonly CheckNews[]; readonly result: DeviceCheck | null }> {
  const cancel = new AbortController()
  const place = { kind, deviceId: 0 }
  const checking = checkDevice({
    ask: createAsk(start),
    place,
    cacheDirectory,
    silentMs,
    signal: cancel.signal,
  })
  const news: CheckNews[] = []
  for (;;) {
    const next = await checking.next()
    if (next.done === true) return { news, result: next.value }
    news.push(next.value)
    if (news.length >= cancelAfter) cancel.abort()
  }
}

afterEach(() => vi.unstubAllEnvs())

test('the CPU passes, is not compared with itself, and the answer is kept', async () => {
  const { news, result } = await check('cpu', { start: jobStarter(), silentMs: 60_000 })
  expect(result).toMatchObject({ checks: news.length, failures: [], problem: null, speeds: [] })
  expect(news.length).toBeGreaterThan(50)
  expect(readCheck({ kind: 'cpu', deviceId: 0 }, cacheDirectory)).toEqual(result)
})

test('a device that cannot be had is refused, and nothing is kept', async () => {
  const missing = process.platform === 'win32' ? 'coreml' : 'dml'
  await expect(check(missing, { start: jobStarter() })).rejects.toMatchObject({
    code: 'device/unavailable',
  })
  expect(readCheck({ kind: missing, deviceId: 0 }, cacheDirectory)).toBeNull()
})

test('a sound device has its speed with it', async () => {
  const { result } = await check('cuda')
  expect(result).toMatchObject({ problem: null, speeds: [{ parameters: 2e6, ratio: 3 }] })
})

test('a driver that crashes ends its process alone, and that is what is kept', async () => {
  vi.stubEnv('TURNWISE_DEVICE', 'crash in test')
  const { result } = await check('webgpu')
  expect(result).toMatchObject({
    checks: 1,
    failures: [],
    speeds: [],
    problem: expect.stringContaining('SIGSEGV') as string,
  })
  vi.stubEnv('TURNWISE_DEVICE', 'crash in speed')
  expect((await check('webgpu')).result).toMatchObject({
    failures: [],
    speeds: [],
    problem: expect.stringContaining('SIGSEGV') as string,
  })
})

test('a driver that hangs is ended: in the test that is a problem, in the measurement it is too slow', async () => {
  vi.stubEnv('TURNWISE_DEVICE', 'hang in test')
  expect((await check('webgpu', { silentMs: 3000 })).result).toMatchObject({
    checks: 1,
    speeds: [],
    problem: 'It did not answer for 3 s and was stopped.',
  })
  vi.stubEnv('TURNWISE_DEVICE', 'hang in speed')
  expect((await check('webgpu', { silentMs: 3000 })).result).toMatchObject({
    checks: 1,
    problem: null,
    speeds: [{ parameters: 2e6, ratio: null }],
  })
})

test('what is cancelled leaves what was known as it was', async () => {
  vi.stubEnv('TURNWISE_DEVICE', '')
  const { result: known } = await check('coreml')
  await setTimeout(5)
  vi.stubEnv('TURNWISE_DEVICE', 'hang in test')
  expect(await check('coreml', { cancelAfter: 1 })).toMatchObject({ news: [{}], result: null })
  vi.stubEnv('TURNWISE_DEVICE', 'hang in speed')
  expect((await check('coreml', { cancelAfter: 3 })).result).toBeNull()
  expect(readCheck({ kind: 'coreml', deviceId: 0 }, cacheDirectory)?.speeds).toEqual(known?.speeds)
})
