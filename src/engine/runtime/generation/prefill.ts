/** Computes prompts: several short ones in one ragged pass, a long one in several passes. */
import type { DecodePass, DecodeStep, NewPrompt, PassResult, PassScores } from './decoder.ts'
import { StateCache } from './stateCache.ts'

/** State that all passes of one generation share, and the function that runs a pass. */
export interface PrefillContext {
  readonly step: DecodeStep
  /** Most positions, padding included, of one pass. */
  readonly prefillTokens: number
  readonly run: (pass: Omit<DecodePass, 'role'>) => Promise<PassResult>
}

interface CachedPrompt {
  /** One row, exactly as long as the prompt. */
  readonly cache: StateCache
  /** [V] of the position after the prompt. */
  readonly scores: Float32Array
}

/** Padding that is cheaper than one more pass over the weights, per row. */
const PADDING_PER_ROW = 16

/**
 * Returns how many of the first prompts to compute together: as many as fit in the budget without much padding, at
 * least one.
 */
export function ragFit(lengths: readonly number[], prefillTokens: number): number {
  let [longest, total] = [0, 0]
  for (const [index, length] of lengths.entries()) {
    longest = Math.max(longest, length)
    total += length
    const padded = longest * (index + 1)
    const tolerated = Math.max(total / 8, PADDING_PER_ROW * (index + 1))
    if (index > 0 && (padded > prefillTokens || padded - total > tolerated)) return index
  }
  return lengths.length
}

/** Lays prompts out as the rows of one pass, padded to the longest; the last token of each has scores. */
export function raggedPass(prompts: readonly NewPrompt[]) {
  const rows = prompts.length
  const length = prompts.reduce((longest, { ids }) => Math.max(longest, ids.length), 0)
  const ids = new Int32Array(rows * length) // [B, T]
  const positions = new Int32Array(rows * length) // [B, T]
  for (const [row, prompt] of prompts.entries()) {
    ids.set(prompt.ids, row * length)
    for (let position = 0; position < prompt.ids.length; position++)
      positions[row * length + position] = position
  }
  const scored = Int32Array.from(prompts, (prompt, row) => row * length + prompt.ids.length - 1)
  const inverseTemperatures = Float64Array.from(prompts, ({ inverseTemperature }) => inverseTemperature)
  return { rows, length, ids, positions, scored, inverseTemperatures }
}

/** Computes prompts chosen with `ragFit`, in order. `want` says which scores follow the last position. */
export async function prefill(
  context: PrefillContext,
  prompts: readonly NewPrompt[],
  want: PassScores,
): Promise<CachedPrompt[]> {
  const [first] = prompts
  if (prompts.length === 1 && first && first.ids.length > context.prefillTokens) {
    return [await prefillInChunks(context, first, want)]
  }
  return prefillTogether(context, prompts, want)
}

async function prefillTogether(
  { step, run }: PrefillContext,
  given: readonly NewPrompt[],
  want: PassScores,
): Promise<CachedPrompt[]> {
  const pass = raggedPass(given)
  const { rows, length } = pass
  const result = await run({ ...pass, cache: new StateCache(step.states, rows, 0), want })
  return given.map(({ ids }, row) => {
    const own = new StateCache(step.states, 1, ids.length)
    own.append(0, result.fresh, { row, length, count: ids.length })
    return { cache: own, scores: result.scores.subarray(row * step.vocabSize, (row + 1) * step.vocabSize) }
  })
}

async function prefillInChunks(
  { step, prefillTokens, run }: PrefillContext,
  { ids: prompt, inverseTemperature }: NewPrompt,
  want: PassScores,
): Promise<CachedPrompt> {
  // Grown chunk by chunk, so that no pass attends to slots which are not filled yet.
  const cache = new StateCache(step.states, 1, 0)
  for (let start = 0; ; start += prefillTokens) {
    const ids = prompt.subarray(start, start + prefillTokens)
    const isLast = start + ids.length === prompt.length
    const result = await run({
      rows: 1,
      length: ids.length,
      ids,
      positions: Int32Array.from(ids, (_, index) => start + index),
      cache,
      scored: Int32Array.of(ids.length - 1),
      inverseTemperatures: Float64Array.of(inverseTemperature),
      want: isLast ? want : 'none',
    })
    cache.resize(start + ids.length)
    cache.append(0, result.fresh, { row: 0, length: ids.length, count: ids.length })
    if (isLast) return { cache, scores: result.scores }
  }
}
