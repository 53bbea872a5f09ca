/** Explains what placeholder values mean to a run. */
import { plural } from '#shared/plural.ts'
import type { ColumnStatistics } from './columnStatistics.ts'
import { brokenCharacter } from './oddForm.ts'
import type { DetectedShape } from './shapes.ts'

const answers = ['answer', 'completion', 'chosen', 'rejected']

/** `among`: “the 12 rows” that were counted. */
export function oddValues(
  columns: readonly ColumnStatistics[],
  { answer, mapping, used }: Pick<DetectedShape, 'answer' | 'mapping' | 'used'>,
  among: string,
): string[] {
  const compared = [...answers, answer ?? '']
  const sources = mapping.flatMap((step) =>
    step.kind === 'column' && compared.includes(step.to) ? [step.from] : [],
  )
  return columns.flatMap((column) => {
    const isAnswer = [...compared, ...sources].includes(column.name)
    const isRead = isAnswer || column.name === 'prompt' || used.includes(column.name)
    return [
      ...(isAnswer ? emptyWords(column, among) : []),
      ...(isRead ? placeholderWords(column, among) : []),
      ...brokenWords(column, among),
    ]
  })
}

function emptyWords({ name, odd = {}, kinds, missing }: ColumnStatistics, among: string): string[] {
  const empty = (odd[''] ?? 0) + (kinds.null ?? 0) + missing
  return empty === 0
    ? []
    : [
        `“${name}” is empty in ${empty} of ${among}: rewards have nothing to compare with there, and SFT learns to stop at once.`,
      ]
}

const placeholderWords = ({ name, odd = {} }: ColumnStatistics, among: string): string[] =>
  Object.entries(odd)
    .filter(([form]) => form !== '' && form !== brokenCharacter)
    .map(
      ([form, count]) =>
        `“${name}” holds the text “${form}” in ${count} of ${among}. It is read as that word: empty the cells or remove the rows if it stands for no value.`,
    )

const brokenWords = ({ name, odd = {} }: ColumnStatistics, among: string): string[] => {
  const count = odd[brokenCharacter] ?? 0
  return count === 0
    ? []
    : [
        `“${name}” holds half a character (a lone surrogate such as \\ud83d) in ${count} of ${among}: a model reads it as �.`,
      ]
}

export const amongRows = (rows: number, isWhole: boolean): string =>
  isWhole ? plural(rows, 'row') : `the first ${rows} rows`
