import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { apply, input, weight } from '#engine/graph/value.ts'
import { add, exp, mul } from '#engine/ops/arithmetic.ts'
import { defineOp } from '#engine/ops/define.ts'
import { gather } from '#engine/ops/gather.ts'
import { matmul } from '#engine/ops/matmul.ts'
import { memoryUse } from '#engine/runtime/memory.ts'
import { Session, floats, free, int64s } from '#engine/runtime/session.ts'
import { AppError } from '#shared/errors.ts'
import { temporaryFolder } from '../../host/files/temporaryFolder.ts'
import { oneThread } from './tinyModel.ts'

const x = input('x', 'float32', ['N'])
const create = (
  program: Parameters<typeof Session.create>[0]['program'],
  purpose: 'learn' | 'generate' | 'weights' = 'learn',
) => Session.create({ name: 'test', program, device: oneThread, purpose })

test('what is freed is empty, also twice; shared memory is left alone', () => {
  const [own, shared] = [new Float32Array(4), new Float32Array(new SharedArrayBuffer(16))]
  free(own, shared)
  free(own)
  expect([own.length, shared.length]).toEqual([0, 4])
})

describe('a session', () => {
  test('computes what is wanted and ignores feeds it does not read', async () => {
    using session = await create({ y: exp(x), z: add(x, x) })
    const feeds = { x: floats(Float32Array.of(0, 1), [2]), unread: floats(Float32Array.of(9), [1]) }
    expect(Object.keys(await session.run(feeds))).toEqual(['y', 'z'])
    const { z, ...others } = await session.run(feeds, ['z'])
    expect([...z!]).toEqual([0, 2])
    expect(others).toEqual({})
  })

  test('a missing feed is an error that names session and input', async () => {
    using session = await create({ y: exp(x) })
    await expect(session.run({})).rejects.toThrow('test needs the input x.')
  })

  test('a failure in the runtime tells name and shapes', async () => {
    using session = await create({ y: mul(x, input('other', 'float32', ['N'])) })
    const run = session.run({ x: floats(new Float32Array(3), [3]), other: floats(new Float32Array(2), [2]) })
    await expect(run).rejects.toThrow(/^ONNX Runtime failed in test \(x \[3\], other \[2\]\): /)
    await expect(run).rejects.toMatchObject({ code: 'runtime/failed' })
  })

  test('a graph that the runtime refuses is an AppError, not a crash', async () => {
    const op = defineOp('NoSuchOperator', 'For this test.')
    const wrong = create({ y: apply(op, [x], {}, [x])[0]! })
    await expect(wrong).rejects.toBeInstanceOf(AppError)
    await expect(wrong).rejects.toThrow(/^ONNX Runtime could not prepare test: /)
  })

  test('integers below 2³¹ keep value and sign', async () => {
    const { data } = int64s(Int32Array.of(0, 1, 2 ** 31 - 1), [3])
    expect([...(data as BigInt64Array)]).toEqual([0n, 1n, 2n ** 31n - 1n])
  })
})

describe('memory', () => {
  const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!

  /** Median time of a run that picks one element of an input of `length` numbers. */
  async function pickTime(session: Session, length: number): Promise<number> {
    const feeds = { table: floats(new Float32Array(length), [length]), at: int64s(Int32Array.of(0), [1]) }
    const times: number[] = []
    for (let round = 0; round < 15; round++) {
      const startedAt = performance.now()
      await session.run(feeds)
      times.push(performance.now() - startedAt)
    }
    return median(times)
  }

  // A runtime that copies its inputs takes about a hundred times as long for the large one (64 MB at 2 to 10 GB/s).
  test('inputs are passed without a copy: a large one takes no longer than a small one', async () => {
    using session = await create({ y: gather(input('table', 'float32', ['N']), input('at', 'int64', [1])) })
    const copy = new Float32Array(16e6)
    const startedAt = performance.now()
    copy.slice()
    const copyTime = performance.now() - startedAt
    await pickTime(session, 1)
    const [small, large] = [await pickTime(session, 1), await pickTime(session, 16e6)]
    expect(large - small).toBeLessThan(copyTime / 4)
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
})
