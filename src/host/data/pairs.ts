/** Rows through a mapping, including the step that needs several of them: pairs of a good and a bad completion. */
import { isProblem, type ReadItem, type ReadRow } from './dataFile.ts'
import type { Columns } from './columnKinds.ts'
import { mapItem, type Mapping } from './mapping.ts'
import { rename } from './promptParts.ts'
import type { Proposal } from './proposal.ts'
import { markOf } from '#rl/rollout/marks.ts'

/** Maps rows as they come; rows that wait for their pair come later, or at the end as problems. */
export class RowMapper {
  readonly #mapping: Mapping
  readonly #pairing: Pairing | null

  constructor(mapping: Mapping) {
    const step = mapping.find(({ kind }) => kind === 'pairs')
    this.#mapping = mapping
    this.#pairing = step?.kind === 'pairs' ? new Pairing(step.label) : null
  }

  take(item: ReadItem): readonly ReadItem[] {
    const mapped = isProblem(item) ? item : mapItem(item, this.#mapping)
    return this.#pairing === null || isProblem(mapped) ? [mapped] : this.#pairing.add(mapped)
  }

  end(): readonly ReadItem[] {
    return this.#pairing?.end() ?? []
  }
}

class Pairing {
  readonly #label: string
  /** Unpaired rows by prompt, all good or all bad. */
  readonly #waiting = new Map<string, { readonly isGood: boolean; readonly rows: ReadRow[] }>()

  constructor(label: string) {
    this.#label = label
  }

  add(item: ReadRow): readonly ReadItem[] {
    const mark = markOf(item.row[this.#label])
    if (mark === null) return [problem(item, `its column “${this.#label}” marks it neither good nor bad`)]
    const key = JSON.stringify(item.row['prompt'] ?? null)
    const waiting = this.#waiting.get(key)
    if (waiting === undefined || waiting.isGood === mark) {
      if (waiting === undefined) this.#waiting.set(key, { isGood: mark, rows: [item] })
      else waiting.rows.push(item)
      return []
    }
    const other = waiting.rows.shift()
    if (waiting.rows.length === 0) this.#waiting.delete(key)
    if (other === undefined) return []
    return [mark ? this.#pair(item, other, item) : this.#pair(other, item, item)]
  }

  #pair(good: ReadRow, bad: ReadRow, place: ReadRow): ReadItem {
    const [chosen, rejected] = [good.row['completion'], bad.row['completion']]
    if (JSON.stringify(chosen) === JSON.stringify(rejected))
      return problem(place, 'the same completion to its prompt is marked both good and bad')
    const { completion: _completion, [this.#label]: _label, ...others } = place.row
    const row = Object.assign(Object.create(null) as Record<string, unknown>, others, { chosen, rejected })
    return { number: place.number, line: place.line, row }
  }

  end(): readonly ReadItem[] {
    return [...this.#waiting.values()]
      .flatMap(({ isGood, rows }) =>
        rows.map((row) =>
          problem(row, `its prompt has no ${isGood ? 'bad' : 'good'} completion left to pair it with`),
        ),
      )
      .sort((a, b) => a.number - b.number)
  }
}

const problem = ({ number, line }: ReadRow, sentence: string) => ({ number, line, sentence })

/** Marked completions become pairs if a prompt has both a good and a bad one; else they stay as they are. */
export function marked(
  columns: Columns,
  label: string,
  mapping: Mapping,
): Pick<Proposal, 'mapping' | 'doubts'> {
  const paired: Mapping = [...mapping, { kind: 'pairs', label }]
  const mapper = new RowMapper(paired)
  const makesPairs = columns.rows.some((row, at) =>
    mapper.take({ row, number: at + 1, line: null }).some((item) => !isProblem(item)),
  )
  const what = makesPairs
    ? 'They become pairs where a prompt has both; left as they are, KTO learns from all of them.'
    : 'KTO learns from them as they are.'
  return {
    mapping: makesPairs ? paired : [...mapping, ...rename(label, 'label')],
    doubts: [
      `“${label}” marks completions as good or bad. ${what} SFT on them as they are would imitate the bad ones, too.`,
    ],
  }
}
