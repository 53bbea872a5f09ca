/** The program of AdamW against the same operations in JavaScript, each rounded to f32: the same bytes over twenty updates. */
import { expect, test } from 'vitest'
import { adamw, type AdamWFactors, type TrainedArrays } from '#engine/optimizers/adamw.ts'
import { squaresProgram } from '#engine/optimizers/adamwProgram.ts'
import { blockSums, f32 } from '#engine/optimizers/optimizer.ts'
import { HostNumbers } from '#engine/runtime/hostNumbers.ts'
import { Session, floats } from '#engine/runtime/session.ts'
import { SequentialRandom, randomStream } from '#shared/random.ts'

/** Of the factors that the update itself has. */
function moveArrays({ values, gradients, first, second }: TrainedArrays, factors: AdamWFactors): void {
  const { scale, beta1, rest1, beta2, rest2, stepSize, secondRoot, epsilon, decay } = factors
  values.forEach((value, i) => {
    const gradient = f32(gradients[i]! * scale)
    const m = f32(f32(beta1 * first[i]!) + f32(rest1 * gradient))
    const v = f32(f32(beta2 * second[i]!) + f32(f32(rest2 * gradient) * gradient))
    const divisor = f32(f32(f32(Math.sqrt(v)) / secondRoot) + epsilon)
    const moved = f32(f32(decay * value) + f32(f32(stepSize * m) / divisor))
    first[i] = m
    second[i] = v
    values[i] = f32(value - moved)
  })
}

const bytesOf = (arrays: readonly Float32Array[]): Buffer =>
  Buffer.concat(
    arrays.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)),
  )

test.each([1, 16_384, 40_001])('%i parameters, with gradients down to 10⁻²⁴ and zeros', async (length) => {
  const random = new SequentialRandom(randomStream(length))
  const fresh = (values: Float32Array): TrainedArrays => ({
    values: values.slice(),
    gradients: new Float32Array(length),
    first: new Float32Array(length),
    second: new Float32Array(length),
  })
  const start = Float32Array.from({ length }, (_, i) => (i % 3 === 0 ? 0 : 0.1 * random.normal()))
  const [computed, expected] = [fresh(start), fresh(start)]
  const numbers = new HostNumbers(computed)
  using squares = await Session.create({
    name: 'squares',
    program: squaresProgram(length),
    purpose: 'learn',
    device: { kind: 'cpu', threads: 1, deviceId: 0 },
  })
  for (let step = 1; step <= 20; step++) {
    computed.gradients.forEach((_, i) => {
      computed.gradients[i] = i % 7 === 0 ? 0 : random.normal() * 10 ** -((i + step) % 24)
    })
    expected.gradients.set(computed.gradients)
    for (const unit of [1, 2 ** 72]) {
      const feeds = {
        gradient: floats(computed.gradients, [length]),
        unit: floats(Float32Array.of(unit), [1]),
      }
      expect(bytesOf([(await squares.run(feeds))['sums']!])).toEqual(
        bytesOf([blockSums(computed.gradients, unit)]),
      )
    }
    const both = {
      squares: () => numbers.squares(),
      move: async (factors: AdamWFactors) => {
        moveArrays(expected, factors)
        await numbers.move(factors)
      },
    }
    const groups = [{ numbers: [both], learningRate: 1e-3 / step }]
    await adamw.step({ groups, step, maxGradNorm: 1 }, adamw.settings)
    const listed = ({ values, first, second }: TrainedArrays) => bytesOf([values, first, second])
    expect(listed(computed)).toEqual(listed(expected))
  }
})
