/** How far the log-probabilities of a server are from our own. */
import type { Heads, Policy, PolicyRole, TokenSequence } from '#engine/policy.ts'

export interface Gap {
  /** Nats, absolute. */
  readonly mean: number
  readonly max: number
  /** Tokens compared. */
  readonly tokens: number
}

export const noGap: Gap = { mean: 0, max: 0, tokens: 0 }

/** Entries of which either is no number are left out. */
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

interface Scored {
  readonly promptIds: ArrayLike<number>
  readonly ids: ArrayLike<number>
}

/** Our own log-probabilities of each completion's ids. */
export async function ownLogprobs(
  policy: Pick<Policy, 'score'>,
  completions: readonly Scored[],
  options: { readonly role: PolicyRole; readonly temperature: number; readonly signal?: AbortSignal },
): Promise<Float64Array[]> {
  const sequences = completions.map(({ promptIds, ids }) => asSequence(promptIds, ids))
  const heads: readonly Heads[] = sequences.length === 0 ? [] : await policy.score(sequences, options)
  return heads.map(({ logprobs }, i) => logprobs.slice((completions[i]?.promptIds.length ?? 1) - 1))
}
