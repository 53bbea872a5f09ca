import type { Migration } from './types.ts'

/** Runs, what is said of them, and how far their logs have been read. */
export const runs: Migration = {
  version: 1,
  name: 'runs',
  sql: `
    CREATE TABLE runs (
      key INTEGER PRIMARY KEY AUTOINCREMENT, -- short name of the run in the other tables; never given twice
      id TEXT NOT NULL UNIQUE,
      name TEXT,
      directory TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      status TEXT NOT NULL,
      phase TEXT,
      step INTEGER NOT NULL DEFAULT 0,
      steps INTEGER,
      algorithm TEXT NOT NULL,
      seed INTEGER NOT NULL,
      model TEXT NOT NULL,
      reward REAL,
      reward_before REAL,
      reward_after REAL,
      parent_run_id TEXT,
      parent_step INTEGER,
      notes TEXT NOT NULL DEFAULT '',
      error TEXT, -- JSON
      last_words TEXT,
      updated_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX runs_by_age ON runs (created_at, id);
    CREATE INDEX runs_by_parent ON runs (parent_run_id);

    -- Long texts, apart so that a list reads none of them.
    CREATE TABLE run_documents (
      run INTEGER PRIMARY KEY REFERENCES runs (key) ON DELETE CASCADE,
      config TEXT NOT NULL,
      manifest TEXT -- JSON
    ) STRICT;

    CREATE TABLE run_tags (
      run INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
      tag TEXT NOT NULL,
      PRIMARY KEY (run, tag)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX run_tags_by_tag ON run_tags (tag);

    -- How far a run's log has been read.
    CREATE TABLE log_cursors (
      run INTEGER PRIMARY KEY REFERENCES runs (key) ON DELETE CASCADE,
      offset INTEGER NOT NULL, -- bytes
      seq INTEGER NOT NULL, -- number of the next event of the history
      tail TEXT NOT NULL, -- digest of the last bytes read: another file does not have it
      rewinds INTEGER NOT NULL, -- how often the history went back
      damaged INTEGER NOT NULL -- lines that could not be read
    ) STRICT;

    -- How often and how far a run went back: followers learn from it what to forget.
    CREATE TABLE rewinds (
      run INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
      number INTEGER NOT NULL,
      keep INTEGER NOT NULL,
      step INTEGER NOT NULL,
      PRIMARY KEY (run, number)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE events (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      run INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      at INTEGER NOT NULL,
      type TEXT NOT NULL,
      body TEXT NOT NULL -- JSON
    ) STRICT;
    CREATE INDEX events_by_run ON events (run, seq);

    CREATE TABLE checkpoints (
      run INTEGER NOT NULL,
      directory TEXT NOT NULL,
      seq INTEGER NOT NULL,
      step INTEGER NOT NULL,
      reward REAL,
      size_bytes INTEGER NOT NULL,
      saved_at INTEGER NOT NULL,
      PRIMARY KEY (run, directory)
    ) STRICT, WITHOUT ROWID;
  `,
}
