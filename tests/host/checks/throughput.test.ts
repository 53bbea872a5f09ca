import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { defaultDevice } from '#engine/runtime/device.ts'
import { measureThroughput, type ThroughputNews } from '#host/checks/deviceSpeed.ts'
import { readThroughput, rememberThroughput } from '#host/devices/deviceRecords.ts'
import { fittingPrecisions } from '#host/devices/memoryFit.ts'
import { modelShapes } from '#host/models/modelShapes.ts'

const cache = mkdtempSync(path.join(tmpdir(), 'turnwise-throughput-'))
const cpu = { kind: 'cpu', deviceId: 0 } as const

afterAll(() => rmSync(cache, { recursive: true, force: true }))

test('generating and learning are measured with the base in every form, and kept for this machine', async () => {
  const news: ThroughputNews[] = []
  const shape = { ...modelShapes['tiny-llama'], hiddenSize: 64, intermediateSize: 128 }
  for await (const item of measureThroughput(defaultDevice(), fittingPrecisions, shape)) news.push(item)
  expect(news.slice(0, -1)).toEqual(fittingPrecisions.map((on) => ({ on })))
  const last = news.at(-1)
  if (last === undefined || !('measured' in last)) throw new Error('Expected what was measured.')
  const { measured } = last
  expect(measured.rates.map(({ precision }) => precision)).toEqual(fittingPrecisions)
  for (const { generating, learning } of measured.rates) {
    expect(generating).toBeGreaterThan(0)
    expect(learning).toBeGreaterThan(0)
  }
  expect(readThroughput(cpu, cache)).toBeNull()
  rememberThroughput(cpu, cache, measured)
  expect(readThroughput(cpu, cache)).toMatchObject(measured)
})
