/** What rewards say of a completion and of an edited copy of it. */

export type Parts = Readonly<Record<string, number | null>>

export interface RewardTerm {
  readonly name: string
  /** What the function said; null: it does not apply or failed. */
  readonly value: number | null
  /** null: not among the settings of the run. */
  readonly weight: number | null
  /** Value times weight. */
  readonly share: number | null
}

/** Every part with its weight, those of the settings first and in their order. */
export function rewardTerms(parts: Parts, weights: ReadonlyMap<string, number>): readonly RewardTerm[] {
  const names = [...new Set([...[...weights.keys()].filter((name) => name in parts), ...Object.keys(parts)])]
  return names.map((name) => {
    const value = parts[name] ?? null
    const weight = weights.get(name) ?? null
    return { name, value, weight, share: value === null || weight === null ? null : value * weight }
  })
}

export interface ScoreChange {
  /** null: one of the two has no reward. */
  readonly delta: number | null
  /** Parts that say something else now, the largest difference first. */
  readonly parts: readonly {
    readonly name: string
    readonly before: number | null
    readonly after: number | null
  }[]
}

interface Scored {
  readonly reward: number | null
  readonly parts: Parts
}

/** Rewards are sums of floating-point products: smaller differences are none. */
const smallest = 1e-9

export function scoreChange(before: Scored, after: Scored): ScoreChange {
  const names = [...new Set([...Object.keys(before.parts), ...Object.keys(after.parts)])]
  const parts = names
    .map((name) => ({ name, before: before.parts[name] ?? null, after: after.parts[name] ?? null }))
    .filter((part) => differ(part.before, part.after))
    .sort((a, b) => sizeOf(b) - sizeOf(a))
  const delta = before.reward === null || after.reward === null ? null : after.reward - before.reward
  return { delta: delta !== null && Math.abs(delta) < smallest ? 0 : delta, parts }
}

const differ = (a: number | null, b: number | null): boolean =>
  a === null || b === null ? a !== b : Math.abs(a - b) >= smallest

const sizeOf = ({ before, after }: ScoreChange['parts'][number]): number =>
  before === null || after === null ? Infinity : Math.abs(after - before)

/** “correct lost”, “format 0.5 → 1”. */
export function partWords(
  { name, before, after }: ScoreChange['parts'][number],
  write: (value: number | null) => string,
): string {
  if (before !== null && after !== null && before > 0 && after === 0) return `${name} lost`
  if (before === 0 && after !== null && after > 0) return `${name} won`
  return `${name} ${write(before)} → ${write(after)}`
}
