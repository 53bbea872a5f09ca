/**
 * Samples of a run. Reading guide: `groups.ts` groups stored samples, `tokenRows.ts` (here) reads the arrays of one
 * completion token by token, `heat.ts` colours values, `scoring.ts` describes the effect of an edit, `address.ts`
 * stores the page's state in the address. `SamplesTab.tsx` puts the panes together: `StepScrubber`, `SampleFilters`,
 * `PromptList`, `GroupPane` (or `FilmStrip`), `CompletionPane` with its parts.
 */
import { unpackFloats, unpackInts } from '#shared/packedArray.ts'
import type { Answer } from '#renderer/client/api.tsx'

/** Answer of `samples.arrays`: ids and texts have an entry per token, the others one per prediction. */
export type PackedTokens = Answer<'samples.arrays'>

/** One token; values are null if the run did not record them or the policy did not choose the token. */
export interface TokenRow {
  readonly index: number
  readonly id: number
  readonly text: string
  /** True if chosen by the policy; other tokens are prompt or responses of an environment. */
  readonly isAction: boolean
  /** 1 for tokens that the policy chose, else null. */
  readonly action: number | null
  readonly probability: number | null
  readonly advantage: number | null
  /** Reward of the token itself, or of its turn if only turns have rewards. */
  readonly reward: number | null
  /** Probability under the learning policy over that of the sampler. */
  readonly ratio: number | null
  /** Log of the probability over that of the reference policy, nats. */
  readonly kl: number | null
  /** Nats. */
  readonly entropy: number | null
}

export type TokenValue = 'action' | 'probability' | 'advantage' | 'reward' | 'ratio' | 'kl' | 'entropy'

/** Unpacks token rows; the prediction of token i is at index i − 1, since the first token is never predicted. */
export function tokenRows(packed: PackedTokens): readonly TokenRow[] {
  const floats = (text: string | null) => (text === null ? null : unpackFloats(text))
  const ids = unpackInts(packed.ids)
  const mask = unpackFloats(packed.actionMask)
  const learner = floats(packed.logprobs)
  const sampler = floats(packed.behaviorLogprobs)
  const reference = floats(packed.referenceLogprobs)
  const entropies = floats(packed.entropies)
  const advantages = floats(packed.advantages)
  const rewards = floats(packed.rewards)
  const policy = learner ?? sampler
  return Array.from(ids, (id, index) => {
    const at = index - 1
    const isAction = mask[at] === 1
    const read = (values: Float32Array | null) => (isAction ? finite(values?.[at]) : null)
    const logprob = read(policy)
    return {
      index,
      id,
      text: packed.texts[index] ?? '',
      isAction,
      action: isAction ? 1 : null,
      probability: logprob === null ? null : Math.exp(logprob),
      advantage: read(advantages),
      reward: read(rewards),
      ratio: exponential(difference(read(learner), read(sampler))),
      kl: difference(logprob, read(reference)),
      entropy: read(entropies),
    }
  })
}

const finite = (value: number | undefined): number | null =>
  value === undefined || !Number.isFinite(value) ? null : value

const difference = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : a - b

const exponential = (value: number | null): number | null => (value === null ? null : Math.exp(value))

export interface Segment {
  /** `prompt`: tokens before the first action; `turn`: chosen by the policy; `reply`: given to it later. */
  readonly kind: 'prompt' | 'turn' | 'reply'
  /** Number of the turn, from 1; 0 for the prompt. */
  readonly turn: number
  readonly rows: readonly TokenRow[]
}

export function segmentsOf(rows: readonly TokenRow[]): readonly Segment[] {
  const segments: { kind: Segment['kind']; turn: number; rows: TokenRow[] }[] = []
  let turn = 0
  for (const row of rows) {
    const last = segments.at(-1)
    if (last && (last.kind === 'turn') === row.isAction) {
      last.rows.push(row)
      continue
    }
    if (row.isAction) turn += 1
    segments.push({ kind: row.isAction ? 'turn' : turn === 0 ? 'prompt' : 'reply', turn, rows: [row] })
  }
  return segments
}

/** Returns the values that the run recorded for these tokens. */
export const valuesPresent = (rows: readonly TokenRow[]): readonly TokenValue[] =>
  (['advantage', 'reward', 'ratio', 'kl', 'entropy', 'probability', 'action'] as const).filter((value) =>
    rows.some((row) => row[value] !== null),
  )
