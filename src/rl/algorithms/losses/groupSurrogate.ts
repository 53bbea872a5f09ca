/** What one token of the GRPO family costs for its advantage and its importance ratio, and how often the ratio is limited. */
import type { LossRow } from '../types.ts'
import type { Tallies } from '../common/tally.ts'
import { clip, type ClipBounds, clippedSurrogate } from './clipping.ts'

export type GroupSurrogate =
  | { readonly kind: 'clipped' | 'cispo'; readonly bounds: ClipBounds }
  | {
      readonly kind: 'soft-gate'
      readonly temperatures: { readonly positive: number; readonly negative: number }
    }

/** One token's surrogate and its slopes. */
export interface TokenSurrogate {
  readonly value: number
  /** ∂value/∂ρ */
  readonly ratioSlope: number
  /** ∂value/∂A */
  readonly advantageSlope: number
  /** ∂value/∂logprob with ρ and A held */
  readonly logprobSlope: number
}

export function surrogateOf(
  ratio: number,
  advantage: number,
  logprob: number,
  surrogate: GroupSurrogate,
): TokenSurrogate {
  if (surrogate.kind === 'clipped')
    return { ...clippedSurrogate(ratio, advantage, surrogate.bounds), logprobSlope: 0 }
  if (surrogate.kind === 'soft-gate') return softGate(ratio, advantage, surrogate.temperatures)
  const weight = clip(ratio, surrogate.bounds)
  return {
    value: -weight * advantage * logprob,
    ratioSlope: 0,
    advantageSlope: -weight * logprob,
    logprobSlope: -weight * advantage,
  }
}

/** −(4/τ)·σ(τ(ρ − 1))·A, whose slope at ρ = 1 is −A as without a gate, and fades to both sides. */
function softGate(
  ratio: number,
  advantage: number,
  { positive, negative }: { readonly positive: number; readonly negative: number },
): TokenSurrogate {
  const temperature = advantage > 0 ? positive : negative
  const open = 1 / (1 + Math.exp(-temperature * (ratio - 1)))
  const gate = (4 / temperature) * open
  return {
    value: -gate * advantage,
    ratioSlope: -4 * open * (1 - open) * advantage,
    advantageSlope: -gate,
    logprobSlope: 0,
  }
}

/** Shares of units (tokens, turns or trajectories, whatever has a ratio of its own) outside the bounds; nothing for a gate. */
export function clipTallies(
  row: LossRow,
  units: readonly (readonly number[])[],
  ratioOf: (unit: readonly number[]) => number,
  surrogate: GroupSurrogate,
): Tallies {
  if (surrogate.kind === 'soft-gate') return {}
  const { kind, bounds } = surrogate
  const count = units.length
  let [low, high] = [0, 0]
  for (const unit of units) {
    const ratio = ratioOf(unit)
    const shareOf = (isClipped: (advantage: number) => boolean) =>
      unit.filter((t) => kind === 'cispo' || isClipped(row.advantages[t]!)).length / unit.length
    if (ratio < bounds.lower) low += shareOf((advantage) => advantage < 0)
    if (ratio > bounds.upper) high += shareOf((advantage) => advantage > 0)
  }
  return {
    'clip_ratio/low_mean': { sum: low, count },
    'clip_ratio/high_mean': { sum: high, count },
    'clip_ratio/region_mean': { sum: low + high, count },
  }
}
