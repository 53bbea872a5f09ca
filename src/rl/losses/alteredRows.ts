/** Copies of a batch with small changes, which the checks of a loss compare with the original. */
import type { HeadName } from '#shared/losses.ts'
import { randomStream } from '#shared/random.ts'
import type { LossRow } from '../algorithms/types.ts'

/** As in the first update of a step: every ratio is 1. */
export const onPolicy = (row: LossRow): LossRow => ({ ...row, behaviorLogprobs: row.logprobs })

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

/** Appends tokens outside the action mask, filled with arbitrary numbers. */
export function withPadding(row: LossRow, count: number): LossRow {
  const longer = (values: Float64Array) =>
    Float64Array.from({ length: values.length + count }, (_, t) => values[t] ?? -1.5)
  const orNull = (values: Float64Array | null) => values && longer(values)
  return {
    ...row,
    actionMask: Uint8Array.from({ length: row.actionMask.length + count }, (_, t) => row.actionMask[t] ?? 0),
    turnIds:
      row.turnIds && Int32Array.from({ length: row.turnIds.length + count }, (_, t) => row.turnIds![t] ?? -1),
    logprobs: longer(row.logprobs),
    entropies: longer(row.entropies),
    values: orNull(row.values),
    behaviorLogprobs: longer(row.behaviorLogprobs),
    referenceLogprobs: orNull(row.referenceLogprobs),
    behaviorValues: orNull(row.behaviorValues),
    behaviorEntropies: orNull(row.behaviorEntropies),
    advantages: longer(row.advantages),
    returns: orNull(row.returns),
    correction: orNull(row.correction),
    samplerLogprobs: orNull(row.samplerLogprobs ?? null),
  }
}

export function moved(
  rows: readonly LossRow[],
  { row, place }: Place,
  head: HeadName,
  by: number,
): LossRow[] {
  const key = ({ logp: 'logprobs', entropy: 'entropies', values: 'values' } as const)[head]
  return rows.map((each, i) => {
    const values = each[key]
    if (i !== row || values === null) return each
    const changed = Float64Array.from(values)
    changed[place]! += by
    return { ...each, [key]: changed }
  })
}
