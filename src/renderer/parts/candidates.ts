/** Models chosen in the playground and their encoding in the page's address; completions and votes. */
import { attempt } from '#shared/attempt.ts'
import { wilson, type Interval } from '#shared/statistics.ts'
import type { ModelChoice } from '#renderer/client/modelChoice.ts'
import type { Answer } from '#renderer/client/api.tsx'

export const columnKeys = ['a', 'b', 'c', 'd'] as const

/** Encodes a model's name or path, or a checkpoint as `run_…@step` after the run's model: `starter~run_…@30`. */
export function writeChoice({ model, adapter }: ModelChoice): string {
  if (adapter === undefined) return model
  return 'path' in adapter ? `${model}~${adapter.path}` : `${model}~${adapter.runId}@${String(adapter.step)}`
}

export function readChoice(text: string): ModelChoice | null {
  if (text === '') return null
  const [model = '', trained] = text.split('~', 2)
  if (trained === undefined) return { model }
  const checkpoint = /^(run_[0-9a-f-]{36})@(\d+)$/.exec(trained)
  if (checkpoint === null) return { model, adapter: { path: trained } }
  return { model, adapter: { runId: checkpoint[1] ?? '', step: Number(checkpoint[2]) } }
}

/** Shuffles the hidden columns, anew for every prompt, so that a position reveals nothing. */
export function shuffled(count: number, random: () => number): readonly number[] {
  const order = Array.from({ length: count }, (_, i) => i)
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[order[i], order[j]] = [order[j] ?? j, order[i] ?? i]
  }
  return order
}

export const writePrompts = (prompts: readonly string[]): string => JSON.stringify(prompts)

export const readPrompts = (text: string | null): readonly string[] =>
  attempt(() => {
    const prompts: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(prompts) ? prompts.filter((prompt) => typeof prompt === 'string') : []
  }, [])

// Completions by column, assembled as they arrive.

type Piece = Answer<'models.generate'>

export interface Completion {
  readonly text: string
  readonly tokens: number
  readonly tokensPerSecond: number | null
  /** Null while being written. */
  readonly stopReason: string | null
}

const nothing: Completion = { text: '', tokens: 0, tokensPerSecond: null, stopReason: null }

/**
 * Returns one completion per candidate. They are generated in column order, one after the other: any other order would
 * reveal a hidden name. `order`: column → candidate.
 */
export function completions(pieces: readonly Piece[], order: readonly number[]): readonly Completion[] {
  const all = order.map(() => nothing)
  for (const { candidate: column, text, tokens, tokensPerSecond, stopReason } of pieces) {
    const candidate = order[column]
    const before = candidate === undefined ? undefined : all[candidate]
    if (candidate === undefined || before === undefined) continue
    all[candidate] = { text: before.text + text, tokens, tokensPerSecond, stopReason }
  }
  return all
}

export const columnAtWork = (written: readonly Completion[], order: readonly number[]): number | null => {
  const column = order.findIndex((candidate) => written[candidate]?.stopReason === null)
  return column < 0 ? null : column
}

// Blind votes and the standings derived from them.

export interface Vote {
  /** Candidates as encoded by `writeChoice`. */
  readonly candidates: readonly string[]
  /** Index of the winner; null for a tie. */
  readonly winner: number | null
  readonly isBlind: boolean
  readonly prompt: string
  readonly seed: number
  /** Epoch ms. */
  readonly at: number
}

/** Votes are a setting, which every page of the window reads whole. */
export const maxVotes = 2000

interface Standing {
  readonly candidate: string
  readonly wins: number
  readonly ties: number
  readonly losses: number
  /** Share of votes won, a tie counting half. */
  readonly winRate: number
  readonly interval: Interval
}

/** Ranks candidates, best first. Only blind votes count, since names bias a vote. */
export function standings(votes: readonly Vote[]): readonly Standing[] {
  const counts = new Map<string, { wins: number; ties: number; losses: number }>()
  for (const { candidates, winner } of votes.filter(({ isBlind }) => isBlind)) {
    candidates.forEach((candidate, i) => {
      const count = counts.get(candidate) ?? { wins: 0, ties: 0, losses: 0 }
      if (winner === null) count.ties += 1
      else if (winner === i) count.wins += 1
      else count.losses += 1
      counts.set(candidate, count)
    })
  }
  return [...counts]
    .map(([candidate, count]) => {
      const total = count.wins + count.ties + count.losses
      const winRate = (count.wins + count.ties / 2) / total
      return { candidate, ...count, winRate, interval: wilson(winRate, total) }
    })
    .sort((a, b) => b.winRate - a.winRate)
}
