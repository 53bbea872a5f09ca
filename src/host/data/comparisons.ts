/** Mapping steps that make a pair of a better and a worse answer: of two columns that something compares, or of a list in an order. */
import { z } from 'zod'
import { isJsonObject } from '#host/files/strictJson.ts'
import { parsedLiteral } from '#shared/literals.ts'

const name = z.string().min(1)
const two = z.tuple([name, name])

/** Evidence of which of two answers is better: a value in a column, the sign of a number, or the higher or lower of two numbers. */
const judge = z.union([
  z.strictObject({ column: name, first: z.string(), second: z.string() }),
  /** Negative: the first. */
  z.strictObject({ sign: name }),
  z.strictObject({ higher: two }),
  z.strictObject({ lower: two }),
])

export type Judge = z.output<typeof judge>

/** Turns two columns with an answer each into `chosen` and `rejected`. */
export const compareStep = z.strictObject({ kind: z.literal('compare'), answers: two, by: judge })

/** The best and the worst answer of a list become `chosen` and `rejected`. */
export const rankedStep = z.strictObject({
  kind: z.literal('ranked'),
  column: name,
  /** The field of an entry that holds its text; null: entries are texts. */
  text: name.nullable(),
  /** The field of an entry that holds its place or mark; where entries are texts, the column with one for each. */
  by: name,
  best: z.enum(['highest', 'lowest']),
})

type Row = Readonly<Record<string, unknown>>

/** Reason why a row makes no pair, as the end of a sentence about it. */
interface NoPair {
  readonly fault: string
}

interface Pair {
  readonly chosen: unknown
  readonly rejected: unknown
}

export const isNoPair = (made: Pair | NoPair): made is NoPair => 'fault' in made

/** A number, also as the text that tables hold; true counts as 1. null for anything else. */
export function numberIn(value: unknown): number | null {
  if (typeof value === 'boolean') return Number(value)
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

export function comparedPair(row: Row, { answers, by }: z.output<typeof compareStep>): Pair | NoPair {
  const better = betterOf(row, by)
  if (typeof better === 'string') return { fault: better }
  const [first, second] = answers.map((column) => row[column])
  for (const column of answers)
    if ((row[column] ?? '') === '') return { fault: `its column “${column}” is empty` }
  return better === 0 ? { chosen: first, rejected: second } : { chosen: second, rejected: first }
}

/** 0: the first, 1: the second; a sentence's end where neither is. */
export function betterOf(row: Row, by: Judge): 0 | 1 | string {
  if ('column' in by) return namedBetter(row[by.column], by)
  const [columns, isHigher] =
    'lower' in by ? [by.lower, false] : 'higher' in by ? [by.higher, true] : [[by.sign], true]
  const numbers = columns.map((column) => numberIn(row[column]))
  const missing = numbers.indexOf(null)
  const [first, second] = numbers.map((number) => number ?? 0) as [number, number?]
  if (missing >= 0) return `its column “${columns[missing] ?? ''}” holds no number`
  const difference = second === undefined ? -first : first - second
  if (difference === 0)
    return `neither answer is preferred: ${columns.map((column) => `“${column}”`).join(' and ')} ${second === undefined ? 'is 0' : 'are equal'}`
  return difference > 0 === isHigher ? 0 : 1
}

function namedBetter(
  value: unknown,
  { column, first, second }: Extract<Judge, { column: string }>,
): 0 | 1 | string {
  const said = typeof value === 'string' ? value : JSON.stringify(value ?? '').replace(/^""$/, '')
  if (said === first) return 0
  if (said === second) return 1
  return said === ''
    ? `its column “${column}” is empty`
    : `neither answer is preferred: “${column}” is “${said}”`
}

export function rankedPair(row: Row, { column, text, by, best }: z.output<typeof rankedStep>): Pair | NoPair {
  const entries = rankedEntries(row, { column, text, by })
  if (entries === null) return { fault: `its column “${column}” is not a list of answers with “${by}”` }
  const sorted = entries.toSorted((a, b) => (best === 'highest' ? b.mark - a.mark : a.mark - b.mark))
  const [chosen, rejected] = [sorted[0], sorted.at(-1)]
  if (chosen === undefined || rejected === undefined || chosen.mark === rejected.mark)
    return { fault: `its column “${column}” has no answer that is better than another` }
  return { chosen: chosen.text, rejected: rejected.text }
}

/** Returns the ranked entries, without those that have no mark; null where there is no such list. */
export function rankedEntries(
  row: Row,
  { column, text, by }: { readonly column: string; readonly text: string | null; readonly by: string },
): readonly { readonly text: unknown; readonly mark: number }[] | null {
  const list = listIn(row[column])
  if (list === null) return null
  const marks = text === null ? listIn(row[by]) : null
  if (text === null && marks?.length !== list.length) return null
  return list.flatMap((entry, index) => {
    const fields = isJsonObject(entry) ? entry : {}
    const mark = numberIn(marks === null ? fields[by] : marks[index])
    const written = text === null ? entry : fields[text]
    return mark === null || typeof written !== 'string' ? [] : [{ text: written, mark }]
  })
}

/** Reads a list, also from text. */
export function listIn(value: unknown): readonly unknown[] | null {
  const read = typeof value === 'string' && value.trimStart().startsWith('[') ? parsedLiteral(value) : value
  return Array.isArray(read) ? read : null
}
