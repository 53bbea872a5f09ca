/** Checks of what a device holds of the frozen weights: bases in other forms than f32, and tensors in slices. */
import type { Device } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import { roundedPrecisions } from '#shared/precision.ts'
import { hasHalves } from '#engine/runtime/device.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { gapFinding } from '#host/checks/selftest.ts'
import type { SelftestFinding } from '#host/devices/deviceRecords.ts'
import { asRoundedBase } from '#host/models/baseCache.ts'
import { modelShapes, type ModelShape } from '#host/models/modelShapes.ts'
import { largestDifference } from '../engine/runtime/differences.ts'
import {
  flatGradient,
  openTiny,
  randomCoefficients,
  randomSequence,
  tinySource,
} from '../engine/runtime/tinyModel.ts'

const webgpu: Device = { kind: 'webgpu', threads: 1, deviceId: 0 }
const sequences = [5, 23, 2, 14].map((length, index) => randomSequence(258, length, index))

export interface HeldAnswer {
  /** Largest differences from the CPU: of the heads absolute, of the gradients relative to the largest. */
  readonly heads: number
  readonly gradients: number
  readonly samplerGap: SelftestFinding
}

export interface HalvesAnswer {
  /** Code, message and hint. */
  readonly refusal: readonly unknown[] | null
  readonly has: boolean
}

/** A base in such a precision, or in f32 with programs that bind no more than so many bytes. */
export async function heldBase(folder: string, how: string, shape: Partial<ModelShape>) {
  const source = await tinySource(folder, shape)
  const precision = roundedPrecisions.find((known) => known === how)
  if (precision) return { source: await asRoundedBase(source, precision, folder), programs: {} }
  return { source, programs: how === '' ? {} : { bindingBytes: Number(how) } }
}

export async function held(folder: string, how: string): Promise<HeldAnswer> {
  // Of GPT-2 the linears lie transposed, which the CPU turns before they are fed.
  const shape = how === 'int4' || how === 'int8' ? {} : modelShapes['tiny-gpt2']
  const { source, programs } = await heldBase(folder, how, { ...shape, tiedHead: false })
  using host = await openTiny(source, { products: 'f32' })
  using device = await openTiny(source, { device: webgpu, programs })
  const learned = async (policy: OrtPolicy) => {
    const coefficients = randomCoefficients(sequences, 3, true)
    const options = { temperature: 0.8, entropyGradient: true }
    const heads = await policy.accumulate(sequences, options, () => coefficients)
    return heads.flatMap(({ logprobs, entropies }) => [...logprobs, ...entropies])
  }
  const heads = largestDifference(await learned(device), await learned(host))
  const [found, expected] = [await flatGradient(device), await flatGradient(host)]
  const largest = largestDifference(expected, new Float32Array(expected.length))
  return {
    heads,
    gradients: largestDifference(found, expected) / largest,
    samplerGap: await gapFinding(device, how),
  }
}

/** What is said where the adapter has no 16 bits. */
export async function halves(folder: string): Promise<HalvesAnswer> {
  const { source } = await heldBase(folder, 'f16', {})
  const opened = openTiny(source, { device: webgpu })
  const refusal = await opened.then(
    () => null,
    (error: unknown) =>
      error instanceof AppError ? [error.code, error.message, error.hint] : [String(error)],
  )
  return { refusal, has: await hasHalves(webgpu) }
}
