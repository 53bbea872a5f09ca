/** Shortcuts of one's own: what they are, which of them collide. */
import { type Bindings, keyOf } from '#renderer/client/keys.ts'
import { keyTable, type KeyId } from '#shared/keyTable.ts'

export const keyIds = Object.keys(keyTable) as KeyId[]
export const keyGroups = [...new Set(keyIds.map((id) => keyTable[id].group))]

const keysOf = (id: KeyId, bindings: Bindings): readonly string[] => bindings[id] ?? keyTable[id].keys

/** Labels of the other things that one of its keys does as well. */
export function conflictsOf(id: KeyId, bindings: Bindings): string[] {
  const own = keysOf(id, bindings)
  return keyIds
    .filter((other) => other !== id && keysOf(other, bindings).some((key) => own.includes(key)))
    .map((other) => keyTable[other].label)
}

/** Bound as by default is not bound by oneself. */
export function rebound(bindings: Bindings, id: KeyId, keys: readonly string[] | null): Bindings {
  const { [id]: _, ...others } = bindings
  const usual = keyTable[id].keys
  const isUsual = keys === null || (keys.length === usual.length && keys.every((key, i) => key === usual[i]))
  return isUsual ? others : { ...others, [id]: keys }
}

export type Capture =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'remove' }
  /** A modifier alone: the key is still to come. */
  | { readonly kind: 'wait' }

/** What a press means while a shortcut is being set. */
export function captured(
  event: Pick<KeyboardEvent, 'code' | 'key' | 'metaKey' | 'ctrlKey' | 'altKey' | 'shiftKey'>,
): Capture {
  if (/^(?:Control|Shift|Alt|Meta|OS)/.test(event.code)) return { kind: 'wait' }
  if (event.code === 'Escape') return { kind: 'cancel' }
  if (event.code === 'Delete' || event.code === 'Backspace') return { kind: 'remove' }
  return { kind: 'key', key: keyOf(event as KeyboardEvent) }
}
