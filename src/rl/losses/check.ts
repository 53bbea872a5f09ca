/**
 * Checks, on one batch and before training, that a policy can learn from a loss: numbers are finite, there is a
 * gradient, it points the right way, and nothing depends on padding, on the order of rows or on the split into
 * micro-batches.
 */
import { headNames, lossCheckNames, type LossCheckName, type LossProgram } from '#shared/losses.ts'
import { AppError } from '#shared/errors.ts'
import type { LossRow, TokenPlace } from '../algorithms/types.ts'
import { actionsOf, jittered, moved, onPolicy, type Place, shiftedTo, withPadding } from './alteredRows.ts'
import {
  coefficientAt,
  cutLoss,
  differing,
  type Loss,
  lossOf,
  lossWithoutPrompts,
  shown,
  tokenWords,
  unitsOf,
} from './batchLoss.ts'
import { remedyFor } from './expression.ts'
import { inputsOf } from './program.ts'

export interface LossFault {
  readonly name: LossCheckName
  /** Fault and how to fix it, in sentences. */
  readonly message: string
  /** The token that shows the fault: its row, and its index in the shifted frame; null if no single token does. */
  readonly token: TokenPlace | null
}

export interface LossCheckOptions {
  /** Number of consecutive rows that belong together, as in `Needs`. */
  readonly unit: number
  readonly experience: 'rollout' | 'demonstrations' | 'preferences'
}

/** The first fault found, or null. Rows: a real batch, each with at least one token to learn from. */
export function checkLoss(
  program: LossProgram,
  batch: readonly LossRow[],
  options: LossCheckOptions,
): LossFault | null {
  for (const { fault } of checked(program, batch, options)) if (fault !== null) return fault
  return null
}

/** The result of each check, in order; the later checks are skipped if there is no usable gradient. */
export function* checked(
  program: LossProgram,
  batch: readonly LossRow[],
  options: LossCheckOptions,
): Generator<{ readonly name: LossCheckName; readonly fault: LossFault | null }> {
  const rows = batch.map(onPolicy)
  const subject = { program, rows, options, base: lossOf(program, rows) }
  for (const name of lossCheckNames) {
    const fault = checks[name](subject)
    yield { name, fault }
    if (fault !== null && (name === 'not-finite' || name === 'no-gradient')) return
  }
}

/** The error for a loss refused before training. `text`: that of the token that shows the fault. */
export const unsoundLoss = (title: string, { name, message }: LossFault, text?: string): AppError =>
  new AppError(
    'loss/failed',
    `The loss ${title} was refused (${name}). ${message}${text === undefined ? '' : ` The token is “${text}”.`}`,
    'Nothing was trained with it.',
  )

interface Subject {
  readonly program: LossProgram
  /** Every ratio is 1. */
  readonly rows: readonly LossRow[]
  readonly options: LossCheckOptions
  readonly base: Loss
}

// ---- the checks ----

type Check = (subject: Subject) => LossFault | null

const isFinite: Check = ({ program, rows, base }) =>
  infinite(program, base, rows, 'where every importance ratio is 1') ??
  extremes
    .map(({ where, logp }) => {
      const moved = rows.map((row) => ({ ...row, ...shiftedTo(row, logp) }))
      return infinite(program, lossOf(program, moved), moved, where)
    })
    .find((fault) => fault !== null) ??
  null

const extremes: readonly { where: string; logp: (old: number) => readonly [logp: number, old: number] }[] = [
  { where: 'at ratio 0, where the policy no longer generates the token', logp: (old) => [old - 800, old] },
  {
    where: 'at a ratio of 10¹³, where the policy has become certain of an unlikely token',
    logp: () => [-1e-6, -30],
  },
]

function infinite(
  program: LossProgram,
  { value, coefficients, evaluation }: Loss,
  rows: readonly LossRow[],
  where: string,
): LossFault | null {
  const token = actionsOf(rows).find(({ row, place }) =>
    headNames.some((head) => !Number.isFinite(coefficientAt(coefficients, head, { row, place }) ?? 0)),
  )
  if (token === undefined && Number.isFinite(value)) return null
  const what =
    token === undefined
      ? `The loss is ${value}`
      : `The gradient of ${tokenWords(token, rows)} is ${shown(coefficientAt(coefficients, 'logp', token) ?? NaN)}`
  const advice =
    remedyFor(program, evaluation, rows) ??
    'Use clip to bound what can overflow, and do not divide by, or take the logarithm of, anything that can be 0'
  return {
    name: 'not-finite',
    message: `${what} ${where}. ${advice}.`,
    token: token ?? null,
  }
}

const hasAdvantages = ({ program }: Subject): boolean => inputsOf(program).has('advantages')

const hasGradient: Check = (subject) => {
  const { rows, base } = subject
  const weighted = actionsOf(rows).filter(
    (token) => !hasAdvantages(subject) || rows[token.row]!.advantages[token.place] !== 0,
  )
  const [token] = weighted
  if (token === undefined) return null
  if (
    weighted.some((each) =>
      headNames.some((head) => (coefficientAt(base.coefficients, head, each) ?? 0) !== 0),
    )
  )
    return null
  return {
    name: 'no-gradient',
    message: `The gradient is 0 for every token, including ${tokenWords(token, rows)}, so nothing would be learned. A ratio of the policy to itself, such as exp(logp - logp), is always 1: write exp(logp - oldLogp), or exp(logp - stopGradient(logp)).`,
    token,
  }
}

/**
 * Finds tokens with advantages of one sign that get no gradient although the loss depends on their log-probabilities.
 */
const isConnected: Check = (subject) => {
  if (!hasAdvantages(subject)) return null
  const { program, rows, base } = subject
  for (const sign of [1, -1]) {
    const tokens = actionsOf(rows).filter(({ row, place }) => rows[row]!.advantages[place]! * sign > 0)
    const isDead = tokens.every((token) => (coefficientAt(base.coefficients, 'logp', token) ?? 0) === 0)
    const [token] = tokens
    if (token === undefined || !isDead) continue
    const change = lossOf(program, moved(rows, token, 'logp', 0.05)).value - base.value
    if (Math.abs(change) <= 1e-12 * Math.max(1, Math.abs(base.value))) continue
    return {
      name: 'severed-gradient',
      message: `The loss changes with the log-probability of ${tokenWords(token, rows)}, whose advantage is ${sign > 0 ? 'positive' : 'negative'}, but its gradient is 0, as for all such tokens: a branch of where(…), or the whole term, passes through stopGradient. Apply stopGradient only to the factor that serves as a weight.`,
      token,
    }
  }
  return null
}

/** The part of a token's gradient that changes sign with its advantage must make good tokens more likely. */
const pointsRight: Check = (subject) => {
  const { rows, base, options } = subject
  const pull = pullOf(subject)
  const worst = actionsOf(rows).reduce<{ token: Place | null; pull: number }>(
    (most, token) => (pull(token) > most.pull ? { token, pull: pull(token) } : most),
    { token: null, pull: 0 },
  )
  const total = actionsOf(rows).reduce((sum, token) => sum + pull(token), 0)
  if (worst.token === null || total <= 1e-12 * Math.max(1, Math.abs(base.value))) return null
  const { row, place } = worst.token
  const what =
    options.experience === 'rollout'
      ? `${tokenWords(worst.token, rows)} has an advantage of ${shown(rows[row]!.advantages[place]!)}, and an update would make it ${rows[row]!.advantages[place]! > 0 ? 'less' : 'more'} likely`
      : `an update would make the ${options.experience === 'preferences' ? 'chosen answers less likely than the rejected ones' : 'given answers less likely'}, as ${tokenWords(worst.token, rows)} shows`
  return {
    name: 'sign',
    message: `The sign is wrong: ${what}. The optimizer minimises the loss, so negate what should grow: -mean(ratio * advantages, mask).`,
    token: worst.token,
  }
}

/** ∂loss/∂logp times the sign of the desired change: above 0 is the wrong direction. */
function pullOf({ program, rows, base, options }: Subject): (token: Place) => number {
  const at = (loss: Loss, token: Place) => coefficientAt(loss.coefficients, 'logp', token) ?? 0
  if (options.experience === 'demonstrations') return (token) => at(base, token)
  if (options.experience === 'preferences') return (token) => at(base, token) * (token.row % 2 === 0 ? 1 : -1)
  const turned = lossOf(
    program,
    rows.map((row) => ({ ...row, advantages: row.advantages.map((A) => -A) })),
  )
  return (token) => ((at(base, token) - at(turned, token)) / 2) * rows[token.row]!.advantages[token.place]!
}

const ignoresPadding: Check = ({ program, rows, base }) => {
  const padded = rows.map((row, i) => withPadding(row, 3 + 2 * (i % 3)))
  const atEnd = differing(base, lossOf(program, padded), rows)
  const difference = atEnd ?? differing(base, lossWithoutPrompts(program, rows), rows)
  if (difference === null) return null
  const change =
    atEnd === null ? 'without the tokens of prompts' : 'with extra tokens after the end of each sequence'
  return {
    name: 'padding',
    message: `The loss depends on ${atEnd === null ? 'positions outside the mask' : 'padding'}: ${change}, ${difference.words}. Pass the mask to every sum and mean over tokens: mean(x, mask).`,
    token: difference.token,
  }
}

const ignoresOrder: Check = ({ program, rows, options, base }) => {
  const units = unitsOf(
    rows.map((_, i) => i),
    options.unit,
  ).reverse()
  const order = units.flat()
  const turned = lossOf(
    program,
    order.map((i) => rows[i]!),
  )
  const coefficients = rows.map((_, i) => turned.coefficients[order.indexOf(i)]!)
  const difference = differing(base, { ...turned, coefficients }, rows)
  if (difference === null) return null
  return {
    name: 'row-order',
    message: `The loss depends on the order of rows: with the same rows reversed, ${difference.words}.`,
    token: difference.token,
  }
}

/** The weighted sum over the parts is the loss of the whole. */
const addsUp: Check = ({ program, rows, options, base }) => {
  const difference = differing(base, cutLoss(program, rows, options.unit), rows)
  if (difference === null) return null
  const others = (['tokens', 'sequences'] as const).filter((weight) => {
    const reweighed = { ...program, terms: program.terms.map(({ loss }) => ({ loss, weight })) }
    return differing(base, cutLoss(reweighed, rows, options.unit), rows) === null
  })
  const advice =
    others[0] === undefined
      ? 'A mean is taken over the wrong axis, or over something that is split between micro-batches. Take the mean over the tokens of each sequence and then over sequences, or over all tokens.'
      : `Its means count ${others[0]}: add lossWeight: '${others[0]}'.`
  return {
    name: 'micro-batches',
    message: `The loss depends on how a minibatch is split into micro-batches: one sequence at a time, ${difference.words}. ${advice}`,
    token: difference.token,
  }
}

/** Number of tokens checked with central differences. */
const examined = 48
/** Half the distance between the two points of a central difference, nats. */
const step = 1e-5

/**
 * Compares the gradient with central differences. Values inside a stopGradient are held fixed, as the gradient assumes.
 * Derivatives are ours, so no loss that the other checks accept is known to fail here; this one watches the rules of
 * our operators, and a jump that a token happens to stand on.
 */
const isDerivative: Check = ({ program, rows }) => {
  const near = jittered(rows)
  const base = lossOf(program, near)
  const { stopped } = base.evaluation
  const tokens = actionsOf(near)
  const chosen = tokens.filter((_, i) => i % Math.max(1, Math.ceil(tokens.length / examined)) === 0)
  const largest = Math.max(
    ...headNames.flatMap((head) =>
      tokens.map((token) => Math.abs(coefficientAt(base.coefficients, head, token) ?? 0)),
    ),
  )
  for (const head of headNames) {
    if (!inputsOf(program).has(head)) continue
    for (const token of chosen) {
      const at = (h: number) => lossOf(program, moved(near, token, head, h), stopped).value
      const difference = (at(step) - at(-step)) / (2 * step)
      const derivative = coefficientAt(base.coefficients, head, token) ?? 0
      if (Math.abs(difference - derivative) <= 1e-4 * Math.max(largest, Math.abs(difference)) + 1e-9) continue
      return {
        name: 'gradient',
        message: `The gradient of ${tokenWords(token, near)} with respect to ${head} is ${shown(derivative)}, but the loss changes by ${shown(difference)}: it is discontinuous there, as with a where(…) whose two values differ at the boundary.`,
        token,
      }
    }
  }
  return null
}

const checks: Readonly<Record<LossCheckName, Check>> = {
  'not-finite': isFinite,
  'no-gradient': hasGradient,
  'severed-gradient': isConnected,
  sign: pointsRight,
  padding: ignoresPadding,
  'row-order': ignoresOrder,
  'micro-batches': addsUp,
  gradient: isDerivative,
}
