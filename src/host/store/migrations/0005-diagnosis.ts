import type { Migration } from './types.ts'

/** What a run's numbers say is wrong with it. */
export const diagnosis: Migration = {
  version: 5,
  name: 'diagnosis',
  sql: `
    ALTER TABLE runs ADD COLUMN finding TEXT; -- JSON, the gravest one; NULL where all is well
  `,
}
