/** What a written loss is, and the sums and ratios all of them are made of. */
import type { LossRow } from '#rl/algorithms/types.ts'

export type Row = Omit<LossRow, 'logprobs' | 'entropies' | 'values'>
export interface WrittenLossInput {
  readonly rows: readonly Row[]
  readonly logprobs: readonly Float64Array[]
  readonly entropies: readonly Float64Array[]
  readonly values: readonly Float64Array[]
  /** The log-probabilities of factors that the gradient must not pass through. */
  readonly constant: readonly Float64Array[]
}

export type Level = 'token' | 'turn' | 'trajectory'
export type Loss = (input: WrittenLossInput) => number
type Settings = Readonly<Record<string, unknown>>

export interface WrittenLoss {
  readonly algorithm: string
  readonly name: string
  readonly settings: Settings
  readonly loss: Loss
}

export const levels: readonly Level[] = ['token', 'turn', 'trajectory']
export const poolings = ['sum', 'mean'] as const

export const actions = ({ actionMask }: Row): number[] =>
  [...actionMask].flatMap((isAction, t) => (isAction === 1 ? [t] : []))
export const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
export const mean = (values: readonly number[]): number => sum(values) / Math.max(values.length, 1)
export const clamp = (value: number, [low, high]: readonly [number, number]): number =>
  Math.min(Math.max(value, low), high)

/** One number per action token of the minibatch. */
export const perToken = ({ rows }: WrittenLossInput, value: (i: number, t: number) => number): number[] =>
  rows.flatMap((row, i) => actions(row).map((t) => value(i, t)))

export const logRatioToReference = ({ rows, logprobs }: WrittenLossInput, i: number, t: number): number =>
  logprobs[i]![t]! - rows[i]!.referenceLogprobs![t]!

export function k3(input: WrittenLossInput, i: number, t: number): number {
  const difference = logRatioToReference(input, i, t)
  return Math.exp(difference) - difference - 1
}

/** Tokens whose log-ratios make the ratio of token t. */
export function sharers(row: Row, t: number, level: Level): number[] {
  if (level === 'token') return [t]
  return actions(row).filter(
    (s) => level === 'trajectory' || row.turnIds === null || row.turnIds[s] === row.turnIds[t],
  )
}
