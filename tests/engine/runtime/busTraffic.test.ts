/** What is calculated to cross the bus is what sessions are fed and asked for. */
import { afterEach, expect, test, vi } from 'vitest'
import { busTraffic, type TrafficKind } from '#engine/models/busTraffic.ts'
import { segmentsOf } from '#engine/models/segmentPrograms.ts'
import { usedLength } from '#engine/prefixes.ts'
import { Session } from '#engine/runtime/session.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { openTiny, randomCoefficients, randomSequence, tinyLora, tinySource } from './tinyModel.ts'

const folder = temporaryFolder()
afterEach(() => vi.restoreAllMocks())

const sequences = [1, 2, 3, 4].map((seed) => randomSequence(258, 65, seed, 1))
const coefficients = randomCoefficients(sequences, 5, false)

test.each([1, 2, 4])('to a device without tensors of its own, %i layers a program', async (segmentLayers) => {
  const source = await tinySource(folder, { layers: 4 })
  using policy = await openTiny(source, { programs: { form: 'resident', segmentLayers } })
  const accumulate = () =>
    policy.accumulate(sequences, { temperature: 1, entropyGradient: false }, () => coefficients)
  await accumulate()
  const crossed = { up: 0, down: 0 }
  const run = vi.spyOn(Session.prototype, 'runTensors')
  await accumulate()
  const bytes = (tensors: object) =>
    Object.values(tensors as Record<string, { data: Float32Array }>).reduce(
      (sum, { data }) => sum + data.byteLength,
      0,
    )
  for (const [index, [feeds]] of run.mock.calls.entries()) {
    crossed.up += bytes(feeds)
    crossed.down += bytes((await run.mock.results[index]!.value) as object)
  }
  const [length, segments] = [usedLength(sequences[0]!), segmentsOf(4, segmentLayers)]
  const request = { config: source.config, lora: tinyLora, base: 'f32', kind: 'cuda' } as const
  const traffic = busTraffic(request, { tokens: 4 * length, length, segments })
  const total = (direction: 'up' | 'down') =>
    Object.values(traffic.microBatch).reduce((sum, part) => sum + part[direction], 0)
  expect(run.mock.calls).toHaveLength(2 * segments.length)
  expect(crossed.down).toBe(total('down'))
  // The number of the program, and tables of what sequences have in common, which nothing is here.
  expect(Math.abs(crossed.up / total('up') - 1)).toBeLessThan(0.01)
})

test('to a device that holds tensors, nothing of the adapter, and masks once', async () => {
  const { config } = await tinySource(folder, { layers: 4 })
  const request = { config, lora: tinyLora, base: 'f32' } as const
  const cut = { tokens: 1024, length: 512, segments: segmentsOf(4, 2) }
  const [held, handed] = (['webgpu', 'cuda'] as const).map((kind) => busTraffic({ ...request, kind }, cut))
  for (const what of ['adapter', 'gradient', 'states'] as const satisfies TrafficKind[])
    expect(held!.microBatch[what]).toEqual({ up: 0, down: 0 })
  expect(held!.microBatch.heads).toEqual(handed!.microBatch.heads)
  expect(held!.microBatch.batch.up).toBeLessThan(handed!.microBatch.batch.up / 2)
  expect(held!.update.up + held!.update.down).toBeLessThan(1000)
})
