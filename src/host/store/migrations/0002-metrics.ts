import type { Migration } from './types.ts'

/** Every number of every step, and the bucket pyramid that charts read. */
export const metrics: Migration = {
  version: 2,
  name: 'metrics',
  sql: `
    -- Names of metrics and reward functions, each written once.
    CREATE TABLE names (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

    -- One row per step or evaluation: finds the steps of a range of events.
    CREATE TABLE measurements (
      run INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      kind TEXT NOT NULL, -- 'step' or 'evaluation'
      step INTEGER NOT NULL,
      steps INTEGER, -- of a step: how many there will be
      rows INTEGER, -- of an evaluation: held-out rows
      at INTEGER NOT NULL,
      PRIMARY KEY (run, seq)
    ) STRICT, WITHOUT ROWID;

    -- Of several values of one step the one with the highest seq counts; NULL is a value that was no number.
    CREATE TABLE metric_rows (
      run INTEGER NOT NULL,
      metric INTEGER NOT NULL,
      step INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      value REAL,
      PRIMARY KEY (run, metric, step, seq)
    ) STRICT, WITHOUT ROWID;

    -- Bucket b of level l covers the steps from b * width(l) on.
    CREATE TABLE metric_buckets (
      run INTEGER NOT NULL,
      metric INTEGER NOT NULL,
      level INTEGER NOT NULL,
      bucket INTEGER NOT NULL,
      first_step INTEGER, -- first and last step with a number; NULL without one
      last_step INTEGER,
      minimum REAL,
      maximum REAL,
      total REAL NOT NULL,
      last REAL,
      count INTEGER NOT NULL,
      gap_step INTEGER, -- first step whose value was no number
      PRIMARY KEY (run, metric, level, bucket)
    ) STRICT, WITHOUT ROWID;
  `,
}
