/**
 * Checks a server before rollouts: the same vocabulary, ids and log-probabilities in its responses, those of the
 * tempered distribution, the same model, adapters at run time. An error names what is missing, with the command that
 * starts the server correctly.
 */
import type { Policy, PolicyRole, Heads, TokenSequence } from '#engine/policy.ts'
import type { Tokenizer } from '#engine/text/tokenizer.ts'
import { AppError } from '#shared/errors.ts'
import type { RolloutServer, Tokens } from './rolloutServer.ts'

export interface StartUpOptions {
  readonly server: RolloutServer
  readonly policy: Pick<Policy, 'score' | 'vocabSize' | 'contextLength'>
  readonly tokenizer: Pick<Tokenizer, 'encode'>
  /** Largest mean gap, nats per token. */
  readonly gapLimit: number
}

/** Letters, digits, cases, an accent, another script, a line break: vocabularies part on some of them. */
const sampleText = 'The 3 quick foxes jumped over 17 lazy dögs, said 他.\nNow count: 1, 2, '
/** Far from 1, so that log-probabilities with and without it are told apart. */
const probeTemperature = 0.5
const probeTokens = 16
const probeSeed = 20_240_607
/** Gap below which a difference is rounding. */
const roundingGap = 2e-3

/** The longest prompt plus completion that the server takes; null where it does not say. Errors: AppError 'server/…'. */
export async function checkServer(options: StartUpOptions): Promise<number | null> {
  const { server } = options
  const { contextLength } = await server.chooseModel()
  await requireSameTokens(options)
  const gap = await probe(options, 'base', null)
  if (gap.mean > options.gapLimit) {
    throw new AppError(
      'server/unsuitable',
      `The rollout server computes something other than the run's base model: log-probabilities differ by ${shown(gap)}.`,
      `It may serve a different model, quantised weights or too low a precision. ${server.launchHint}`,
    )
  }
  return contextLength
}

/** The gap of a few tokens with an adapter that is loaded. Errors: AppError 'server/…'. */
export const adapterGap = (options: StartUpOptions, name: string): Promise<Gap> =>
  probe(options, 'actor', name)

/** The same as `checkServer` with an adapter that is loaded. Errors: AppError 'server/…'. */
export async function checkAdapter(options: StartUpOptions, name: string): Promise<void> {
  const gap = await adapterGap(options, name)
  if (gap.mean <= options.gapLimit) return
  throw new AppError(
    'server/unsuitable',
    `The rollout server does not apply the adapter as Turnwise does: log-probabilities differ by ${shown(gap)}.`,
    `It may not support adapters on some layers of this architecture. ${options.server.launchHint}`,
  )
}

const shown = ({ mean, tokens }: Gap): string =>
  `${mean.toPrecision(3)} nats on average over ${tokens} tokens`

async function requireSameTokens({ server, tokenizer }: StartUpOptions): Promise<void> {
  const theirs = await server.tokenize(sampleText)
  if (theirs === null) return
  const ours = tokenizer.encode(sampleText, { addSpecialTokens: false })
  if (theirs.length === ours.length && ours.every((id, i) => id === theirs[i])) return
  throw new AppError(
    'server/unsuitable',
    'The rollout server tokenises text differently from the run’s model.',
    `Serve the same model, with its own tokenizer. ${server.launchHint}`,
  )
}

/** Requests some tokens from the server and compares them with our own numbers. */
async function probe(options: StartUpOptions, role: PolicyRole, adapter: string | null): Promise<Gap> {
  const { server, policy, tokenizer } = options
  const maxNewTokens = Math.min(probeTokens, policy.contextLength - 1)
  const room = Math.max(1, policy.contextLength - maxNewTokens)
  const encoded = Array.from(tokenizer.encode(sampleText, { addSpecialTokens: false })).slice(0, room)
  const promptIds = encoded.length === 0 ? [0] : encoded
  const { signal } = new AbortController()
  const answer = await server.generate(
    {
      adapter,
      ids: promptIds,
      temperature: probeTemperature,
      seed: probeSeed,
      minNewTokens: 0,
      maxNewTokens,
      stopIds: [],
      stopStrings: [],
    },
    signal,
  )
  if (answer === 'adapter-missing') {
    throw server.unsuitable(`The rollout server dropped the adapter ${adapter ?? ''} immediately.`)
  }
  requireUsable(answer, options)
  const logprobsAt = async (temperature: number) =>
    (await ownLogprobs(policy, [{ promptIds, ids: answer.ids }], { role, temperature }))[0] ?? []
  const gap = gapBetween(answer.logprobs, await logprobsAt(probeTemperature))
  const untempered = gapBetween(answer.logprobs, await logprobsAt(1))
  if (gap.mean > roundingGap && untempered.mean < gap.mean / 2) {
    const { title, remedies } = server.dialect
    throw server.unsuitable(
      `The rollout server (${title}) returns log-probabilities before temperature scaling: ${remedies.tempered}.`,
    )
  }
  return gap
}

function requireUsable({ ids, logprobs }: Tokens, { server, policy }: StartUpOptions): void {
  requireKnownIds(ids, policy.vocabSize)
  const { title, remedies } = server.dialect
  if (ids.length === 0) throw server.unsuitable(`The rollout server (${title}) generates no tokens.`)
  if (logprobs.some(Number.isFinite)) return
  throw server.unsuitable(`The rollout server (${title}) returns no log-probabilities: ${remedies.logprobs}.`)
}

/** Errors: AppError 'server/unsuitable' for ids the model of the run does not have. */
export function requireKnownIds(ids: readonly number[], vocabSize: number): void {
  const unknown = ids.find((id) => !Number.isInteger(id) || id < 0 || id >= vocabSize)
  if (unknown === undefined) return
  throw new AppError(
    'server/unsuitable',
    `The rollout server returned token ${unknown}, but the run’s model has only ${vocabSize}.`,
    'Serve the run’s model.',
  )
}

// Difference between the log-probabilities of a server and our own.

export interface Gap {
  /** Nats, absolute. */
  readonly mean: number
  readonly max: number
  /** Number of tokens compared. */
  readonly tokens: number
}

export const noGap: Gap = { mean: 0, max: 0, tokens: 0 }

/** Measures the gap between two lists; entries of which either is not a number are left out. */
export function gapBetween(theirs: Iterable<number>, ours: ArrayLike<number>): Gap {
  const gaps = [...theirs].map((value, i) => Math.abs(value - (ours[i] ?? NaN))).filter(Number.isFinite)
  return gaps.reduce((gap, value) => bothGaps(gap, { mean: value, max: value, tokens: 1 }), noGap)
}

export function bothGaps(a: Gap, b: Gap): Gap {
  const tokens = a.tokens + b.tokens
  if (tokens === 0) return noGap
  const mean = (a.mean * a.tokens + b.mean * b.tokens) / tokens
  return { mean, max: Math.max(a.max, b.max), tokens }
}

/** Prompt and completion as a row to score. */
function asSequence(promptIds: ArrayLike<number>, ids: ArrayLike<number>): TokenSequence {
  const all = Int32Array.from([...Array.from(promptIds), ...Array.from(ids)])
  return { ids: all, actionMask: new Uint8Array(all.length - 1).fill(1, promptIds.length - 1) }
}

/** Returns our own log-probabilities of each completion's ids. */
export async function ownLogprobs(
  policy: Pick<Policy, 'score'>,
  completions: readonly { readonly promptIds: ArrayLike<number>; readonly ids: ArrayLike<number> }[],
  options: { readonly role: PolicyRole; readonly temperature: number; readonly signal?: AbortSignal },
): Promise<Float64Array[]> {
  const sequences = completions.map(({ promptIds, ids }) => asSequence(promptIds, ids))
  const heads: readonly Heads[] = sequences.length === 0 ? [] : await policy.score(sequences, options)
  return heads.map(({ logprobs }, i) => logprobs.slice((completions[i]?.promptIds.length ?? 1) - 1))
}
