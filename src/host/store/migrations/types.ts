export interface Migration {
  /** The version the database has afterwards; one more than before. */
  readonly version: number
  readonly name: string
  /** Statements in order. Never changed once released: a later migration changes what it made. */
  readonly sql: string
}
