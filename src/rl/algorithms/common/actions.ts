/** Sums over the tokens the policy chose. */
import type { Experience } from '../types.ts'

type Masked = Pick<Experience, 'actionMask'>

export function actionCount({ actionMask }: Masked): number {
  return actionMask.reduce((count, isAction) => count + isAction, 0)
}

/** Number of action tokens of all rows. */
export function actionTotal(rows: readonly Masked[]): number {
  return rows.reduce((sum, row) => sum + actionCount(row), 0)
}

/** Sum of `value` over the action tokens; what lies outside the mask is never looked at. */
export function sumOverActions({ actionMask }: Masked, value: (t: number) => number): number {
  return actionMask.reduce((sum, isAction, t) => (isAction === 1 ? sum + value(t) : sum), 0)
}

/** [T] `value` at each action token, 0 elsewhere. */
export function atActions({ actionMask }: Masked, value: (t: number) => number): Float64Array {
  return Float64Array.from(actionMask, (isAction, t) => (isAction === 1 ? value(t) : 0))
}
