/** The loss of a batch, computed in one piece and in other ways that must not change it, and where two of them differ. */
import { headNames, type HeadName, type LossProgram } from '#shared/losses.ts'
import type { HeadCoefficients, LossRow } from '../algorithms/types.ts'
import { actionsOf, alternativeAt, type Place, promptLength, withoutPrompt } from './alteredRows.ts'
import { alternativesOf } from './layout.ts'
import { evaluate, type Evaluation } from './evaluate.ts'

export interface Loss {
  readonly value: number
  readonly coefficients: readonly HeadCoefficients[]
  readonly evaluation: Evaluation
}

/** Computes the loss as if the rows were a whole minibatch. */
export function lossOf(
  program: LossProgram,
  rows: readonly LossRow[],
  frozen?: ReadonlyMap<number, Float64Array>,
): Loss {
  const evaluation = evaluate(program, rows, frozen)
  const factors = program.terms.map(() => 1)
  return {
    value: evaluation.losses.reduce((sum, loss) => sum + loss, 0),
    coefficients: evaluation.gradient(factors),
    evaluation,
  }
}

export const tokenWords = ({ row, place }: Place, rows: readonly LossRow[]): string => {
  const { actionMask } = rows[row]!
  const number = actionMask.subarray(0, place + 1).reduce((count, is) => count + is, 0)
  return `token ${number} of sequence ${row + 1}`
}

export const shown = (x: number): string =>
  Number.isFinite(x) ? String(Number(x.toPrecision(4))) : String(x)

export const coefficientAt = (
  coefficients: readonly HeadCoefficients[],
  head: HeadName,
  { row, place }: Place,
): number | undefined => {
  const { logprobs, entropies, values, alternatives } = coefficients[row]!
  if (head === 'topLogp') return alternatives?.[alternativeAt(place, alternatives.length / logprobs.length)]
  return { logp: logprobs, entropy: entropies, values }[head]?.[place]
}

/** Rows that begin with an action; gradients stand where they stand in `rows`. */
export function lossWithoutPrompts(
  program: LossProgram,
  rows: readonly LossRow[],
): Pick<Loss, 'value' | 'coefficients'> {
  const { value, coefficients } = lossOf(program, rows.map(withoutPrompt))
  const moved = (values: Float64Array | null | undefined, i: number, each = 1) =>
    values ? Float64Array.of(...new Float64Array(promptLength(rows[i]!) * each), ...values) : null
  return {
    value,
    coefficients: coefficients.map(({ logprobs, entropies, values, alternatives }, i) => ({
      logprobs: moved(logprobs, i)!,
      entropies: moved(entropies, i),
      values: moved(values, i),
      alternatives: moved(alternatives, i, alternativesOf(rows[i]!)),
    })),
  }
}

export const unitsOf = <Row>(rows: readonly Row[], unit: number): Row[][] =>
  Array.from({ length: Math.ceil(rows.length / unit) }, (_, k) => rows.slice(k * unit, (k + 1) * unit))

export function cutLoss(
  program: LossProgram,
  rows: readonly LossRow[],
  unit: number,
): Pick<Loss, 'value' | 'coefficients'> {
  const parts = unitsOf(rows, unit).map((part) => evaluate(program, part))
  const totals = program.terms.map((_, k) => parts.reduce((sum, { weights }) => sum + weights[k]!, 0))
  const shares = parts.map(({ weights }) =>
    weights.map((weight, k) => (totals[k] === 0 ? 0 : weight / totals[k]!)),
  )
  return {
    value: parts.reduce(
      (sum, { losses }, i) => losses.reduce((s, loss, k) => s + shares[i]![k]! * loss, sum),
      0,
    ),
    coefficients: parts.flatMap((part, i) => part.gradient(shares[i]!)),
  }
}

/** Reports where another way of computing the same loss gives a different result, beyond rounding. */
export function differing(
  base: Pick<Loss, 'value' | 'coefficients'>,
  other: Pick<Loss, 'value' | 'coefficients'>,
  rows: readonly LossRow[],
): { readonly words: string; readonly token: Place | null } | null {
  const at = ({ coefficients }: Pick<Loss, 'coefficients'>, head: HeadName, token: Place) =>
    coefficientAt(coefficients, head, token) ?? 0
  const tokens = actionsOf(rows)
  const gaps = headNames.flatMap((head) =>
    tokens.map((token) => ({ head, token, gap: Math.abs(at(base, head, token) - at(other, head, token)) })),
  )
  const worst = gaps.reduce((most, each) => (each.gap > most.gap ? each : most), gaps[0]!)
  const largest = Math.max(
    ...headNames.flatMap((head) => tokens.map((token) => Math.abs(at(base, head, token)))),
  )
  if (worst.gap > 1e-9 * Math.max(largest, 1e-6)) {
    const { head, token } = worst
    return {
      words: `the gradient of ${tokenWords(token, rows)} is ${shown(at(other, head, token))} instead of ${shown(at(base, head, token))}`,
      token,
    }
  }
  if (Math.abs(base.value - other.value) <= 1e-9 * Math.max(Math.abs(base.value), 1e-3)) return null
  return { words: `the loss is ${shown(other.value)} instead of ${shown(base.value)}`, token: null }
}
