/** The setup shared by all parts of a bench: the model, its policy and synthetic requests. */
import { existsSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Device } from '#shared/device.ts'
import { usageError } from '#shared/errors.ts'
import type { RolloutPrecision } from '#shared/precision.ts'
import { SequentialRandom, randomStream } from '#shared/random.ts'
import { linearNames, type LoraConfig } from '#engine/models/config.ts'
import { type GenerationRequest, type SamplingOptions, unfiltered } from '#engine/policy.ts'
import { int8Form } from '#engine/runtime/device.ts'
import { packingPays } from '#engine/runtime/ortDecodeStep.ts'
import { createOrtPolicy, type OrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { makeOwnFolder } from '#host/files/ownFiles.ts'
import { asPolicySource } from '#host/models/baseCache.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { isModelShapeName, modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import type { BenchRequest } from './benchReport.ts'

export const SEED = 1

export interface Bench {
  readonly lora: LoraConfig
  readonly request: BenchRequest
  readonly device: Device
  readonly directory: string
  readonly say: (text: string) => void
}

export function adapterOf({ rank, parts }: BenchRequest): LoraConfig {
  if (rank > 0) return { rank, alpha: 2 * rank, rsLora: false, targets: linearNames }
  if (!parts.includes('train')) return { rank: 1, alpha: 1, rsLora: false, targets: [] }
  throw usageError(
    'Training needs an adapter of rank 1 or more.',
    'Measure only decode or prefill with rank 0.',
  )
}

/** The model's folder; a shape is written once into the cache. */
export async function subjectFolder(
  { subject, cacheDirectory }: BenchRequest,
  say: (text: string) => void,
): Promise<string> {
  if ('model' in subject) return subject.model
  const { shape } = subject
  if (!isModelShapeName(shape)) {
    const known = Object.keys(modelShapes).join(', ')
    throw usageError(`There is no model shape called “${shape}”.`, `Shapes: ${known}.`)
  }
  const directory = join(cacheDirectory, 'bench', shape)
  if (existsSync(join(directory, 'config.json'))) return directory
  say(`writing ${shape} with random weights`)
  makeOwnFolder(dirname(directory), cacheDirectory)
  rmSync(directory, { recursive: true, force: true }) // what an interrupted bench left there
  await writeRandomModel(directory, modelShapes[shape], SEED, 'F32')
  return directory
}

export async function openPolicy(
  bench: Bench,
  precision: RolloutPrecision,
  rows: number,
): Promise<OrtPolicy> {
  const folder = openModelFolder(bench.directory)
  const { base, cacheDirectory } = bench.request
  const source = await asPolicySource(
    folder,
    { base, rollout: precision, int8Form: int8Form(bench.device), maxRows: rows },
    cacheDirectory,
  )
  return createOrtPolicy({
    source,
    device: bench.device,
    lora: bench.lora,
    loraSeed: SEED,
    rolloutPrecision: precision,
    activations: bench.request.activations,
    maxRows: rows,
    packsWeights: packingPays(rows, Infinity), // speed in the long run is what is asked for
  })
}

export const randomIds = (random: SequentialRandom, length: number, vocabSize: number): Int32Array =>
  Int32Array.from({ length }, () => random.integer(vocabSize))

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN

export const sampling = (maxNewTokens: number): SamplingOptions => ({ ...unfiltered, maxNewTokens })

export function randomRequests(policy: OrtPolicy, count: number, tokens: number): GenerationRequest[] {
  const random = new SequentialRandom(randomStream(SEED, 3))
  return Array.from({ length: count }, (_, index) => ({
    promptIds: randomIds(random, tokens, policy.vocabSize),
    streams: [randomStream(SEED, 4, index)],
  }))
}
