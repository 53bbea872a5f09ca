import { setTimeout } from 'node:timers/promises'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { dataFolders } from '#host/dataDirectory.ts'
import { LoadMeter, storedFolders } from '#host/devices/machine.ts'
import { bytesOf } from '#host/workFolder/leftovers.ts'
import { temporaryFolder } from '../files/temporaryFolder.ts'

const host = {
  dataDirectory: temporaryFolder(),
  supervisor: { list: () => [] },
  store: { events: { last: () => null } },
  connections: { isWatching: false, count: 0, latest: [] },
} as unknown as ConstructorParameters<typeof LoadMeter>[0]

test('the first answer is not that the processor idles, and answers close together say the same', async () => {
  const seen = [0, 0, 1000, 1000, 1010]
  let reads = 0
  const meter = new LoadMeter(host, () => {
    const total = seen[Math.min(reads++, seen.length - 1)] ?? 0
    return { busy: 0.9 * total, total }
  })
  expect((await meter.read()).cpuShare).toBeCloseTo(0.9)
  expect((await meter.read()).cpuShare).toBeCloseTo(0.9)
  expect((await meter.read()).cpuShare).toBeCloseTo(0.9)
})

test('what takes space is all that the data directory takes, exports too', () => {
  const dataDirectory = temporaryFolder()
  const store = { file: path.join(dataDirectory, 'history.db') }
  const exports = path.join(dataDirectory, 'exports', 'demo-step-30-peft')
  for (const folder of [exports, ...Object.values(dataFolders(dataDirectory))]) {
    mkdirSync(folder, { recursive: true })
    writeFileSync(path.join(folder, 'file'), 'x'.repeat(1000))
  }
  writeFileSync(store.file, 'x'.repeat(500))
  const listed = storedFolders({ dataDirectory, store } as unknown as Parameters<typeof storedFolders>[0])
  expect(listed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)).toBe(bytesOf(dataDirectory))
  const clearable = listed
    .filter(({ isDisposable }) => isDisposable)
    .map(({ folder }) => path.basename(folder))
  expect(clearable).not.toContain('exports')
})

test.skipIf(process.platform !== 'linux')(
  'what each run takes is told apart, private and mapped',
  async () => {
    const list = () => [
      { runId: 'run_a', pid: process.pid },
      { runId: 'run_ended', pid: 2 ** 22 + 1 },
      { runId: 'run_starting', pid: null },
    ]
    const busy = { ...host, supervisor: { list } } as unknown as typeof host
    const { training } = (await new LoadMeter(busy).read()).memory
    expect(training.map(({ runId }) => runId)).toEqual(['run_a'])
    const { rss } = process.memoryUsage()
    const [own] = training
    expect(own?.privateBytes).toBeGreaterThan(1e7)
    expect(own?.mappedBytes).toBeGreaterThan(1e6)
    expect(Math.abs((own?.privateBytes ?? 0) + (own?.mappedBytes ?? 0) - rss) / rss).toBeLessThan(0.2)
  },
)

test.skipIf(process.platform !== 'linux')(
  'of a run its device is told, and its share of the processors once there is one to tell',
  async () => {
    const said = { type: 'device', step: 0, device: { kind: 'cpu', threads: 2, deviceId: 0 }, reason: '' }
    const last = (runId: string) => (runId === 'run_a' ? said : null)
    const list = () => [
      { runId: 'run_a', pid: process.pid },
      { runId: 'run_starting', pid: null },
    ]
    const busy = { ...host, supervisor: { list }, store: { events: { last } } } as unknown as typeof host
    const meter = new LoadMeter(busy)
    const starting = { runId: 'run_starting', device: null, cpuShare: null, card: null }
    expect((await meter.read()).runs).toEqual([
      { runId: 'run_a', device: 'cpu', cpuShare: null, card: null },
      starting,
    ])
    for (const until = performance.now() + 700; performance.now() < until;);
    const [own, other] = (await meter.read()).runs
    expect(own?.cpuShare).toBeGreaterThan(0)
    expect(own?.cpuShare).toBeLessThanOrEqual(1)
    expect(other).toEqual(starting)
    const busyShare = own?.cpuShare ?? 0
    await setTimeout(2500)
    expect((await meter.read()).runs[0]?.cpuShare).toBeLessThan(busyShare)
  },
)
