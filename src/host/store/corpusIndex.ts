/** Full-text search over documents (SQLite FTS5, BM25): made once, then read only. */
import { renameSync, rmSync } from 'node:fs'
import { Connection } from './connection.ts'

export interface CorpusDocument {
  /** Title; empty where it has none. */
  readonly title: string
  readonly text: string
}

/** Documents written in one transaction. */
const batchSize = 1000

/** Weight of a word in the title, which says more about a document than one in its text. */
const titleWeight = 2

/** Most words of a query: every further word makes the search slower and hardly better. */
const maxWords = 32

/**
 * Writes the index of all documents to `file`, which appears when it is complete. Returns their number. Errors: those
 * of `documents`; AppError 'store/…'.
 */
export async function writeCorpusIndex(
  file: string,
  documents: AsyncIterable<CorpusDocument>,
): Promise<number> {
  const temporary = `${file}.${process.pid}.partial`
  rmSync(temporary, { force: true })
  try {
    const count = await fill(temporary, documents)
    renameSync(temporary, file)
    return count
  } finally {
    rmSync(temporary, { force: true })
  }
}

async function fill(file: string, documents: AsyncIterable<CorpusDocument>): Promise<number> {
  using connection = new Connection(file)
  // Nothing is lost with a half-made index.
  connection.pragma('journal_mode = OFF')
  connection.pragma('synchronous = OFF')
  connection.execute(
    `CREATE VIRTUAL TABLE documents USING fts5(title, text, tokenize = 'porter unicode61 remove_diacritics 2')`,
  )
  let count = 0
  let batch: CorpusDocument[] = []
  const write = () => {
    connection.write(() => {
      for (const { title, text } of batch)
        connection.run('INSERT INTO documents (title, text) VALUES (?, ?)', title, text)
    })
    count += batch.length
    batch = []
  }
  for await (const document of documents) {
    batch.push(document)
    if (batch.length === batchSize) write()
  }
  write()
  connection.run(`INSERT INTO documents (documents) VALUES ('optimize')`)
  return count
}

/** Opens what writeCorpusIndex wrote. Errors: AppError 'store/unreadable'. */
export class CorpusIndex implements Disposable {
  readonly #connection: Connection

  constructor(file: string) {
    this.#connection = new Connection(file, { readonly: true })
  }

  /** The documents that share words with the query, best first; the same query always finds the same. */
  search(query: string, count: number): CorpusDocument[] {
    const match = matchExpression(query)
    if (match === null) return []
    return this.#connection
      .query<CorpusDocument>(
        `SELECT title, text FROM documents WHERE documents MATCH ?
         ORDER BY bm25(documents, ${titleWeight}, 1), rowid LIMIT ?`,
      )
      .all(match, count)
  }

  [Symbol.dispose](): void {
    this.#connection[Symbol.dispose]()
  }
}

/** Matches any of the words; nothing in a query is an operator. null without a word. */
function matchExpression(query: string): string | null {
  const words = query.normalize('NFC').match(/[\p{L}\p{N}\p{M}]+/gu) ?? []
  const distinct = [...new Set(words.map((word) => word.toLowerCase()))].slice(0, maxWords)
  return distinct.length === 0 ? null : distinct.map((word) => `"${word}"`).join(' OR ')
}
