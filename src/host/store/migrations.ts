import { createLabels } from './labels.ts'

export interface Migration {
  /** The version the database has afterwards; one more than before. */
  readonly version: number
  readonly name: string
  /** Statements in order. Never changed once released: a later migration changes what it made. */
  readonly sql: string
}

/** Adds runs, their descriptions, and how far their logs have been read. */
const runs: Migration = {
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

/** Adds every number of every step, and the bucket pyramid that charts read. */
const metrics: Migration = {
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

/** Trajectories kept to look at. */
const samples: Migration = {
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

/** Data sets, reward functions and environments, settings, and the queue. */
const library: Migration = {
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

/** Adds findings: what a run's numbers say is wrong with it. */
const diagnosis: Migration = {
  version: 5,
  name: 'diagnosis',
  sql: `
    ALTER TABLE runs ADD COLUMN finding TEXT; -- JSON, the gravest one; NULL where all is well
  `,
}

/** Adds evaluations of checkpoints and models on rows of data; the answers are in a folder of each. */
const evaluations: Migration = {
  version: 6,
  name: 'evaluations',
  sql: `
    CREATE TABLE evaluations (
      id TEXT PRIMARY KEY,
      title TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      ended_at INTEGER,
      status TEXT NOT NULL,
      run_id TEXT, -- of a run that may be gone
      step INTEGER,
      model TEXT NOT NULL,
      adapter TEXT,
      config TEXT NOT NULL, -- JSON
      samples INTEGER NOT NULL,
      greedy INTEGER NOT NULL,
      row_limit INTEGER,
      pass_at REAL,
      judge TEXT NOT NULL,
      done INTEGER NOT NULL, -- prompts
      total INTEGER NOT NULL,
      summary TEXT, -- JSON
      error TEXT, -- JSON
      owner TEXT, -- mark of the process that computes it
      begun_at INTEGER, -- by that process, with so many prompts done
      begun_done INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX evaluations_by_age ON evaluations (created_at, id);
  `,
}

/** Adds the rewards of single tokens and turns. */
const placedRewards: Migration = {
  version: 7,
  name: 'placed rewards',
  sql: `
    ALTER TABLE sample_arrays ADD COLUMN rewards BLOB; -- f32; NULL where one reward stands for all
  `,
}

/** Runs that are trials of a study, which lies in a folder of its own. */
const studies: Migration = {
  version: 8,
  name: 'studies',
  sql: `
    ALTER TABLE runs ADD COLUMN study_id TEXT;
    ALTER TABLE runs ADD COLUMN trial INTEGER;
    CREATE INDEX runs_by_study ON runs (study_id) WHERE study_id IS NOT NULL;
  `,
}

/** Settings that were changed within runs. */
const settingChanges: Migration = {
  version: 9,
  name: 'setting changes',
  sql: `
    ALTER TABLE runs ADD COLUMN setting_changes TEXT NOT NULL DEFAULT '[]'; -- JSON
  `,
}

/** Adds the policy version of a sample, for rollouts that run ahead of learning. */
const sampleVersions: Migration = {
  version: 10,
  name: 'sample versions',
  sql: `
    ALTER TABLE samples ADD COLUMN version INTEGER; -- steps it had learned from; NULL: all before the sample's
  `,
}

/**
 * Adds the data directory of each document. Folders in it follow from its place. Documents store the place at the time
 * they were written (`home`), since their paths begin with it; NULL: unknown.
 */
const homes: Migration = {
  version: 11,
  name: 'homes',
  sql: `
    ALTER TABLE runs ADD COLUMN home TEXT;
    UPDATE runs SET home = nullif(substr(directory, 1, length(directory) - length('/runs/' || id)), '')
      WHERE substr(directory, -length('/runs/' || id)) IN ('/runs/' || id, '\\runs\\' || id);
    ALTER TABLE runs DROP COLUMN directory;

    ALTER TABLE evaluations ADD COLUMN home TEXT;
    UPDATE evaluations SET home = coalesce(
      (SELECT home FROM runs WHERE runs.id = run_id),
      (SELECT home FROM runs WHERE home IS NOT NULL AND runs.created_at <= evaluations.created_at
        ORDER BY runs.created_at DESC LIMIT 1),
      (SELECT substr(directory, 1, length(directory) - length('/datasets/' || id)) FROM data_set_versions LIMIT 1));
    ALTER TABLE settings ADD COLUMN home TEXT;
    UPDATE settings SET home = (SELECT home FROM runs WHERE home IS NOT NULL ORDER BY created_at DESC LIMIT 1);
    ALTER TABLE data_set_versions DROP COLUMN directory;

    -- From now on the name of the folder alone.
    UPDATE OR REPLACE checkpoints SET directory =
      replace(directory, rtrim(directory, replace(replace(directory, '/', ''), '\\', '')), '');
  `,
}

/** Keeps the eval reward of a run that was measured on one side of training out of the other. */
const measuredOnce: Migration = {
  version: 12,
  name: 'measured once',
  sql: `
    UPDATE runs SET reward_before = NULL WHERE NOT EXISTS (
      SELECT 1 FROM measurements
        WHERE run = runs.key AND kind = 'evaluation' AND step <= ifnull(runs.parent_step, 0));
    UPDATE runs SET reward_after = NULL WHERE NOT EXISTS (
      SELECT 1 FROM measurements
        WHERE run = runs.key AND kind = 'evaluation' AND step > ifnull(runs.parent_step, 0));
  `,
}

/** Adds what people say of answers; each label keeps its prompt and answers, so that it outlives where it was given. */
const labels: Migration = {
  version: 13,
  name: 'labels',
  sql: createLabels,
}

/** Every migration, in order. */
export const migrations: readonly Migration[] = [
  ...[runs, metrics, samples, library, diagnosis, evaluations, placedRewards],
  ...[studies, settingChanges, sampleVersions, homes, measuredOnce, labels],
]
