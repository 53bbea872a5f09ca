/** One completion from a rollout server, in as many requests as it takes. */
import type { GenerateOptions, SamplingOptions } from '#engine/policy.ts'
import { AppError } from '#shared/errors.ts'
import type { RandomStream } from '#shared/random.ts'
import type { Lease } from './adapterVersions.ts'
import { endOf, type CompletionEnd } from './completionEnd.ts'
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

type Options = Pick<GenerateOptions, 'sampling' | 'decode'>

/** Answers without a token, or adapters forgotten, one after the other, before that counts as a fault. */
const patience = 5

/**
 * A server may break off: because it was told to pause, or at a token that ends nothing here. Then it goes on from what
 * is there, with random numbers of its own. Errors: AppError 'server/…'; the signal's reason when it says so.
 */
export async function completeRemotely(
  server: RolloutServer,
  request: CompletionRequest,
  options: Options,
  signal: AbortSignal,
): Promise<RemoteCompletion> {
  const ids: number[] = []
  const logprobs: number[] = []
  for (let idle = 0; idle <= patience; idle++) {
    const answer = await server.generate(tokenRequest(request, ids, options.sampling), signal)
    if (answer === 'adapter-missing') {
      await request.adapter?.reload()
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
    `The rollout server broke off a completion ${patience + 1} times without a further token.`,
    'Its log may say why; resume the run from its last checkpoint when that is corrected.',
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
    // Where the first token of this request would have been drawn.
    seed: Math.floor(stream.uniformAt(ids.length) * 0x80000000),
  }
}
