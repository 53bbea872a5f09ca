/** The validation split, as a person sets it. */
import { plural } from '#renderer/client/format.ts'
import type { SplitRule } from './preparation.ts'

export type SplitKind = 'share' | 'rows' | 'none'

const usualShare = 0.1

/** A usual amount in the terms of that kind; null: none. */
export function withKind(kind: SplitKind, seed: number, rows: number): SplitRule | null {
  if (kind === 'none') return null
  if (kind === 'share') return { share: usualShare, seed }
  return { rows: Math.max(1, Math.min(rows - 1, Math.round(rows * usualShare))), seed }
}

/** A share is typed in percent. null: no number to work with. */
export function withAmount(rule: SplitRule, amount: number | null): SplitRule | null {
  if (amount === null || !(amount > 0)) return null
  if ('rows' in rule) return Number.isInteger(amount) ? { rows: amount, seed: rule.seed } : null
  // Typed shares such as 12.5 % are kept as they are meant.
  return amount < 100 ? { share: Number((amount / 100).toFixed(6)), seed: rule.seed } : null
}

export function splitProblem(rule: SplitRule, rows: number): string | null {
  if (rows < 2) return 'One row alone cannot be split.'
  if ('rows' in rule && rule.rows >= rows) return `Leave some of the ${plural(rows, 'row')} to train on.`
  return null
}
