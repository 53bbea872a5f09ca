/** Requests for tests, and the completions they must get: each computed alone, from nothing, token by token. */
import { randomStream, SequentialRandom } from '#shared/random.ts'
import type { Completion, GenerateOptions, GenerationRequest, SamplingOptions } from '#engine/policy.ts'
import { HIDDEN } from '#engine/ops/attention.ts'
import type { DecodeStep } from '#engine/runtime/generation/decoder.ts'
import { HostDecoder } from '#engine/runtime/generation/hostDecoder.ts'
import { generateCompletions, type BatchLimits } from '#engine/runtime/generation/generate.ts'
import { StateCache } from '#engine/runtime/generation/stateCache.ts'
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

type Wanted = 'logits' | 'probabilities'

interface Alone {
  readonly requests: readonly GenerationRequest[]
  readonly options: GenerateOptions & BatchLimits
  readonly at: { readonly request: number; readonly sample: number }
  /** Ids that may come: their scores are computed in one pass, and serve for as long as these are the ids. */
  readonly likely: ArrayLike<number>
}

/** The scores after each of `ids` from the `first` on, computed from nothing in one pass. */
async function scoresBehind(
  step: DecodeStep,
  { ids, first }: { readonly ids: readonly number[]; readonly first: number },
  { want, temperature }: { readonly want: Wanted; readonly temperature: number },
): Promise<Float32Array[]> {
  const length = ids.length
  const mask = Float32Array.from({ length: length * length }, (_, index) =>
    index % length <= Math.floor(index / length) ? 0 : HIDDEN,
  )
  const scored = Int32Array.from({ length: length - first }, (_, index) => first + index)
  const { scores } = await step.run({
    rows: 1,
    length,
    ids: Int32Array.from(ids),
    positions: Int32Array.from({ length }, (_, position) => position),
    cache: new StateCache(step.states, 1, 0),
    mask,
    scored,
    inverseTemperatures: new Float64Array(scored.length).fill(1 / temperature),
    want,
    role: 'actor',
  })
  const { vocabSize } = step
  return Array.from(scored, (_, index) => scores.subarray(index * vocabSize, (index + 1) * vocabSize))
}

/** One completion computed alone, without a cache, decoding its whole text after every token. */
async function alone(step: DecodeStep, { requests, options, at, likely }: Alone): Promise<Completion> {
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
  let read: readonly number[] = Array.from(likely)
  const known = new Map<Wanted, Promise<Float32Array[]>>()
  const scoresFor = async (want: Wanted): Promise<Float32Array> => {
    if (ids.some((id, index) => id !== read[index])) {
      read = [...ids]
      known.clear()
    }
    const passed = { ids: [...promptIds, ...read], first: promptIds.length - 1 }
    const scores = known.get(want) ?? scoresBehind(step, passed, { want, temperature: sampler.temperature })
    known.set(want, scores)
    return (await scores)[ids.length]!
  }
  for (;;) {
    const all = [...promptIds, ...ids]
    const want = sampler.wanted([ids.length], false) === 'logits' ? 'logits' : 'probabilities'
    const scores = await scoresFor(want)
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

/** `found` only saves passes: a completion that is another one than it must be is computed to the end all the same. */
export async function allAlone(
  step: DecodeStep,
  requests: readonly GenerationRequest[],
  options: GenerateOptions & BatchLimits,
  found: readonly Completion[] = [],
): Promise<Completion[]> {
  const completions: Completion[] = []
  for (const [request, { streams }] of requests.entries()) {
    for (const sample of streams.keys()) {
      const at = { request, sample }
      const { ids = [] } = found.find((each) => each.request === request && each.sample === sample) ?? {}
      completions.push(await alone(step, { requests, options, at, likely: ids }))
    }
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
