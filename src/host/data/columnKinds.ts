/** Describes the columns of a data set by what they hold and by their names, whatever their spelling. */
import { commonKind, isChatKind, kindOf, type ColumnKind } from '#shared/columnKind.ts'
import type { DataRow } from './dataFile.ts'
import type { Telling } from './tellingRows.ts'

export const isPromptKind = (kind: ColumnKind | undefined): boolean => kind === 'text' || isChatKind(kind)

/** `answerKey`, `Answer Key` and ` ANSWER_KEY ` are one name. */
export const plainName = (name: string): string =>
  name
    .trim()
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_')

type Accepts = (kind: ColumnKind) => boolean
const anything: Accepts = (kind) => kind !== 'empty'

/** A column has a kind where all its values that are not null have it. */
export class Columns {
  /** The first rows, of which sentences count some. */
  readonly rows: readonly DataRow[]
  /** These, and later ones that show something else. */
  readonly all: readonly DataRow[]
  readonly kinds = new Map<string, ColumnKind>()
  readonly #byPlainName = new Map<string, string>()

  constructor({ first, later }: Telling) {
    this.rows = first
    this.all = [...first, ...later]
    for (const row of this.all)
      for (const [name, value] of Object.entries(row))
        this.kinds.set(name, commonKind(this.kinds.get(name) ?? 'empty', kindOf(value)))
    for (const name of this.kinds.keys()) {
      const plain = plainName(name)
      // A name that is spelled so exactly wins over one that only sounds alike.
      if (plain === name || !this.#byPlainName.has(plain)) this.#byPlainName.set(plain, name)
    }
  }

  /** The first of the names that there is a column for, as the file spells it. */
  find(names: readonly string[], accepts: Accepts = anything): string | undefined {
    for (const name of names) {
      const written = this.#byPlainName.get(name)
      if (written !== undefined && accepts(this.kind(written))) return written
    }
    return undefined
  }

  kind(name: string): ColumnKind {
    return this.kinds.get(name) ?? 'empty'
  }

  /** Values that are neither null nor missing; of the first rows alone where some are counted. */
  values(name: string, rows = this.all): readonly unknown[] {
    return rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined)
  }

  /** “question”, “answer” */
  get names(): string {
    return named([...this.kinds.keys()].slice(0, 20))
  }
}

/** Returns true if a column is empty in every row: null, an empty list or white space. */
export const isEmpty = (columns: Columns, column: string): boolean =>
  columns.kind(column) === 'empty' ||
  columns.values(column).every((value) => typeof value === 'string' && value.trim() === '')

/** the columns “a” and “b” */
export const columnsNamed = (...names: readonly string[]): string =>
  names.length === 1 ? `the column ${named(names)}` : `the columns ${named(names)}`

function named(names: readonly string[]): string {
  const quoted = names.map((name) => `“${name}”`)
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} and ${quoted.at(-1) ?? ''}`
}
