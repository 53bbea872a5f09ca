/** Copies of a batch with small changes, which the checks of a loss compare with the original. */
import type { HeadName } from '#shared/losses.ts'
import { randomStream } from '#shared/random.ts'
import type { LossRow } from '../algorithms/types.ts'
import { alternativesOf } from './layout.ts'

/** Alters rows to be as in the first update of a step: every ratio is 1. */
export const onPolicy = (row: LossRow): LossRow => ({ ...row, behaviorLogprobs: row.logprobs })

/** Index of the alternative that stands for a token in the checks: another one from token to token. */
export const alternativeAt = (place: number, each: number): number => place * each + (place % each)

export interface Place {
  readonly row: number
  readonly place: number
}

/** Tokens that the policy chose. */
export function actionsOf(rows: readonly LossRow[]): Place[] {
  return rows.flatMap(({ actionMask }, row) =>
    Array.from(actionMask, (isAction, place) => ({ row, place, isAction })).filter(
      ({ isAction }) => isAction === 1,
    ),
  )
}

/** Mean size of the random change of a log-probability, nats: large enough to move away from kinks in the formulas. */
const jitter = 0.1

/** The rows with log-probabilities, entropies and values perturbed slightly, so that ratios are not 1. */
export function jittered(rows: readonly LossRow[], scale = jitter): LossRow[] {
  return rows.map((row, i) => {
    const chance = randomStream(0x1055, i)
    const moved = (values: Float64Array, from: number) =>
      values.map((x, t) => x + scale * (2 * chance.uniformAt(from + t) - 1))
    const n = row.actionMask.length
    return {
      ...row,
      logprobs: moved(row.logprobs, 0).map((x) => Math.min(x, -1e-6)),
      entropies: moved(row.entropies, n).map((x) => Math.max(x, 1e-6)),
      values: row.values && moved(row.values, 2 * n),
      ...(row.likeliestLogprobs && { likeliestLogprobs: moved(row.likeliestLogprobs, 3 * n) }),
    }
  })
}

export function shiftedTo(
  { logprobs }: LossRow,
  logp: (old: number) => readonly [number, number],
): Pick<LossRow, 'logprobs' | 'behaviorLogprobs'> {
  const pairs = Array.from(logprobs, logp)
  return {
    logprobs: Float64Array.from(pairs, ([now]) => now),
    behaviorLogprobs: Float64Array.from(pairs, ([, old]) => old),
  }
}

type List = Float64Array | Uint8Array | Int32Array

/** A row with each of its lists per token changed. `filler`: what stands outside the action mask. */
function withLists(
  row: LossRow,
  change: <T extends List>(values: T, filler: number, each: number) => T,
): LossRow {
  const numbers = (values: Float64Array, each = 1) => change(values, -1.5, each)
  const orNull = (values: Float64Array | null) => values && numbers(values)
  return {
    ...row,
    actionMask: change(row.actionMask, 0, 1),
    turnIds: row.turnIds && change(row.turnIds, -1, 1),
    logprobs: numbers(row.logprobs),
    entropies: numbers(row.entropies),
    values: orNull(row.values),
    behaviorLogprobs: numbers(row.behaviorLogprobs),
    referenceLogprobs: orNull(row.referenceLogprobs),
    behaviorValues: orNull(row.behaviorValues),
    behaviorEntropies: orNull(row.behaviorEntropies),
    advantages: numbers(row.advantages),
    returns: orNull(row.returns),
    correction: orNull(row.correction),
    samplerLogprobs: orNull(row.samplerLogprobs ?? null),
    ...(row.likeliest && {
      likeliest: {
        ids: change(row.likeliest.ids, 0, alternativesOf(row)),
        logprobs: numbers(row.likeliest.logprobs, alternativesOf(row)),
      },
    }),
    ...(row.likeliestLogprobs && { likeliestLogprobs: numbers(row.likeliestLogprobs, alternativesOf(row)) }),
  }
}

/** Appends tokens outside the action mask, filled with arbitrary numbers. */
export const withPadding = (row: LossRow, count: number): LossRow =>
  withLists(row, (values, filler, each) => {
    const longer = values.constructor as new (length: number) => typeof values
    const result = new longer(values.length + count * each).fill(filler) as typeof values
    result.set(values)
    return result
  })

/** Leaves out the tokens before the first one to learn from, so that the row begins with an action. */
export const withoutPrompt = (row: LossRow): LossRow =>
  withLists(row, (values, _, each) => values.slice(promptLength(row) * each) as typeof values)

/** Positions before the first token to learn from. */
export const promptLength = ({ actionMask }: LossRow): number => Math.max(actionMask.indexOf(1), 0)

export function moved(
  rows: readonly LossRow[],
  { row, place }: Place,
  head: HeadName,
  by: number,
): LossRow[] {
  const key = (
    { logp: 'logprobs', entropy: 'entropies', values: 'values', topLogp: 'likeliestLogprobs' } as const
  )[head]
  return rows.map((each, i) => {
    const values = each[key]
    if (i !== row || values == null) return each
    const changed = Float64Array.from(values)
    changed[alternativeAt(place, values.length / each.actionMask.length)]! += by
    return { ...each, [key]: changed }
  })
}
