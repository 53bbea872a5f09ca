/** Losses of randomLosses.ts in PyTorch and here, and how far the two are apart. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LossRow } from '#rl/algorithms/types.ts'
import { evaluate } from '#rl/losses/evaluate.ts'
import type { LossProgram } from '#shared/losses.ts'
import { openLoss, traced } from '#host/code/resolveAlgorithms.ts'
import { interpreter } from '../python/interpreter.ts'
import { lossFile, type RandomLoss, settings } from './randomLosses.ts'

export interface LossAnswer {
  readonly value: number
  /** ∂value/∂head at the actions of all rows, one after another. */
  readonly gradients: readonly number[]
}

/** Written by scripts/losses/record.ts. */
export const recordedFile = fileURLToPath(new URL('../../fixtures/losses/torch.jsonl', import.meta.url))
/** The seed of the rows there. */
export const recordedRows = 1

const heads = ['logprobs', 'entropies', 'values'] as const

const atActions = (rows: readonly LossRow[]): readonly boolean[] =>
  rows.flatMap(({ actionMask }) => Array.from(actionMask, (is) => is === 1))

function rowInPython(row: LossRow) {
  const { actionMask, turnIds, group, turnRewards, baselineReward, truncated, tokenLimit } = row
  const lists = {
    logp: row.logprobs,
    entropy: row.entropies,
    values: row.values,
    oldLogp: row.behaviorLogprobs,
    refLogp: row.referenceLogprobs,
    samplerLogp: row.samplerLogprobs,
    oldEntropy: row.behaviorEntropies,
    oldValues: row.behaviorValues,
    advantages: row.advantages,
    returns: row.returns,
    correction: row.correction,
    mask: actionMask,
    turns: turnIds,
  }
  return {
    ...Object.fromEntries(Object.entries(lists).map(([name, values]) => [name, Array.from(values ?? [])])),
    groups: group,
    rewards: turnRewards.reduce((sum, x) => sum + x, 0),
    baseline: baselineReward,
    truncated: Number(truncated),
    tokenLimit,
  }
}

export function inTorch(losses: readonly RandomLoss[], rows: readonly LossRow[]): LossAnswer[] {
  const script = fileURLToPath(new URL('torchLosses.py', import.meta.url))
  const input = JSON.stringify({
    settings,
    rows: rows.map(rowInPython),
    losses: losses.map(({ python }) => python),
  })
  const { stdout, stderr } = spawnSync(interpreter, [script], { input, encoding: 'utf8', maxBuffer: 2 ** 30 })
  if (stdout === '') throw new Error(stderr)
  const isAction = atActions(rows)
  // Python writes NaN and Infinity, which JSON does not know.
  const text = stdout.replaceAll(/-?Infinity|NaN/g, (word) => `"${word}"`)
  const answers = JSON.parse(text) as { value: number | string; gradients: Record<string, number[]> }[]
  return answers.map(({ value, gradients }) => ({
    value: Number(value),
    gradients: Object.values(gradients).flatMap((list) => list.filter((_, i) => isAction[i]).map(Number)),
  }))
}

/** Traced in the sandbox as a user's file is; null where a loss is refused there, with the reason. */
export async function programsOf(
  codes: readonly string[],
): Promise<readonly { readonly program: LossProgram | null; readonly reason: string | null }[]> {
  const loss = await openLoss('random.js', { code: lossFile(codes), language: 'js' })
  await using _ = loss.sandbox
  const results = []
  for (const which of codes.keys()) {
    try {
      results.push({ program: await traced(loss, { which }), reason: null })
    } catch (error) {
      results.push({ program: null, reason: (error as Error).message })
    }
  }
  return results
}

export function here(program: LossProgram, rows: readonly LossRow[]): LossAnswer {
  const evaluation = evaluate(program, rows)
  const coefficients = evaluation.gradient([1])
  return {
    value: evaluation.losses[0]!,
    gradients: heads.flatMap((head) =>
      rows.flatMap(({ actionMask }, i) =>
        Array.from(actionMask, (_, t) => coefficients[i]![head]?.[t] ?? 0).filter(
          (_, t) => actionMask[t] === 1,
        ),
      ),
    ),
  }
}

export const isFinite = ({ value, gradients }: LossAnswer): boolean =>
  Number.isFinite(value) && gradients.every(Number.isFinite)

/** The largest difference of value or gradient, relative to the larger of 1 and what is compared. */
export function distance(a: LossAnswer, b: LossAnswer): number {
  const largest = Math.max(1, ...b.gradients.map(Math.abs))
  return Math.max(
    Math.abs(a.value - b.value) / Math.max(1, Math.abs(b.value)),
    ...a.gradients.map((x, i) => Math.abs(x - b.gradients[i]!) / largest),
  )
}

/** What is kept of an answer: the value, and the gradient of each head along a fixed direction. */
export function summaryOf({ value, gradients }: LossAnswer): readonly number[] {
  const actions = gradients.length / heads.length
  const along = heads.map((_, head) =>
    gradients
      .slice(head * actions, (head + 1) * actions)
      .reduce((sum, x, i) => sum + x * Math.cos(1 + i + head), 0),
  )
  return [value, ...along]
}
