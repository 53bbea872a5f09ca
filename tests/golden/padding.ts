/**
 * Rectangles of token ids, as other programs hand batches over: rows of one width, padded on the right. Our own rows are
 * ragged and never padded; masks come from lengths there, so that a row may end with the id others pad with.
 */
import type { Experience } from '#rl/algorithms/types.ts'

/** [B][W] rows on top of each other, filled up on the right to the longest. */
export function paddedRows(rows: readonly ArrayLike<number>[], fill: number): number[][] {
  const width = Math.max(0, ...rows.map(({ length }) => length))
  return rows.map((row) => Array.from({ length: width }, (_, t) => row[t] ?? fill))
}

/** [L] 1 up to the last id that is not the padding; the same id further inside counts as a token. */
export function attentionMask(ids: ArrayLike<number>, padId: number): Uint8Array {
  const length = Array.from(ids).findLastIndex((id) => id !== padId) + 1
  return new Uint8Array(ids.length).fill(1, 0, length)
}

/** [L] position of each token; 1 where nothing is attended to. */
export function positionIds(mask: Uint8Array): Int32Array {
  let next = 0
  return Int32Array.from(mask, (isToken) => (isToken === 1 ? next++ : 1))
}

/**
 * [L−1] AgileRL's action mask of a padded row: from the first generated token on, wherever the id is not the padding's.
 * Where a model pads with its end-of-text token, the end of a completion then is no action; `completionMask` of the
 * rollout goes by lengths instead.
 */
export function unpaddedCompletionMask(
  ids: ArrayLike<number>,
  promptLength: number,
  padId: number,
): Experience['actionMask'] {
  return Uint8Array.from({ length: ids.length - 1 }, (_, t) =>
    t + 1 >= promptLength && ids[t + 1] !== padId ? 1 : 0,
  )
}
