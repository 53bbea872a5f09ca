import { describe, expect, test } from 'vitest'
import { apply, input } from '#engine/graph/value.ts'
import { add, exp, mul } from '#engine/ops/arithmetic.ts'
import { defineOp } from '#engine/ops/define.ts'
import { Session, floats, free, int64s } from '#engine/runtime/session.ts'
import { AppError } from '#shared/errors.ts'
import { oneThread } from './tinyModel.ts'

const x = input('x', 'float32', ['N'])
const create = (program: Parameters<typeof Session.create>[0]['program']) =>
  Session.create({ name: 'test', program, device: oneThread, purpose: 'learn' })

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
