import type { Migration } from './types.ts'

/** Data sets, reward functions and environments, settings, and the queue. */
export const library: Migration = {
  version: 4,
  name: 'library',
  sql: `
    CREATE TABLE data_sets (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE data_set_versions (
      data_set TEXT NOT NULL REFERENCES data_sets (id) ON DELETE CASCADE,
      id TEXT NOT NULL, -- digest of the rows
      directory TEXT NOT NULL,
      rows INTEGER NOT NULL,
      columns TEXT NOT NULL, -- JSON
      source TEXT,
      mapping TEXT, -- JSON
      problems INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      PRIMARY KEY (data_set, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX data_set_versions_by_id ON data_set_versions (id);

    CREATE TABLE rewards (
      id TEXT PRIMARY KEY,
      kind TEXT NOT NULL, -- 'reward' or 'environment'
      name TEXT NOT NULL,
      test_cases TEXT NOT NULL DEFAULT '[]', -- JSON
      created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE reward_versions (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      reward TEXT NOT NULL REFERENCES rewards (id) ON DELETE CASCADE,
      hash TEXT NOT NULL,
      language TEXT NOT NULL,
      code TEXT NOT NULL,
      note TEXT NOT NULL,
      gates_start INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      UNIQUE (reward, hash)
    ) STRICT;

    CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID; -- value: JSON

    CREATE TABLE queue (
      place INTEGER PRIMARY KEY,
      run_id TEXT NOT NULL UNIQUE,
      continue_on_error INTEGER NOT NULL
    ) STRICT;
  `,
}
