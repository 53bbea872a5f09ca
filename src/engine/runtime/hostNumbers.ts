/** Parameters in the host's arrays, moved by the program that moves them on a device: here on the CPU, a piece at a time. */
import type { AdamWFactors, TrainedArrays } from '../optimizers/adamw.ts'
import { adamwProgram, movedNames } from '../optimizers/adamwProgram.ts'
import { blockSums, sumOfSquares, type TrainedNumbers } from '../optimizers/optimizer.ts'
import { Session, floats, free, type Feed } from './session.ts'

/** Entries of a piece: all that is computed of it stays in the cache. */
const PIECE = 16_384

/** Session of the whole process, opened on first use. */
let stepping: Promise<Session> | null = null

const openStepping = (): Promise<Session> =>
  (stepping ??= Session.create({
    name: 'adamw with the host',
    program: adamwProgram(),
    device: { kind: 'cpu', threads: 1, deviceId: 0 },
    purpose: 'learn',
  }))

export class HostNumbers implements TrainedNumbers<AdamWFactors> {
  readonly #arrays: TrainedArrays

  constructor(arrays: TrainedArrays) {
    this.#arrays = arrays
  }

  squares(): Promise<number> {
    return sumOfSquares((unit) => Promise.resolve(blockSums(this.#arrays.gradients, unit)))
  }

  async move(factors: AdamWFactors): Promise<void> {
    const session = await openStepping()
    const { values, gradients, first, second } = this.#arrays
    const given: Record<string, Feed> = {}
    for (const [name, factor] of Object.entries(factors))
      given[name] = floats(Float32Array.of(factor as number), [1])
    for (let start = 0; start < values.length; start += PIECE) {
      const piece = (array: Float32Array) => array.subarray(start, start + PIECE)
      const feed = (array: Float32Array) => floats(piece(array), [piece(array).length])
      const moved = await session.run({
        ...given,
        values: feed(values),
        gradient: feed(gradients),
        first: feed(first),
        second: feed(second),
      })
      for (const name of ['values', 'first', 'second'] as const) {
        const result = moved[movedNames[name]]!
        this.#arrays[name].set(result, start)
        free(result)
      }
    }
  }
}
