import { expect, test } from 'vitest'
import { LoadMeter } from '#host/services/machine.ts'
import { temporaryFolder } from '../artifacts/temporaryFolder.ts'

const host = {
  dataDirectory: temporaryFolder(),
  supervisor: { list: () => [] },
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
