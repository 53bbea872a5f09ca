/** What the columns of a file hold, told from its first rows: only these decide what can be done with a column. */
import type { Answer } from '#renderer/client/api.tsx'
import { formatCount, formatNumber, plural } from '#renderer/client/format.ts'
import type { Column } from '#renderer/kit/Table.tsx'

export type DataColumn = Answer<'datasets.inspect'>['columns'][number]
export type DataRow = Readonly<Record<string, unknown>>
export type RowProblem = Answer<'datasets.inspect'>['problems'][number]

/** `chat`: a list of {role, content}; `from-value chat`: of {from, value}, as ShareGPT has it. */
export type ColumnKind =
  'text' | 'number' | 'boolean' | 'chat' | 'from-value chat' | 'list' | 'object' | 'empty'

export interface ColumnFacts {
  readonly name: string
  readonly kind: ColumnKind
  /** Dotted paths to texts, numbers and truth values inside objects. */
  readonly paths: readonly string[]
}

export const columnFacts = (names: readonly string[], rows: readonly DataRow[]): ColumnFacts[] =>
  names.map((name) => {
    const values = rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined)
    const kind = commonKind(values.map(kindOf))
    const objects = kind === 'object' ? values.filter(isObject) : []
    return { name, kind, paths: [...new Set(objects.flatMap((object) => pathsIn(object, name)))] }
  })

function commonKind(kinds: readonly ColumnKind[]): ColumnKind {
  const known = [...new Set(kinds.filter((kind) => kind !== 'empty'))]
  if (known.length <= 1) return known[0] ?? 'empty'
  return known.every((kind) => /chat|list/.test(kind)) ? 'list' : 'object'
}

const scalars: Readonly<Record<string, ColumnKind>> = { string: 'text', number: 'number', boolean: 'boolean' }

export function kindOf(value: unknown): ColumnKind {
  if (value === null || value === undefined) return 'empty'
  if (!Array.isArray(value)) return scalars[typeof value] ?? 'object'
  if (value.length === 0) return 'empty'
  if (value.every((entry) => has(entry, 'role') && 'content' in entry)) return 'chat'
  return value.every((entry) => has(entry, 'from') && has(entry, 'value')) ? 'from-value chat' : 'list'
}

const deepest = 3

function pathsIn(object: DataRow, prefix: string, depth = 1): string[] {
  return Object.entries(object).flatMap(([name, value]) => {
    const path = `${prefix}.${name}`
    if (isObject(value)) return depth < deepest ? pathsIn(value, path, depth + 1) : []
    return (typeof value) in scalars ? [path] : []
  })
}

const isObject = (value: unknown): value is DataRow =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const has = (value: unknown, name: string): value is DataRow =>
  isObject(value) && typeof value[name] === 'string'

/** “text · 12–480 characters · 96 different · 4 missing” */
export function columnWords({ kinds, missing, unique, length, value }: DataColumn): string {
  const named = Object.keys(kinds).filter((kind) => kind !== 'null')
  const empty = missing + (kinds['null'] ?? 0)
  const unit = named.includes('text') ? 'characters' : 'entries'
  return [
    named.join(' or ') || 'empty',
    length !== null && `${span(length)} ${unit}`,
    value !== null && span(value),
    unique === null ? 'more than 10 000 different' : `${formatCount(unique)} different`,
    empty > 0 && `${formatCount(empty)} missing`,
  ]
    .filter(Boolean)
    .join(' · ')
}

const span = ({ min, max }: { min: number; max: number }): string =>
  min === max ? formatNumber(min) : `${formatNumber(min)}–${formatNumber(max)}`

/** A value on one line, for a cell of a table. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value.replaceAll(/\s*\n\s*/g, ' ⏎ ')
  if (!Array.isArray(value)) return JSON.stringify(value)
  const kind = kindOf(value)
  if (kind !== 'chat' && kind !== 'from-value chat') return JSON.stringify(value)
  const messages = messagesOf(value)
  return `${plural(messages.length, 'message')}: ${cellText(messages[0]?.content ?? '')}`
}

export interface Message {
  readonly role: string
  readonly content: string
}

/** The messages of a chat of either spelling; none where it is no chat. */
export function messagesOf(value: unknown): readonly Message[] {
  const kind = kindOf(value)
  if (!Array.isArray(value) || (kind !== 'chat' && kind !== 'from-value chat')) return []
  const names = kind === 'chat' ? { role: 'role', content: 'content' } : { role: 'from', content: 'value' }
  return value.map((entry: unknown) => {
    const fields = entry as DataRow
    const content = fields[names.content]
    return {
      role: String(fields[names.role]),
      content: typeof content === 'string' ? content : JSON.stringify(content ?? null),
    }
  })
}

/** Of tables about rows of a data set: which one, counted from 1. */
export const rowColumn: Column<{ readonly row: number }> = {
  id: 'row',
  title: 'Row',
  width: '72px',
  isNumber: true,
  cell: ({ row }) => formatCount(row + 1),
  sortBy: ({ row }) => row,
}
