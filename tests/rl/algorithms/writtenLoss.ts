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
export const perToken = <Value>(
  { rows }: WrittenLossInput,
  value: (i: number, t: number) => Value,
): Value[] => rows.flatMap((row, i) => actions(row).map((t) => value(i, t)))

export const logRatioToReference = ({ rows, logprobs }: WrittenLossInput, i: number, t: number): number =>
  logprobs[i]![t]! - rows[i]!.referenceLogprobs![t]!

export type Estimator = 'k1' | 'k2' | 'k3' | 'k3-reversed'

/** Schulman's estimates of the divergence of the policy from the reference, with r = reference probability / probability. */
const estimates: Readonly<Record<Estimator, (r: number) => number>> = {
  k1: (r) => -Math.log(r),
  k2: (r) => Math.log(r) ** 2 / 2,
  k3: (r) => r - 1 - Math.log(r),
  'k3-reversed': (r) => 1 / r - 1 + Math.log(r),
}

/** What is left of an estimate above a bound; only where its slope grows without bound. */
function bounded(
  estimator: Estimator,
  ratio: number,
  { clamp: bound, beyond }: { readonly clamp: number; readonly beyond: number },
): number {
  const value = estimates[estimator](ratio)
  const isSteep = { k1: false, k2: true, k3: ratio > 1, 'k3-reversed': ratio < 1 }[estimator]
  return isSteep && value > bound ? beyond : value
}

export interface KlForm {
  readonly estimator?: Estimator
  readonly clamp?: number
  /** What a token beyond the clamp counts: nothing in the loss, the bound where it shapes advantages. */
  readonly beyond?: number
}

/** The divergence at token t. */
export const klAt = (
  input: WrittenLossInput,
  i: number,
  t: number,
  { estimator = 'k3', clamp: bound = 10, beyond = 0 }: KlForm = {},
): number => bounded(estimator, Math.exp(-logRatioToReference(input, i, t)), { clamp: bound, beyond })

/** Tokens whose log-ratios make the ratio of token t. */
export function sharers(row: Row, t: number, level: Level): number[] {
  if (level === 'token') return [t]
  return actions(row).filter(
    (s) => level === 'trajectory' || row.turnIds === null || row.turnIds[s] === row.turnIds[t],
  )
}
