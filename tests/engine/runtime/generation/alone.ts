/** Requests for tests, and the completions they must get: each computed alone, from nothing, token by token. */
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { Completion, GenerateOptions, GenerationRequest, SamplingOptions } from '#engine/policy.ts'
import { HIDDEN } from '#engine/ops/attention.ts'
import type { DecodeStep } from '#engine/runtime/generation/decoder.ts'
import { HostDecoder } from '#engine/runtime/generation/hostDecoder.ts'
import { generateCompletions, type BatchLimits } from '#engine/runtime/generation/generate.ts'
import { KvCache } from '#engine/runtime/generation/kvCache.ts'
import { Sampler } from '#engine/runtime/sampling.ts'

const plain: SamplingOptions = {
  greedy: false,
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  minNewTokens: 0,
  maxNewTokens: 12,
  stopIds: [],
  stopStrings: [],
}

const limits: BatchLimits = { maxRows: 4, contextLength: 200, prefillTokens: 16 }

export function optionsOf(sampling: Partial<SamplingOptions> = {}): GenerateOptions & BatchLimits {
  return { role: 'actor', sampling: { ...plain, ...sampling }, ...limits }
}

/** Prompts of the given lengths, each with `samples` streams. */
export function requestsOf(
  lengths: readonly number[],
  samples: number,
  vocabSize: number,
): GenerationRequest[] {
  return lengths.map((length, index) => {
    const random = new SequentialRandom(randomStream(40, index))
    return {
      promptIds: Int32Array.from({ length }, () => random.integer(vocabSize)),
      streams: Array.from({ length: samples }, (_, sample) => randomStream(7, index, sample)),
    }
  })
}

export async function collected(generation: AsyncGenerator<Completion>): Promise<Completion[]> {
  const completions: Completion[] = []
  for await (const completion of generation) completions.push(completion)
  return completions
}

/** Scores after `ids`, computed from nothing. */
async function scoresAfter(
  step: DecodeStep,
  ids: readonly number[],
  want: 'logits' | 'probabilities',
  temperature: number,
): Promise<Float32Array> {
  const length = ids.length
  const mask = Float32Array.from({ length: length * length }, (_, index) =>
    index % length <= Math.floor(index / length) ? 0 : HIDDEN,
  )
  const result = await step.run({
    rows: 1,
    length,
    ids: Int32Array.from(ids),
    positions: Int32Array.from({ length }, (_, position) => position),
    cache: new KvCache(step, 1, 0),
    mask,
    scored: Int32Array.of(length - 1),
    inverseTemperatures: Float64Array.of(1 / temperature),
    want,
    role: 'actor',
  })
  return result.scores
}

/** One completion computed alone, without a cache, decoding its whole text after every token. */
async function alone(
  step: DecodeStep,
  requests: readonly GenerationRequest[],
  options: GenerateOptions & BatchLimits,
  at: { request: number; sample: number },
): Promise<Completion> {
  const { promptIds, streams, sampling = options.sampling } = requests[at.request]!
  const { decode, contextLength } = options
  const sampler = new Sampler(step.vocabSize, sampling)
  const [ids, logprobs]: [number[], number[]] = [[], []]
  const done = (stopReason: Completion['stopReason']) => ({
    ...at,
    ids: Int32Array.from(ids),
    logprobs: Float64Array.from(logprobs),
    stopReason,
  })
  for (;;) {
    const all = [...promptIds, ...ids]
    const want = sampler.wanted([ids.length], false) === 'logits' ? 'logits' : 'probabilities'
    const scores = await scoresAfter(step, all, want, sampler.temperature)
    const uniform = streams[at.sample]!.uniformAt(ids.length)
    const history = { seen: all, generated: ids.length }
    const choice =
      want === 'logits'
        ? sampler.fromLogits(scores, history, uniform)
        : sampler.fromProbabilities(scores, history, uniform)
    ids.push(choice.id)
    logprobs.push(choice.logprob)
    if (sampling.stopIds.includes(choice.id)) return done('stop-id')
    if (sampling.stopStrings.some((stop) => decode!(ids).includes(stop))) return done('stop-string')
    if (ids.length === sampling.maxNewTokens || all.length + 1 === contextLength) return done('length')
  }
}

export async function allAlone(
  step: DecodeStep,
  requests: readonly GenerationRequest[],
  options: GenerateOptions & BatchLimits,
): Promise<Completion[]> {
  const completions: Completion[] = []
  for (const [request, { streams }] of requests.entries()) {
    for (const sample of streams.keys())
      completions.push(await alone(step, requests, options, { request, sample }))
  }
  return completions
}

export async function generated(
  step: DecodeStep,
  requests: readonly GenerationRequest[],
  options: GenerateOptions & BatchLimits,
): Promise<Completion[]> {
  const completions = await collected(generateCompletions(new HostDecoder(step), requests, options))
  return completions.sort((a, b) => a.request - b.request || a.sample - b.sample)
}

/** A letter per id, in an order that makes short strings likely to span tokens. */
export const decode = (ids: readonly number[]) => ids.map((id) => 'ab'[id % 2]! + 'xyz'[id % 3]!).join('')
