/**
 * Code that was changed and not saved yet. It is kept twice: in the page's own storage at every key press, and at the
 * host a moment later, because a page that comes from another port finds an empty storage.
 */
import type { CodeLanguage } from './types.ts'

export interface Draft {
  readonly language: CodeLanguage
  readonly code: string
  /** When it was last changed, epoch ms: of two copies the later one holds. */
  readonly at: number
}

/** Name of its setting at the host; ids have an underscore, names of settings must not. */
export const draftSetting = (rewardId: string): string => `rewards.draft.${rewardId.replaceAll('_', '-')}`

const storageKey = (rewardId: string): string => `turnwise.draft.${rewardId}`

type DraftStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

export function readDraft(storage: DraftStorage, rewardId: string): Draft | null {
  const text = storage.getItem(storageKey(rewardId))
  return text === null ? null : parseDraft(parsed(text))
}

/** A full storage loses nothing: the host has the other copy. */
export function writeDraft(storage: DraftStorage, rewardId: string, draft: Draft | null): void {
  try {
    if (draft === null) storage.removeItem(storageKey(rewardId))
    else storage.setItem(storageKey(rewardId), JSON.stringify(draft))
  } catch {
    storage.removeItem(storageKey(rewardId))
  }
}

/** What either place holds, whatever its form. */
export function parseDraft(value: unknown): Draft | null {
  if (typeof value !== 'object' || value === null) return null
  const { language, code, at } = value as Partial<Record<keyof Draft, unknown>>
  if ((language !== 'ts' && language !== 'js') || typeof code !== 'string' || typeof at !== 'number')
    return null
  return { language, code, at }
}

export function laterDraft(one: Draft | null, other: Draft | null): Draft | null {
  if (one === null || other === null) return one ?? other
  return one.at >= other.at ? one : other
}

interface VersionCode {
  readonly language: CodeLanguage
  readonly code: string
}

/** The version whose code it is; null: it is no version's. */
export const versionOf = <Version extends VersionCode>(
  { language, code }: VersionCode,
  versions: readonly Version[],
): Version | null => versions.find((each) => each.language === language && each.code === code) ?? null

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}
