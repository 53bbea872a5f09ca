/** Checks of what a device holds of the frozen weights: bases in other forms than f32, and tensors in slices. */
import { mkdtempSync } from 'node:fs'
import path from 'node:path'
import type { Device } from '#shared/device.ts'
import { AppError } from '#shared/errors.ts'
import { heldPrecisions, roundedPrecisions } from '#shared/precision.ts'
import { randomStream } from '#shared/random.ts'
import { hasHalves } from '#engine/runtime/device.ts'
import type { OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { gapFinding } from '#host/checks/selftest.ts'
import type { SelftestFinding } from '#host/devices/deviceRecords.ts'
import { asRoundedBase } from '#host/models/baseCache.ts'
import { modelShapes, type ModelShape } from '#host/models/modelShapes.ts'
import { openModel } from '#host/models/openModel.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { largestDifference } from '../engine/runtime/differences.ts'
import {
  completionsOf,
  flatGradient,
  openTiny,
  randomCoefficients,
  randomSequence,
  tinySource,
  unfiltered,
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

export interface AloneAnswer {
  readonly same: boolean
  /** Largest difference of a log-probability from the CPU's. */
  readonly heads: number
}

/** A base without an adapter, as it is opened to be asked. */
export async function alone(folder: string, base: string): Promise<AloneAnswer> {
  const directory = mkdtempSync(path.join(folder, 'alone-'))
  await writeRandomModel(directory, modelShapes['tiny-llama'], 11, 'F32')
  const answers = async (kind: 'cpu' | 'webgpu') => {
    using opened = await openModel({
      directory,
      adapter: null,
      maxRows: 2,
      precision: 'f32',
      cacheDirectory: folder,
      device: { kind, threads: 1 },
      base: heldPrecisions.find((known) => known === base) ?? 'f32',
    })
    const { policy } = opened
    const role = 'base' as const
    const promptIds = sequences[1]!.ids.slice(0, 9)
    const sampling = { ...unfiltered, greedy: true, maxNewTokens: 12 }
    const requests = [{ promptIds, streams: [randomStream(3)] }]
    const heads = await policy.score(sequences, { role, temperature: 1 })
    return {
      ids: (await completionsOf(policy, requests, { role, sampling })).flatMap(({ ids }) => [...ids]),
      logprobs: heads.flatMap(({ logprobs }) => [...logprobs]),
    }
  }
  const [device, host] = [await answers('webgpu'), await answers('cpu')]
  return {
    same: device.ids.join() === host.ids.join(),
    heads: largestDifference(device.logprobs, host.logprobs),
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
