/** Small random models with a random adapter, for tests that need real weights but no particular ones. */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { LoraConfig, ModelConfig } from '#engine/models/config.ts'
import { linearNames } from '#engine/models/config.ts'
import { loraSlots } from '#engine/models/lora.ts'
import type { ModelSource, NamedTensor } from '#engine/models/source.ts'
import type {
  Completion,
  GenerateOptions,
  GenerationRequest,
  LossCoefficients,
  TokenSequence,
} from '#engine/policy.ts'
import type { OrtPolicy, OrtPolicyOptions } from '#engine/runtime/ortPolicy.ts'
import { createOrtPolicy } from '#engine/runtime/ortPolicy.ts'
import { openModelFolder } from '#host/models/modelFolder.ts'
import { asFloat32Source } from '#host/models/weightCache.ts'
import type { ModelShape } from '#host/models/modelShapes.ts'
import { modelShapes } from '#host/models/modelShapes.ts'
import { writeRandomModel } from '#host/models/randomModel.ts'
import { SequentialRandom, randomStream } from '#shared/random.ts'

export const oneThread = { kind: 'cpu', threads: 1, deviceId: 0 } as const

export const tinyLora: LoraConfig = { rank: 4, alpha: 8, rsLora: false, targets: linearNames }

/** Writes a random model below `folder` and opens it. */
export async function tinySource(folder: string, overrides: Partial<ModelShape> = {}): Promise<ModelSource> {
  const shape = { ...modelShapes['tiny-llama'], ...overrides }
  const directory = mkdtempSync(join(folder, 'model-'))
  await writeRandomModel(directory, shape, 11, 'F32')
  // Some families store matrices as graphs do not read them.
  return asFloat32Source(openModelFolder(directory), join(directory, 'cache'))
}

/** Both factors far from zero, so that the adapter changes every number. */
export function randomAdapter(config: ModelConfig, lora: LoraConfig = tinyLora, seed = 5): NamedTensor[] {
  const random = new SequentialRandom(randomStream(seed))
  return loraSlots(config, lora).map(({ name, shape, size }) => ({
    name,
    shape,
    data: Float32Array.from({ length: size }, () => 0.15 * random.normal()),
  }))
}

/** With a random adapter. */
export const openTiny = (
  source: ModelSource,
  overrides: Partial<OrtPolicyOptions> = {},
): Promise<OrtPolicy> =>
  openFresh(source, { adapter: randomAdapter(source.config, overrides.lora), ...overrides })

/** With an adapter made from `loraSeed`. */
export const openFresh = (
  source: ModelSource,
  overrides: Partial<OrtPolicyOptions> = {},
): Promise<OrtPolicy> =>
  createOrtPolicy({
    source,
    device: oneThread,
    lora: tinyLora,
    loraSeed: 1,
    rolloutPrecision: 'f32',
    activations: 'recompute',
    maxRows: 4,
    ...overrides,
  })

/** With random adapters of actor and critic and a fresh value head. */
export async function openCritic(
  source: ModelSource,
  overrides: Partial<OrtPolicyOptions> = {},
): Promise<OrtPolicy> {
  const policy = await openTiny(source, { critic: true, ...overrides })
  policy.restoreAdapter('critic', randomAdapter(source.config, overrides.lora, 6))
  return policy
}

/** A sequence of random ids; each prediction counts with probability `share`. */
export function randomSequence(vocabSize: number, length: number, seed: number, share = 0.7): TokenSequence {
  const random = new SequentialRandom(randomStream(seed, length))
  return {
    ids: Int32Array.from({ length }, () => random.integer(vocabSize)),
    actionMask: Uint8Array.from({ length: length - 1 }, () => Number(random.uniform() < share)),
  }
}

/** Random coefficients where the action mask is 1. */
export function randomCoefficients(
  sequences: readonly TokenSequence[],
  seed: number,
  entropies: boolean,
): LossCoefficients[] {
  const random = new SequentialRandom(randomStream(seed, 0xc0ef))
  const row = ({ actionMask }: TokenSequence) =>
    Float64Array.from(actionMask, (isAction) => isAction * random.normal())
  return sequences.map((sequence) => ({
    logprobs: row(sequence),
    entropies: entropies ? row(sequence) : null,
    values: null,
  }))
}

/** Random coefficients of the values, beside those given. */
export function withValues(
  coefficients: readonly LossCoefficients[],
  sequences: readonly TokenSequence[],
  seed: number,
): LossCoefficients[] {
  const values = randomCoefficients(sequences, seed, false)
  return coefficients.map((row, index) => ({ ...row, values: values[index]!.logprobs }))
}

/** Everything a policy generates, in order of request and sample. */
export async function completionsOf(
  policy: OrtPolicy,
  requests: readonly GenerationRequest[],
  options: GenerateOptions,
): Promise<Completion[]> {
  const found: Completion[] = []
  for await (const completion of policy.generate(requests, options)) found.push(completion)
  return found.sort((a, b) => a.request - b.request || a.sample - b.sample)
}

/** The flat gradient of all tensors. */
export const flatGradient = async (
  policy: OrtPolicy,
  role: 'actor' | 'critic' = 'actor',
): Promise<Float32Array> => flat(await policy.gradientTensors(role))

export const flat = (tensors: readonly NamedTensor[]): Float32Array => {
  const result = new Float32Array(tensors.reduce((total, { data }) => total + data.length, 0))
  let start = 0
  for (const { data } of tensors) {
    result.set(data, start)
    start += data.length
  }
  return result
}

export const unfiltered = {
  greedy: false,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  minNewTokens: 0,
  maxNewTokens: 8,
  stopIds: [],
  stopStrings: [],
} as const
