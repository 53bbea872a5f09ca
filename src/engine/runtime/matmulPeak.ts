import type { Device } from '#shared/device.ts'
import { input } from '../graph/value.ts'
import { matmul } from '../ops/matmul.ts'
import { Session, floats } from './session.ts'

/** Sizes of a large decoder's feed-forward layer: where matrix products run at their best. */
const [ROWS, NARROW, WIDE, PAIRS] = [1024, 896, 4864, 2]

/**
 * Measures what ONNX Runtime's f32 matrix product sustains here, in 10⁹ floating-point operations per second: the
 * yardstick of all other speeds. Takes the mean over several rounds, not the best one, since processors change their
 * clock within seconds and what is compared with it takes seconds too. Runs a chain of products with one small output,
 * so copying does not count.
 */
export function matmulPeakGflops(device: Device, rounds: number): Promise<number> {
  return device.kind === 'cpu' ? hostPeak(device, rounds) : devicePeak(device, rounds)
}

async function hostPeak(device: Device, rounds: number): Promise<number> {
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

/** Products of a device's chain, and its least and largest side. A run shorter than this measures how it is started. */
const [CHAIN, LEAST_SIDE, MAX_SIDE, LEAST_MS] = [8, 256, 4096, 50]

/**
 * The same of a device: square products, made there of a column and a row and reduced to one number there, so that nothing
 * large crosses the bus. The side doubles until a run takes long enough.
 */
async function devicePeak(device: Device, rounds: number): Promise<number> {
  const [column, row] = [input('column', 'float32', ['N', 1]), input('row', 'float32', [1, 'N'])]
  const square = matmul(column, row) // its own square, so numbers stay as they are however often it is multiplied
  let value = square
  for (let product = 0; product < CHAIN; product++) value = matmul(value, square)
  const program = { value: matmul(matmul(row, value), column) }
  using session = await Session.create({ name: 'matmul peak', program, device, purpose: 'learn' })
  const milliseconds = async (side: number, times: number) => {
    const feeds = {
      column: floats(new Float32Array(side).fill(1), [side, 1]),
      row: floats(new Float32Array(side).fill(1 / side), [1, side]),
    }
    await session.run(feeds)
    const startedAt = performance.now()
    for (let round = 0; round < times; round++) await session.run(feeds)
    return (performance.now() - startedAt) / times
  }
  let side = LEAST_SIDE
  let once = await milliseconds(side, 1)
  while (side < MAX_SIDE && once < LEAST_MS) once = await milliseconds((side *= 2), 1)
  // One run of a slow device takes as long as all rounds of a fast one.
  const mean = once < LEAST_MS * rounds ? await milliseconds(side, rounds) : once
  return (2 * CHAIN * side ** 3) / mean / 1e6
}
