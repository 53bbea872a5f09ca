/** Gets one completion from a rollout server, in as many requests as necessary. */
import { AppError } from '#shared/errors.ts'
import type { RandomStream } from '#shared/random.ts'
import type { GenerateOptions, SamplingOptions, StopReason } from '#engine/policy.ts'
import type { Lease } from './adapterVersions.ts'
import type { RolloutServer, Tokens } from './rolloutServer.ts'
import { requireKnownIds } from './startUp.ts'

export interface CompletionRequest {
  readonly promptIds: Int32Array
  readonly stream: RandomStream
  /** Most tokens it may have. */
  readonly limit: number
  /** null: the base model answers. */
  readonly adapter: Lease | null
  readonly vocabSize: number
}

export interface RemoteCompletion {
  readonly ids: readonly number[]
  /** NaN where the server gave none. */
  readonly logprobs: readonly number[]
  readonly stopReason: CompletionEnd['stopReason']
}

/** Number of consecutive answers without a token, or with adapters forgotten, that counts as a fault. */
const patience = 5

/**
 * Completes a request on a server. A server may break off: because it was told to pause, or at a token that ends
 * nothing here. Then it goes on from there, with random numbers of its own. Errors: AppError 'server/…'; the signal's
 * reason when it aborts.
 */
export async function completeRemotely(
  server: RolloutServer,
  request: CompletionRequest,
  options: Pick<GenerateOptions, 'sampling' | 'decode'>,
  signal: AbortSignal,
): Promise<RemoteCompletion> {
  const ids: number[] = []
  const logprobs: number[] = []
  for (let idle = 0; idle <= patience; idle++) {
    const answer = await server.generate(tokenRequest(request, ids, options.sampling), signal)
    if (answer === 'adapter-missing') {
      await request.adapter?.reload(server)
      continue
    }
    if (take(answer, { ids, logprobs, vocabSize: request.vocabSize })) idle = -1
    const end = endOf(ids, request.limit, options)
    if (end === null) continue
    const { length, stopReason } = end
    return { ids: ids.slice(0, length), logprobs: logprobs.slice(0, length), stopReason }
  }
  throw new AppError(
    'server/failed',
    `The rollout server interrupted a completion ${patience + 1} times without generating another token.`,
    'Its log may say why; once that is fixed, resume the run from its last checkpoint.',
  )
}

/** False where there was nothing to take. */
function take(
  answer: Tokens,
  { ids, logprobs, vocabSize }: { ids: number[]; logprobs: number[]; vocabSize: number },
): boolean {
  requireKnownIds(answer.ids, vocabSize)
  ids.push(...answer.ids)
  logprobs.push(...answer.logprobs)
  return answer.ids.length > 0
}

function tokenRequest(
  { promptIds, stream, limit, adapter }: CompletionRequest,
  ids: readonly number[],
  { greedy, temperature, minNewTokens, stopIds, stopStrings }: SamplingOptions,
) {
  const left = limit - ids.length
  return {
    adapter: adapter?.name ?? null,
    ids: [...promptIds, ...ids],
    temperature: greedy ? 0 : temperature,
    minNewTokens: Math.min(Math.max(0, minNewTokens - ids.length), left),
    maxNewTokens: left,
    stopIds,
    stopStrings,
    // Place where the first token of this request would have been drawn.
    seed: Math.floor(stream.uniformAt(ids.length) * 0x80000000),
  }
}

/* Where a completion ends by the rules of this project, whatever a server made of them. */

interface CompletionEnd {
  /** Tokens of the completion, the one that ends it included. */
  readonly length: number
  readonly stopReason: StopReason
}

/** The first end among the ids so far; null where it has to go on. `limit`: most tokens it may have. */
function endOf(
  ids: readonly number[],
  limit: number,
  { sampling, decode }: Pick<GenerateOptions, 'sampling' | 'decode'>,
): CompletionEnd | null {
  const { stopIds, stopStrings } = sampling
  const stopId = ids.findIndex((id) => stopIds.includes(id)) + 1
  const reach = Math.min(stopId === 0 ? Infinity : stopId, ids.length, limit)
  const stopString = decode === undefined ? 0 : lengthUntil(stopStrings, ids.slice(0, reach), decode)
  const ends: readonly (CompletionEnd & { readonly isThere: boolean })[] = [
    { isThere: stopId > 0, length: stopId, stopReason: 'stop-id' },
    { isThere: stopString > 0, length: stopString, stopReason: 'stop-string' },
    { isThere: ids.length >= limit, length: limit, stopReason: 'length' },
  ]
  const [first] = ends.filter(({ isThere }) => isThere).sort((a, b) => a.length - b.length)
  return first === undefined ? null : { length: first.length, stopReason: first.stopReason }
}

/** Fewest ids whose text contains one of the strings; 0 where not even all of them do. */
function lengthUntil(
  strings: readonly string[],
  ids: readonly number[],
  decode: (ids: readonly number[]) => string,
): number {
  const contains = (count: number): boolean => {
    const text = decode(ids.slice(0, count))
    return strings.some((stop) => text.includes(stop))
  }
  if (strings.length === 0 || !contains(ids.length)) return 0
  let [without, within] = [0, ids.length]
  while (within - without > 1) {
    const middle = (without + within) >> 1
    if (contains(middle)) within = middle
    else without = middle
  }
  return within
}
