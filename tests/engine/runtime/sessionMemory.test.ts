import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { randomStream } from '#shared/random.ts'
import type { Completion } from '#engine/policy.ts'
import { input, weight } from '#engine/graph/value.ts'
import { gather } from '#engine/ops/gather.ts'
import { matmul } from '#engine/ops/matmul.ts'
import { kilobytes, memoryUse } from '#engine/runtime/memory.ts'
import { Session, floats, int64s } from '#engine/runtime/session.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { completionsOf, oneThread, openTiny, randomSequence, tinySource, unfiltered } from './tinyModel.ts'

const create = (
  program: Parameters<typeof Session.create>[0]['program'],
  purpose: 'learn' | 'weights' = 'learn',
) => Session.create({ name: 'test', program, device: oneThread, purpose })

/** Most that was resident at once while something ran, beyond what was before. */
async function peakOf(run: () => Promise<unknown>): Promise<number> {
  writeFileSync('/proc/self/clear_refs', '5') // the peak begins anew
  const before = memoryUse().residentBytes
  await run()
  return kilobytes(readFileSync('/proc/self/status', 'utf8'), 'VmHWM')! - before
}

test.skipIf(process.platform !== 'linux')('inputs are passed without a copy', async () => {
  using session = await create({ y: gather(input('table', 'float32', ['N']), input('at', 'int64', [1])) })
  const table = new Float32Array(16e6).fill(1)
  const feeds = { table: floats(table, [table.length]), at: int64s(Int32Array.of(0), [1]) }
  await session.run({ ...feeds, table: floats(table.subarray(0, 1), [1]) })
  expect(await peakOf(() => session.run(feeds))).toBeLessThan(table.byteLength / 4)
  const copies: Float32Array[] = []
  const copied = await peakOf(() => Promise.resolve(copies.push(table.slice())))
  expect(copied).toBeGreaterThan(table.byteLength / 2)
})

test.skipIf(process.platform !== 'linux').each(['learn', 'weights'] as const)(
  'weights are mapped, not copied (%s)',
  async (purpose) => {
    const folder = temporaryFolder()
    const [rows, width] = [16_384, 1_024]
    const sizeBytes = rows * width * 4
    writeFileSync(join(folder, 'w.bin'), new Uint8Array(sizeBytes))
    const table = weight('w', {
      file: join(folder, 'w.bin'),
      offset: 0,
      byteLength: sizeBytes,
      shape: [rows, width],
    })
    const tokens = input('tokens', 'float32', ['N', width])
    const before = memoryUse().anonymousBytes
    using session = await create({ y: matmul(tokens, table, { transB: true }) }, purpose)
    await session.run({ tokens: floats(new Float32Array(width), [1, width]) })
    const after = memoryUse()
    expect(after.anonymousBytes - before).toBeLessThan(sizeBytes / 4)
    expect(after.mappedBytes).toBeGreaterThan(sizeBytes)
  },
)

test.skipIf(process.platform !== 'linux')('two sessions over one file share its pages', async () => {
  const folder = temporaryFolder()
  const [rows, width] = [16_384, 1_024]
  const byteLength = rows * width * 4
  const file = join(folder, 'shared.bin')
  writeFileSync(file, new Uint8Array(byteLength))
  const table = weight('w', { file, offset: 0, byteLength, shape: [rows, width] })
  const program = { y: matmul(input('tokens', 'float32', ['N', width]), table, { transB: true }) }
  const feeds = { tokens: floats(new Float32Array(width), [1, width]) }
  using first = await create(program)
  await first.run(feeds)
  const one = memoryUse()
  using second = await create(program)
  await second.run(feeds)
  const two = memoryUse()
  // Both have all pages in sight, but there is one copy of them.
  expect((two.mappedBytes ?? 0) - (one.mappedBytes ?? 0)).toBeGreaterThan(0.9 * byteLength)
  expect((two.proportionalBytes ?? 0) - (one.proportionalBytes ?? 0)).toBeLessThan(0.2 * byteLength)
})

/** A model whose head is nearly all of it: 33.5 MB packed. */
const sizes = { layers: 1, hiddenSize: 512, heads: 8, headDim: 64, vocabSize: 16_384 }
const packedBytes = 4 * sizes.vocabSize * sizes.hiddenSize
const options = { role: 'actor', sampling: { ...unfiltered, maxNewTokens: 4 } } as const
const requests = [1, 2].map((seed) => ({
  promptIds: randomSequence(sizes.vocabSize, 6, seed).ids,
  streams: [randomStream(seed)],
}))
const scored = randomSequence(sizes.vocabSize, 8, 3)

test('generation gives much packed memory up while others learn', async () => {
  const source = await tinySource(temporaryFolder(), sizes)
  // Of the process's memory it would be chance how much of that had gone back to the system.
  const closed = vi.spyOn(Session.prototype, Symbol.dispose)
  const closedBy = async (keptBytes: number) => {
    using policy = await openTiny(source, { packsWeights: true, programs: { keptBytes } })
    const before = await completionsOf(policy, requests, options)
    closed.mockClear()
    await policy.score([scored], { role: 'actor', temperature: 1 })
    const names = closed.mock.contexts.map((session) => (session as Session).name)
    expect(await completionsOf(policy, requests, options)).toEqual(before)
    return names
  }
  expect(await closedBy(0)).toEqual(['generation'])
  expect(await closedBy(packedBytes * 2)).toEqual([])
  closed.mockRestore()
})

test('generation keeps what it reads while it is under way', async () => {
  const source = await tinySource(temporaryFolder(), sizes)
  using policy = await openTiny(source, { packsWeights: true, maxRows: 1, programs: { keptBytes: 0 } })
  const found: Completion[] = []
  for await (const completion of policy.generate(requests, options)) {
    found.push(completion)
    await policy.score([scored], { role: 'actor', temperature: 1 })
  }
  expect(found).toEqual(await completionsOf(policy, requests, options))
  expect(found).toHaveLength(2)
})
