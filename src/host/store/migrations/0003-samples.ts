import type { Migration } from './types.ts'

/** Trajectories kept to look at. */
export const samples: Migration = {
  version: 3,
  name: 'samples',
  sql: `
    CREATE TABLE samples (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      run INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      position INTEGER NOT NULL, -- in its event
      step INTEGER NOT NULL,
      source TEXT NOT NULL,
      row INTEGER NOT NULL,
      prompt TEXT NOT NULL,
      completion TEXT NOT NULL,
      reward REAL,
      advantage REAL,
      tokens INTEGER NOT NULL,
      stop_reason TEXT NOT NULL,
      logged TEXT, -- JSON
      failures TEXT, -- JSON
      has_arrays INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX samples_by_event ON samples (run, seq, position);
    CREATE INDEX samples_by_step ON samples (run, step, source);

    CREATE TABLE sample_parts (
      sample INTEGER NOT NULL REFERENCES samples (id) ON DELETE CASCADE,
      part INTEGER NOT NULL, -- key in names
      value REAL,
      PRIMARY KEY (sample, part)
    ) STRICT, WITHOUT ROWID;

    -- Little-endian i32 (ids) and f32 (the others).
    CREATE TABLE sample_arrays (
      sample INTEGER PRIMARY KEY REFERENCES samples (id) ON DELETE CASCADE,
      ids BLOB NOT NULL,
      action_mask BLOB NOT NULL,
      logprobs BLOB,
      behavior_logprobs BLOB,
      reference_logprobs BLOB,
      entropies BLOB,
      advantages BLOB
    ) STRICT;

    -- What another version of a reward says of a sample.
    CREATE TABLE sample_scores (
      sample INTEGER NOT NULL REFERENCES samples (id) ON DELETE CASCADE,
      version TEXT NOT NULL,
      parts TEXT NOT NULL, -- JSON
      error TEXT,
      scored_at INTEGER NOT NULL,
      PRIMARY KEY (sample, version)
    ) STRICT, WITHOUT ROWID;
  `,
}
