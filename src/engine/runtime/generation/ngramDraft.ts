/**
 * Guesses how a completion goes on from what it has already said, and when checking the guess pays. Several ids in one pass
 * over the weights cost little more than one where few rows decode (speculative decoding: Leviathan et al. 2023,
 * arXiv:2211.17192). Here a draft is what followed the latest occurrence of the last two ids, so there is no second model.
 *
 * Every id is chosen by its own random number from the scores behind the ids before it, with a draft as without one; a
 * draft whose next id is another one ends there. So a completion does not depend on drafts, but for rounding.
 */

/** Ids that a draft must agree with before it goes on. */
const CONTEXT = 2
/** Most ids of a draft. */
const LONGEST_DRAFT = 7
/** Weight of the latest guess in the rate of right ones. */
const NOVELTY = 1 / 8

/** Guesses how one completion continues, from n-grams that occurred before. */
export class NgramDraft {
  readonly #ids: number[] = []
  /** Position behind the latest occurrence of each group of `CONTEXT` ids. */
  readonly #places = new Map<number, number>()
  #rate = 0

  /** `ids`: prompt and completion so far. */
  constructor(ids: Iterable<number>) {
    for (const id of ids) this.add(id)
  }

  /**
   * Recent share of first guesses that were right; each guess is compared with the real id, also where nothing was
   * drafted.
   */
  get rate(): number {
    return this.#rate
  }

  add(id: number): void {
    const key = this.#latest()
    const place = this.#places.get(key)
    if (place !== undefined) this.#rate += NOVELTY * (Number(this.#ids[place] === id) - this.#rate)
    if (this.#ids.length >= CONTEXT) this.#places.set(key, this.#ids.length)
    this.#ids.push(id)
  }

  /** Guesses at most `most` ids, none where the last ones are new. What repeats itself is followed beyond its end. */
  next(most: number): number[] {
    const place = this.#places.get(this.#latest())
    if (place === undefined) return []
    const period = this.#ids.length - place
    return Array.from({ length: Math.max(0, most) }, (_, at) => this.#ids[place + (at % period)]!)
  }

  /** A number for the last `CONTEXT` ids. Different ones may share it, which costs a wrong guess. */
  #latest(): number {
    return this.#ids.slice(-CONTEXT).reduce((key, id) => (key * 1_000_003 + id) % Number.MAX_SAFE_INTEGER, 0)
  }
}

/**
 * Drafts of B rows, cut to the length that maximises the expected number of accepted ids per unit of time; empty if
 * decoding without drafts is faster. `room` [B]: how many more ids a row may take; `passCost`: as in `Decoder`.
 */
export function draftsOf(
  rows: readonly NgramDraft[],
  room: readonly number[],
  passCost: (positions: number) => number,
): number[][] {
  const drafts = rows.map((row, index) => row.next(Math.min(LONGEST_DRAFT, room[index]! - 1)))
  let [best, mostIds] = [0, rows.length / passCost(rows.length)]
  for (let length = 1; length <= LONGEST_DRAFT; length++) {
    const ids = rows.reduce(
      (sum, { rate }, row) => sum + expectedIds(rate, Math.min(length, drafts[row]!.length)),
      0,
    )
    const perTime = ids / passCost(rows.length * (length + 1))
    if (perTime > mostIds) [best, mostIds] = [length, perTime]
  }
  return drafts.map((draft) => draft.slice(0, best))
}

/** 1 + r + … + rⁿ: the id behind those accepted comes with them. */
function expectedIds(rate: number, drafted: number): number {
  let ids = 1
  for (let accepted = rate; drafted > 0; drafted--, accepted *= rate) ids += accepted
  return ids
}
