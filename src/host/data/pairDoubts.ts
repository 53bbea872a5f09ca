/** Writes sentences on pairs that teach little, or the opposite of what is meant. */
import { plainName, type Columns } from './columnKinds.ts'
import { numberIn } from './comparisons.ts'
import { chatStep } from './promptParts.ts'

export function sameAnswers({ rows }: Columns, chosen: string, rejected: string): string[] {
  const same = rows.filter((row) => JSON.stringify(row[chosen]) === JSON.stringify(row[rejected])).length
  return same === 0
    ? []
    : [
        `In ${same} of the first ${rows.length} rows “${chosen}” and “${rejected}” are the same: they teach nothing.`,
      ]
}

/**
 * Lists rows where the numbers beside a pair, such as chosen_rating and rejected_rating, say that the rejected answer
 * is better or as good.
 */
export function againstRatings(columns: Columns): string[] {
  return [...negativeMargins(columns), ...lowerRatings(columns)]
}

function negativeMargins(columns: Columns): string[] {
  const margin = columns.find(['margin', 'score_margin', 'reward_margin'])
  if (margin === undefined) return []
  const negative = columns.values(margin, columns.rows).filter((value) => (numberIn(value) ?? 0) < 0).length
  return negative === 0
    ? []
    : [
        `In ${negative} of the first ${columns.rows.length} rows “${margin}” is negative: those pairs teach the answer that was rated worse.`,
      ]
}

function lowerRatings(columns: Columns): string[] {
  return [...columns.kinds.keys()].flatMap((chosen) => {
    const plain = plainName(chosen)
    const rejected = [...columns.kinds.keys()].find(
      (name) => plainName(name) === plain.replace('chosen', 'rejected'),
    )
    if (rejected === undefined || rejected === chosen || !/rating|score|reward/.test(plain)) return []
    const differences = columns.rows.flatMap((row) => {
      const [better, worse] = [numberIn(row[chosen]), numberIn(row[rejected])]
      return better === null || worse === null ? [] : [better - worse]
    })
    const [lower, equal] = [
      differences.filter((by) => by < 0).length,
      differences.filter((by) => by === 0).length,
    ]
    const among = `of the first ${columns.rows.length} rows “${chosen}”`
    return [
      ...(lower === 0
        ? []
        : [
            `In ${lower} ${among} is lower than “${rejected}”: those pairs teach the answer that was rated worse.`,
          ]),
      ...(equal === 0 ? [] : [`In ${equal} ${among} equals “${rejected}”: those pairs are ties.`]),
    ]
  })
}

/** Lists cells that hold a list as text, of which only lists of one text can be read. */
export const listDoubts = (columns: Columns, ...names: readonly string[]): string[] =>
  names
    .filter((name) => chatStep(columns, name)[0]?.kind === 'only-text')
    .map(
      (name) =>
        `“${name}” holds lists written as text. Lists of one text are read as that text; rows with longer ones are left out.`,
    )
