import { describe, expect, test } from 'vitest'
import {
  draftSetting,
  laterDraft,
  parseDraft,
  readDraft,
  versionOf,
  writeDraft,
} from '#renderer/features/rewards/useRewards.ts'

class MemoryStorage {
  readonly items = new Map<string, string>()
  room = Infinity

  getItem(key: string): string | null {
    return this.items.get(key) ?? null
  }

  setItem(key: string, value: string): void {
    if (value.length > this.room) throw new DOMException('full', 'QuotaExceededError')
    this.items.set(key, value)
  }

  removeItem(key: string): void {
    this.items.delete(key)
  }
}

const id = 'rw_0192f0c1-2345-7abc-8def-0123456789ab'
const draft = { language: 'ts', code: 'export default () => 1', at: 5 } as const

describe('drafts', () => {
  test('come back as they were kept, until they are dropped', () => {
    const storage = new MemoryStorage()
    writeDraft(storage, id, draft)
    expect(readDraft(storage, id)).toEqual(draft)
    expect(readDraft(storage, 'rw_other')).toBeNull()
    writeDraft(storage, id, null)
    expect(readDraft(storage, id)).toBeNull()
  })

  test('an older copy does not stay when there is no room for the newer one', () => {
    const storage = new MemoryStorage()
    writeDraft(storage, id, draft)
    storage.room = 10
    writeDraft(storage, id, { ...draft, code: 'longer than there is room for' })
    expect(readDraft(storage, id)).toBeNull()
  })

  test('what is no draft is none', () => {
    const storage = new MemoryStorage()
    storage.setItem(`turnwise.draft.${id}`, '{"code":1}')
    expect(readDraft(storage, id)).toBeNull()
    storage.setItem(`turnwise.draft.${id}`, '{')
    expect(readDraft(storage, id)).toBeNull()
    expect(parseDraft({ ...draft, language: 'py' })).toBeNull()
    expect(parseDraft(null)).toBeNull()
  })

  test('of two copies the later holds', () => {
    const later = { ...draft, at: 9 }
    expect(laterDraft(draft, later)).toBe(later)
    expect(laterDraft(later, draft)).toBe(later)
    expect(laterDraft(null, draft)).toBe(draft)
    expect(laterDraft(null, null)).toBeNull()
  })

  test('their setting has a name the host takes', () => {
    expect(draftSetting(id)).toMatch(/^[a-z][A-Za-z0-9.-]{0,99}$/)
  })

  test('a version is told by code and language', () => {
    const versions = [
      { hash: 'b', language: 'js', code: 'x' },
      { hash: 'a', language: 'ts', code: 'x' },
    ] as const
    expect(versionOf({ language: 'ts', code: 'x' }, versions)?.hash).toBe('a')
    expect(versionOf({ language: 'ts', code: 'y' }, versions)).toBeNull()
  })
})
