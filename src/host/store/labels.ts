/** Stores what people say of answers. A label holds copies of prompt and answers: it outlives its run. */
import type { Verdict } from '#shared/api/labels.ts'
import type { ChatMessage } from '#shared/messages.ts'
import type { Connection, SqlValue } from './connection.ts'

/** The table, as a migration makes it. */
export const createLabels = `
  CREATE TABLE labels (
    key INTEGER PRIMARY KEY,
    scope TEXT NOT NULL, -- run or conversation, which may be gone, or vote
    seen_with TEXT NOT NULL, -- answers to the same prompt that were seen together
    member INTEGER NOT NULL,
    origin TEXT NOT NULL, -- in words
    prompt TEXT NOT NULL, -- JSON: text or messages
    completion TEXT NOT NULL,
    others TEXT NOT NULL, -- JSON: texts of the other answers
    is_truncated INTEGER NOT NULL,
    rating TEXT,
    is_preferred INTEGER NOT NULL DEFAULT 0,
    edit TEXT,
    labelled_at INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX labels_by_answer ON labels (seen_with, member, completion);
  CREATE INDEX labels_by_scope ON labels (scope);
`

/** An answer that can be labelled. */
export interface LabelledAnswer {
  /** Run or conversation, or `vote`. */
  readonly scope: string
  /** Name of the answers seen together (#shared/labelGroups.ts), and the place of this one among them. */
  readonly group: string
  readonly member: number
  /** Place at which it was written, in words. */
  readonly origin: string
  readonly prompt: string | readonly ChatMessage[]
  readonly completion: string
  /** Texts of the other answers. */
  readonly others: readonly string[]
  readonly isTruncated: boolean
}

export interface LabelRecord extends LabelledAnswer, Verdict {
  readonly id: number
}

export type LabelState = Verdict & Pick<LabelRecord, 'id'>
type Changes = { readonly [Key in keyof Verdict]?: Verdict[Key] | undefined }

type Json = 'prompt' | 'others'
type Row = Omit<LabelRecord, Json | 'isTruncated' | 'isPreferred'> &
  Readonly<Record<Json, string> & Record<'isTruncated' | 'isPreferred', number>>

const columns = `key AS id, scope, seen_with AS "group", member, origin, prompt, completion, others,
  is_truncated AS isTruncated, rating, is_preferred AS isPreferred, edit`

/** A label that was taken back says nothing. */
const saysSomething = '(rating IS NOT NULL OR is_preferred OR edit IS NOT NULL)'

export class LabelsTable {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  /** Lists labels in the order in which their answers were first labelled. */
  list({ scope, group }: { readonly scope?: string | undefined; readonly group?: string }): LabelRecord[] {
    return this.#select(
      `(:scope IS NULL OR scope = :scope) AND (:group IS NULL OR seen_with = :group) AND ${saysSomething}`,
      { scope: scope ?? null, group: group ?? null },
    )
  }

  /**
   * Changes the label of an answer; one is preferred at most of those seen together. `isToggled` takes back what the label
   * says already. Returns the labels changed, as they were.
   */
  set(answer: LabelledAnswer, changes: Changes, isToggled = false): LabelState[] {
    return this.#db.write(() => {
      const { scope, group, member, origin, prompt, completion, others, isTruncated } = answer
      const now = Date.now()
      this.#db.run(
        `INSERT INTO labels (scope, seen_with, member, origin, prompt, completion, others, is_truncated, labelled_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET others = excluded.others, labelled_at = excluded.labelled_at`,
        ...[scope, group, member, origin, JSON.stringify(prompt), completion],
        ...[JSON.stringify(others), isTruncated ? 1 : 0, now],
      )
      const seen = this.#select('seen_with = :group', { group })
      const own = seen.find((each) => each.member === member && each.completion === completion)
      if (own === undefined) throw new Error('Expected the label that was just added.')
      const { rating, isPreferred, edit } = isToggled ? toggled(own, changes) : changes
      const losing = isPreferred === true ? seen.filter((each) => each.isPreferred) : []
      const before = [...new Set([...losing, own])].map(stateOf)
      this.restore(losing.map((each) => ({ ...each, isPreferred: false })))
      this.restore([
        {
          id: own.id,
          rating: rating === undefined ? own.rating : rating,
          isPreferred: isPreferred ?? own.isPreferred,
          edit: edit === undefined ? own.edit : edit,
        },
      ])
      return before
    })
  }

  /** Gives labels the state they had; those forgotten meanwhile are passed over. */
  restore(states: readonly LabelState[]): void {
    this.#db.write(() => {
      for (const { id, rating, isPreferred, edit } of states)
        this.#db.run(
          'UPDATE labels SET rating = ?, is_preferred = ?, edit = ? WHERE key = ?',
          ...[rating, isPreferred ? 1 : 0, edit, id],
        )
    })
  }

  /** Forgets the labels of a scope, or all; returns how many said something. */
  remove(scope: string | null): number {
    return this.#db.write(() => {
      const { length } = this.list({ scope: scope ?? undefined })
      this.#db.run('DELETE FROM labels WHERE ? IS NULL OR scope = ?', scope, scope)
      return length
    })
  }

  /** Counts the labels of runs that the history no longer has. */
  ofDeletedRuns(): number {
    const query = this.#db.tuples<[count: number]>(
      `SELECT count(*) FROM labels WHERE scope LIKE 'run\\_%' ESCAPE '\\' AND scope NOT IN (SELECT id FROM runs) AND ${saysSomething}`,
    )
    return query.get()?.[0] ?? 0
  }

  #select(condition: string, values: Readonly<Record<string, SqlValue>>): LabelRecord[] {
    const query = this.#db.query<Row>(`SELECT ${columns} FROM labels WHERE ${condition} ORDER BY key`)
    return query.all(values).map(({ prompt, others, isTruncated, isPreferred, ...row }) => ({
      ...row,
      prompt: this.#db.parse(prompt) as LabelRecord['prompt'],
      others: this.#db.parse(others) as string[],
      isTruncated: isTruncated === 1,
      isPreferred: isPreferred === 1,
    }))
  }
}

const toggled = (own: Verdict, { rating, isPreferred, edit }: Changes): Changes => ({
  rating: rating === own.rating ? null : rating,
  isPreferred: isPreferred === true ? !own.isPreferred : isPreferred,
  edit: edit === own.edit ? null : edit,
})

const stateOf = ({ id, rating, isPreferred, edit }: LabelRecord): LabelState => ({
  id,
  rating,
  isPreferred,
  edit,
})
