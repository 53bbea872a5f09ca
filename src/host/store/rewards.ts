/** User-written rewards, environments, losses and workflows: every version of their code, and their test cases. */
import { createHash, randomUUIDv7 } from 'node:crypto'
import type { Api } from '#shared/api/api.ts'
import type { OutputOf } from '#shared/api/contract.ts'
import { type Connection, unreadable } from './connection.ts'

export type RewardKind = 'reward' | 'environment' | 'loss' | 'workflow'

export interface RewardRecord {
  readonly id: string
  readonly kind: RewardKind
  readonly name: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

export type RewardVersionRecord = Omit<OutputOf<Api, 'rewards.versions'>[number], 'file'>

export type NewRewardVersion = Pick<RewardVersionRecord, 'language' | 'code'> & {
  readonly note?: string
  readonly gatesStart?: boolean
}

type VersionRow = Omit<RewardVersionRecord, 'gatesStart'> & { readonly gatesStart: number }

const columns = `reward AS rewardId, hash, language, code, note, gates_start AS gatesStart, created_at AS createdAt`

export class RewardsTable {
  readonly #db: Connection

  constructor(db: Connection) {
    this.#db = db
  }

  create(kind: RewardKind, name: string): RewardRecord {
    const reward = { id: `rw_${randomUUIDv7()}`, kind, name, createdAt: Date.now() }
    this.#db.run(
      'INSERT INTO rewards (id, kind, name, created_at) VALUES (?, ?, ?, ?)',
      ...[reward.id, kind, name, reward.createdAt],
    )
    return reward
  }

  /** The newest first. */
  list(kind?: RewardKind): RewardRecord[] {
    return this.#db
      .query<RewardRecord>(
        `SELECT id, kind, name, created_at AS createdAt FROM rewards WHERE kind = ifnull(?, kind)
         ORDER BY created_at DESC, id DESC`,
      )
      .all(kind ?? null)
  }

  find(id: string): RewardRecord | null {
    return (
      this.#db
        .query<RewardRecord>('SELECT id, kind, name, created_at AS createdAt FROM rewards WHERE id = ?')
        .get(id) ?? null
    )
  }

  /** Renames it; returns false where it was not there. */
  rename(id: string, name: string): boolean {
    return this.#db.run('UPDATE rewards SET name = ? WHERE id = ?', name, id).changes > 0
  }

  /** Removes every version and test case too. Returns false where it was not there. */
  remove(id: string): boolean {
    return this.#db.run('DELETE FROM rewards WHERE id = ?', id).changes > 0
  }

  /** Adds a version, or finds the one with that very code: then only note and gate change, where given. */
  addVersion(rewardId: string, { language, code, note, gatesStart }: NewRewardVersion): RewardVersionRecord {
    const hash = hashOf(code)
    return this.#db.write(() => {
      this.#db.run(
        `INSERT INTO reward_versions (reward, hash, language, code, note, gates_start, created_at)
         VALUES (?, ?, ?, ?, '', 0, ?) ON CONFLICT (reward, hash) DO NOTHING`,
        ...[rewardId, hash, language, code, Date.now()],
      )
      this.#db.run(
        `UPDATE reward_versions SET note = ifnull(?, note), gates_start = ifnull(?, gates_start)
         WHERE reward = ? AND hash = ?`,
        ...[note ?? null, gatesStart === undefined ? null : Number(gatesStart), rewardId, hash],
      )
      const [version] = this.#versions('reward = ? AND hash = ?', rewardId, hash)
      if (!version) throw new Error(`Expected a version ${hash} of ${rewardId}.`)
      return version
    })
  }

  /** The newest first. Errors: AppError 'store/unreadable' where code is not what it was. */
  versions(rewardId: string): RewardVersionRecord[] {
    return this.#versions('reward = ?', rewardId)
  }

  /** A version by the digest of its code. */
  findVersion(hash: string): RewardVersionRecord | null {
    return this.#versions('hash = ?', hash)[0] ?? null
  }

  /** Test cases, JSON. */
  testCases(rewardId: string): unknown {
    const row = this.#db
      .query<{ readonly test_cases: string }>('SELECT test_cases FROM rewards WHERE id = ?')
      .get(rewardId)
    return row ? this.#db.parse(row.test_cases) : []
  }

  setTestCases(rewardId: string, cases: readonly unknown[]): void {
    this.#db.run('UPDATE rewards SET test_cases = ? WHERE id = ?', JSON.stringify(cases), rewardId)
  }

  #versions(condition: string, ...parameters: string[]): RewardVersionRecord[] {
    return this.#db
      .query<VersionRow>(`SELECT ${columns} FROM reward_versions WHERE ${condition} ORDER BY number DESC`)
      .all(...parameters)
      .map((row) => {
        if (hashOf(row.code) !== row.hash) {
          throw unreadable(this.#db.file, `the code of ${row.rewardId} is not what was written`)
        }
        return { ...row, gatesStart: row.gatesStart === 1 }
      })
  }
}

const hashOf = (code: string): string => createHash('sha256').update(code).digest('hex')
