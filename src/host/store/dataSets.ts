/** Imported data sets and their versions; the rows themselves are files. */
import { randomUUIDv7 } from 'node:crypto'
import { entryOf } from '#host/files/ownFiles.ts'
import { dataFolders } from '#host/dataDirectory.ts'
import type { Connection } from './connection.ts'

export interface DataSetRecord {
  readonly id: string
  readonly name: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

export interface DataSetVersionRecord {
  /** Digest of the rows. */
  readonly id: string
  readonly dataSetId: string
  readonly directory: string
  readonly rows: number
  /** Facts on the columns, JSON. */
  readonly columns: unknown
  /** The file it was made from; null where it came otherwise. */
  readonly source: string | null
  /** Renaming of columns, JSON; null where there was none. */
  readonly mapping: unknown
  /** Rows left out. */
  readonly problems: number
  readonly createdAt: number
}

type VersionRow = Omit<DataSetVersionRecord, 'directory' | 'columns' | 'mapping'> & {
  readonly columns: string
  readonly mapping: string | null
}

const columns = `id, data_set AS dataSetId, rows, columns, source, mapping, problems,
  created_at AS createdAt`

export class DataSetsTable {
  readonly #db: Connection
  readonly #dataDirectory: string

  constructor(db: Connection, dataDirectory: string) {
    this.#db = db
    this.#dataDirectory = dataDirectory
  }

  create(name: string): DataSetRecord {
    const dataSet = { id: `ds_${randomUUIDv7()}`, name, createdAt: Date.now() }
    this.#db.run(
      'INSERT INTO data_sets (id, name, created_at) VALUES (?, ?, ?)',
      ...[dataSet.id, name, dataSet.createdAt],
    )
    return dataSet
  }

  /** The newest first. */
  list(): DataSetRecord[] {
    return this.#db
      .query<DataSetRecord>(
        'SELECT id, name, created_at AS createdAt FROM data_sets ORDER BY created_at DESC, id DESC',
      )
      .all()
  }

  find(id: string): DataSetRecord | null {
    return (
      this.#db
        .query<DataSetRecord>('SELECT id, name, created_at AS createdAt FROM data_sets WHERE id = ?')
        .get(id) ?? null
    )
  }

  /** Renames it; returns false where it was not there. */
  rename(id: string, name: string): boolean {
    return this.#db.run('UPDATE data_sets SET name = ? WHERE id = ?', name, id).changes > 0
  }

  /** Removes the data set and its versions; the files stay. Returns false where it was not there. */
  remove(id: string): boolean {
    return this.#db.run('DELETE FROM data_sets WHERE id = ?', id).changes > 0
  }

  /** Adds a version; one that the data set has already stays as it is. */
  addVersion(version: Omit<DataSetVersionRecord, 'directory'>): void {
    this.#db.run(
      `INSERT INTO data_set_versions (id, data_set, rows, columns, source, mapping, problems, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      ...[version.id, version.dataSetId, version.rows, JSON.stringify(version.columns)],
      ...[version.source, version.mapping === null ? null : JSON.stringify(version.mapping)],
      ...[version.problems, version.createdAt],
    )
  }

  /** The newest first. */
  versions(dataSetId: string): DataSetVersionRecord[] {
    return this.#db
      .query<VersionRow>(
        `SELECT ${columns} FROM data_set_versions WHERE data_set = ? ORDER BY created_at DESC, id`,
      )
      .all(dataSetId)
      .map((row) => this.#version(row))
  }

  /** A version by the digest of its rows; where several data sets have it, the newest. */
  findVersion(id: string): DataSetVersionRecord | null {
    const row = this.#db
      .query<VersionRow>(
        `SELECT ${columns} FROM data_set_versions WHERE id = ? ORDER BY created_at DESC LIMIT 1`,
      )
      .get(id)
    return row ? this.#version(row) : null
  }

  #version(row: VersionRow): DataSetVersionRecord {
    return {
      ...row,
      directory: entryOf(dataFolders(this.#dataDirectory).datasets, row.id),
      columns: this.#db.parse(row.columns),
      mapping: row.mapping === null ? null : this.#db.parse(row.mapping),
    }
  }
}
