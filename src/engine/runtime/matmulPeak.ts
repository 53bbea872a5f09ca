import type { Device } from '#shared/device.ts'
import { input } from '../graph/value.ts'
import { matmul } from '../ops/matmul.ts'
import { Session, floats } from './session.ts'

/** Sizes of a large decoder's feed-forward layer: where matrix products run at their best. */
const [ROWS, NARROW, WIDE, PAIRS] = [1024, 896, 4864, 2]

/**
 * What ONNX Runtime's f32 matrix product sustains here, in 10⁹ floating-point operations per second: the yardstick of all
 * other speeds. The mean over several rounds, not the best one, since processors change their clock within seconds and
 * what is compared with it takes seconds too. A chain of products with one small output, so copying does not count.
 */
export async function matmulPeakGflops(device: Device, rounds: number): Promise<number> {
  const wide = input('wide', 'float32', [WIDE, NARROW])
  let value = input('x', 'float32', [ROWS, NARROW])
  for (let pair = 0; pair < PAIRS; pair++) value = matmul(matmul(value, wide, { transB: true }), wide)
  using session = await Session.create({ name: 'matmul peak', program: { value }, device, purpose: 'learn' })
  const feeds = {
    x: floats(new Float32Array(ROWS * NARROW).fill(0.01), [ROWS, NARROW]),
    wide: floats(new Float32Array(WIDE * NARROW).fill(0.01), [WIDE, NARROW]),
  }
  await session.run(feeds)
  const startedAt = performance.now()
  for (let round = 0; round < rounds; round++) await session.run(feeds)
  const milliseconds = (performance.now() - startedAt) / rounds
  return (2 * PAIRS * 2 * ROWS * NARROW * WIDE) / milliseconds / 1e6
}
