/** Contents of a file's columns, judged by its first rows, which alone decide the uses of a column. */
import type { Answer } from '#renderer/client/api.tsx'
import { commonKind, kindOf, type ColumnKind } from '#shared/columnKind.ts'
import { chatIn, type ChatMessage } from '#shared/messages.ts'
import { noun } from '#shared/plural.ts'
import { formatCount, formatNumber, plural } from '#renderer/client/format.ts'
import type { Column } from '#renderer/kit/Table.tsx'
import { numberColumn } from '#renderer/kit/columns.tsx'

export type DataColumn = Answer<'datasets.inspect'>['columns'][number]
export type DataRow = Readonly<Record<string, unknown>>
export type RowProblem = Answer<'datasets.inspect'>['problems'][number]

export interface ColumnFacts {
  readonly name: string
  readonly kind: ColumnKind
  /** Dotted paths to texts, numbers and truth values inside objects. */
  readonly paths: readonly string[]
}

export const columnFacts = (names: readonly string[], rows: readonly DataRow[]): ColumnFacts[] =>
  names.map((name) => {
    const values = rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined)
    const kind = values.map(kindOf).reduce(commonKind, 'empty')
    const objects = kind === 'object' ? values.filter(isObject) : []
    return { name, kind, paths: [...new Set(objects.flatMap((object) => pathsIn(object, name)))] }
  })

const deepest = 3

function pathsIn(object: DataRow, prefix: string, depth = 1): string[] {
  return Object.entries(object).flatMap(([name, value]) => {
    const path = `${prefix}.${name}`
    if (isObject(value)) return depth < deepest ? pathsIn(value, path, depth + 1) : []
    return ['string', 'number', 'boolean'].includes(typeof value) ? [path] : []
  })
}

const isObject = (value: unknown): value is DataRow =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Formats “text · 12–480 characters · 96 different · 4 missing”. */
export function columnWords({ kinds, missing, unique, length, value }: DataColumn): string {
  const named = Object.keys(kinds).filter((kind) => kind !== 'null')
  const empty = missing + (kinds['null'] ?? 0)
  const [one, many] = named.includes('text') ? ['character', 'characters'] : ['entry', 'entries']
  return [
    named.join(' or ') || 'empty',
    length !== null && `${span(length)} ${length.min === length.max ? noun(length.max, one, many) : many}`,
    value !== null && span(value),
    unique === null ? 'more than 10 000 different' : `${formatCount(unique)} different`,
    empty > 0 && `${formatCount(empty)} missing`,
  ]
    .filter(Boolean)
    .join(' · ')
}

const span = ({ min, max }: { min: number; max: number }): string =>
  min === max ? formatNumber(min) : `${formatNumber(min)}–${formatNumber(max)}`

/** Formats a value on one line, for a table cell. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value.replaceAll(/\s*\n\s*/g, ' ⏎ ')
  const messages = messagesOf(value)
  if (messages.length === 0) return JSON.stringify(value)
  // Instructions of the system are often the same in every row, and say nothing about this one.
  const said = messages.find(({ role }) => role !== 'system') ?? messages[0]
  return `${plural(messages.length, 'message')}: ${cellText(said?.content ?? '')}`
}

/** Returns the messages of a chat in any supported format, or none. */
export const messagesOf = (value: unknown): readonly ChatMessage[] => chatIn(value) ?? []

/** Column with the number of a data row, from 1. */
export const rowColumn: Column<{ readonly row: number }> = numberColumn(
  ['row', 'Row', '72px'],
  ({ row }) => row + 1,
  formatCount,
)
