/** Type declarations available to user code: the contract of its kind, and the actual columns of the rows. */

import { lossTypes } from './lossTypes.ts'
import { workflowTypes } from './workflowTypes.ts'

/** Column of a data set: the number of rows by kind of value, and some of the values. */
export interface RowColumn {
  readonly name: string
  /** Rows by kind: text, number, boolean, list, object, null. */
  readonly kinds: Readonly<Record<string, number>>
  /** Number of rows without the column. */
  readonly missing?: number
  readonly examples?: readonly unknown[]
}

const contract = `
/** One message of a chat. */
interface Message { readonly role: string; readonly content: string }

/** What the code wants to be seen beside the sample. */
interface Log {
  /** Shown in a column of its own beside the sample, for example the answer that was found. */
  column(name: string, value: unknown): void
  /** Charted as a mean over the step. */
  metric(name: string, value: number): void
}

type SettingValues = Record<string, any>

interface CallInput<Settings = SettingValues> {
  /** The row of the data set, every column of it. */
  readonly row: Row
  /** Settings of the code: its defaults, or what the run sets. */
  readonly settings: Settings
  /** Values to look at and to chart. */
  readonly log: Log
  /** From 0 to below 1; the same input draws the same numbers. */
  readonly random: () => number
}

/** What a reward function is asked about. */
interface RewardInput<Settings = SettingValues> extends CallInput<Settings> {
  /** Text of the prompt as the policy read it. */
  readonly prompt: string
  /** Text that the policy wrote. */
  readonly completion: string
  /** Step of the run; 0 in a dry run. */
  readonly step: number
  /**
   * All that the policy generated, over all turns: only where the code says \`export const needs = ['tokens']\`. null where the
   * text was not generated here, as in test cases.
   */
  readonly tokens: readonly Token[] | null
}

/** A token that the policy generated. */
interface Token {
  readonly id: number
  /** Its text; all of them joined are what was written, special tokens included. */
  readonly text: string
  /** Log-probability as the sampler recorded it, nats. */
  readonly logprob: number | null
  /** Turn of the policy, from 0. */
  readonly turn: number
}

/**
 * Higher is better; null: the function does not apply to this sample. One number counts for the last turn; \`perToken\` holds one
 * for each of \`tokens\`, \`perTurn\` one for each turn of the policy.
 */
type Score = number | null | { perToken: readonly number[] } | { perTurn: readonly number[] }
type RewardFunction<Settings = SettingValues> = (input: RewardInput<Settings>) => Score | Promise<Score>

/** What an environment is asked when an episode begins. */
interface ResetInput<Settings = SettingValues> extends CallInput<Settings> {
  /** Of the episode and turn. */
  readonly seed: number
}

/** What an environment is asked when the policy has acted. */
interface StepInput<State = any, Settings = SettingValues> extends ResetInput<Settings> {
  /** What the last turn returned as state. */
  readonly state: State
  /** Text of the policy's turn. */
  readonly action: string
}

/** What an environment answers. */
interface Turn<State = any> {
  /** Any JSON; the next turn gets it back. */
  state: State
  /** What the policy reads next: text, or messages. */
  observation?: string | readonly Message[] | null
  /** Reward of this turn; none: it is worth nothing either way. */
  reward?: number | null
  /** The task is over: nothing more can be earned. */
  terminated?: boolean
  /** The episode is broken off although more could be earned, as at a time limit. */
  truncated?: boolean
  /** Shown beside the sample; its numbers and booleans are charted. \`correct\` says whether the task was solved. */
  info?: Readonly<Record<string, unknown>> | null
  /** An older word for \`terminated\`. */
  done?: boolean
}

/** What it answers to an action: it says whether the task is over. */
type Step = Partial<Turn> & ({ terminated: boolean; done?: never } | { done: boolean; terminated?: never } | { truncated: true })

/** A state as later turns may find it: an empty list or null says nothing of what will stand there. */
type Remembered<T> = T extends readonly never[] ? any[] : T extends null | undefined ? any
  : T extends readonly (infer Entry)[] ? Remembered<Entry>[]
  : T extends object ? { [Key in keyof T]: Remembered<T[Key]> } : T

declare function environmentOf<Settings = SettingValues>(settings?: Settings): <State>(environment: {
  reset(input: ResetInput<Settings>): Turn<State> | Promise<Turn<State>>
  step(input: StepInput<Remembered<State>, Settings>): Step | Promise<Step>
  [other: string]: unknown
}) => unknown

/** Lines beside the sample. */
declare const console: Record<'log' | 'info' | 'warn' | 'error' | 'debug', (...values: unknown[]) => void>
`

/** Context of the code: rows with these columns, unknown rows (null), or the tensors of a loss. */
export type CodeContext =
  readonly RowColumn[] | null | 'loss' | { readonly workflowOn: readonly RowColumn[] | null }

/** Returns the declarations available to such code. */
export function ambientTypes(context: CodeContext): string {
  if (context === 'loss') return lossTypes
  const isWorkflow = context !== null && 'workflowOn' in context
  const columns = isWorkflow ? context.workflowOn : context
  return `/** A row of the data set. */\n${rowType(columns)}\n${isWorkflow ? workflowTypes : contract}`
}

function rowType(columns: readonly RowColumn[] | null): string {
  if (columns === null) return 'type Row = { readonly [column: string]: any }'
  return `interface Row {\n${columns.map(property).join('\n')}\n}`
}

function property(column: RowColumn): string {
  const mark = (column.missing ?? 0) > 0 ? '?' : ''
  return `  /** ${comment(column)} */\n  readonly ${JSON.stringify(column.name)}${mark}: ${columnType(column)}`
}

/** Describes the kinds in words, with their numbers of rows. */
function comment({ kinds, missing = 0, examples = [] }: RowColumn): string {
  const told = Object.entries(kinds).map(
    ([kind, rows]) => `${kind} in ${rows} ${rows === 1 ? 'row' : 'rows'}`,
  )
  if (missing > 0) told.push(`missing in ${missing}`)
  const example = examples.find((value) => value !== null && value !== undefined)
  const shown = example === undefined ? '' : `; for example ${shortened(JSON.stringify(example))}`
  // Nothing a data set holds may end the comment.
  return `Column of the data set: ${told.join(', ')}${shown}.`.replaceAll('*/', '*\\/').replaceAll('\n', ' ')
}

const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 59)}…` : text)

const plainTypes: Readonly<Record<string, string>> = {
  text: 'string',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

function columnType({ kinds, examples = [] }: RowColumn): string {
  const types = Object.keys(kinds).map((kind) => {
    const plain = plainTypes[kind]
    if (plain !== undefined) return plain
    const values = examples.filter((value) => kindOf(value) === kind)
    if (values.length > 0) return typeOfValues(values)
    return kind === 'list' ? 'readonly any[]' : 'any'
  })
  return types.length === 0 ? 'any' : [...new Set(types)].join(' | ')
}

const deepest = 4
const maxKeys = 50

/** Infers a type from values; values not seen may still come, so parts that differ become optional or any. */
function typeOfValues(values: readonly unknown[], depth = 0): string {
  const byKind = Map.groupBy(values, kindOf)
  const types = [...byKind].map(([kind, group]) => {
    if (kind === 'list') return `readonly (${listEntries(group, depth)})[]`
    if (kind === 'object') return objectType(group as readonly Record<string, unknown>[], depth)
    return plainTypes[kind] ?? 'any'
  })
  return types.join(' | ')
}

function listEntries(lists: readonly unknown[], depth: number): string {
  const entries = lists.flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []))
  return entries.length === 0 || depth >= deepest ? 'any' : typeOfValues(entries, depth + 1)
}

function objectType(objects: readonly Record<string, unknown>[], depth: number): string {
  const keys = [...new Set(objects.flatMap((object) => Object.keys(object)))]
  if (depth >= deepest || keys.length === 0 || keys.length > maxKeys) return 'any'
  const members = keys.map((key) => {
    const holders = objects.filter((object) => Object.hasOwn(object, key))
    const mark = holders.length < objects.length ? '?' : ''
    return `readonly ${JSON.stringify(key)}${mark}: ${typeOfValues(
      holders.map((object) => object[key]),
      depth + 1,
    )}`
  })
  return `{ ${members.join('; ')} }`
}

/** Kind as counted for data sets. */
function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'list'
  return typeof value === 'string' ? 'text' : typeof value
}
