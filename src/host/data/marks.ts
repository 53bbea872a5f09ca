/** Marks that say whether a row's answer is good: which values are marks, and which columns hold them. */
import { type Columns, plainName } from './columnKinds.ts'

/** Words that judge an answer whatever their column is called. */
const verdicts = {
  good: /^(?:good|accept(?:ed)?|approved?|liked?|upvoted?|thumbs[_ -]?up|desirable|desired|👍)$/i,
  bad: /^(?:bad|reject(?:ed)?|disapproved?|disliked?|downvoted?|thumbs[_ -]?down|undesirable|undesired|👎)$/i,
}

/** One mark as data sets write it, numbers as such or as the text that tables hold; null for anything else. */
export function markOf(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value
  const said = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : ''
  if (/^(?:true|yes|\+?1(?:\.0)?)$/i.test(said) || verdicts.good.test(said)) return true
  return /^(?:false|no|0(?:\.0)?|-1(?:\.0)?)$/i.test(said) || verdicts.bad.test(said) ? false : null
}

const isVerdict = (value: unknown): boolean =>
  typeof value === 'string' && Object.values(verdicts).some((words) => words.test(value.trim()))

/** KTO's own column names and those that can mean nothing but a mark. */
const names: readonly string[] = [
  ...['label', 'kto_tag', 'labels', 'liked', 'is_liked', 'desirable', 'is_desirable', 'is_good', 'thumbs_up'],
  ...['thumb_up', 'upvoted', 'accepted', 'is_accepted', 'approved', 'is_approved', 'good'],
]

/** Returns true if a column is named like a column of marks. */
export const isKtoName = (column: string): boolean => names.includes(plainName(column))

/** Names under which a number may as well be a class or a place. */
const vague: readonly string[] = ['label', 'labels']

/** Returns true if values are marks and each side is written in one way: with 1, 0 and -1, nothing says what 0 is. */
function areMarks(values: readonly unknown[]): boolean {
  const said = values.map((value) => String(value).trim())
  return (
    values.length > 0 &&
    values.every((value) => markOf(value) !== null) &&
    !(said.some((each) => /^0/.test(each)) && said.some((each) => each.startsWith('-')))
  )
}

/** Returns true if a column holds marks beyond doubt: by its name, or by the words in it. */
function isMarks(columns: Columns, column: string): boolean {
  const values = columns.values(column)
  if (!areMarks(values)) return false
  return names.includes(plainName(column)) || values.every(isVerdict)
}

/** Returns true if nothing but a mark can be meant, whatever column the answer is in. */
export const isSureMarks = (columns: Columns, column: string): boolean =>
  isMarks(columns, column) &&
  (columns.kind(column) === 'boolean' ||
    !vague.includes(plainName(column)) ||
    columns.values(column).every(isVerdict))

/** The column of marks; the names that KTO has for it come first. */
export function marksIn(columns: Columns, accepts = isMarks): string | undefined {
  const named = columns.find(names.slice(0, 3))
  const all = [...(named === undefined ? [] : [named]), ...columns.kinds.keys()]
  return all.find((column) => accepts(columns, column))
}
