import type { Device } from '#shared/device.ts'
import { input } from '../graph/value.ts'
import { matmul } from '../ops/matmul.ts'
import { Session, floats } from './session.ts'

/** Sizes of a large decoder's feed-forward layer: where matrix products run at their best. */
const [ROWS, NARROW, WIDE, PAIRS] = [1024, 896, 4864, 2]

/**
 * The fastest f32 matrix product ONNX Runtime was seen to do here, in 10⁹ floating-point operations per second: the
 * yardstick of all other speeds. A chain of products with one small output, so copying the result does not count.
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
  let best = Infinity
  for (let round = 0; round <= rounds; round++) {
    const startedAt = performance.now()
    await session.run(feeds)
    best = Math.min(best, performance.now() - startedAt)
  }
  return (2 * PAIRS * 2 * ROWS * NARROW * WIDE) / best / 1e6
}
