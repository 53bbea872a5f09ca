/** Shortcuts. The component mounted last handles a key first; single letters are ignored while typing. */
import { useEffect } from 'react'
import { keyTable, type KeyId } from '#shared/keyTable.ts'
import { useLatest } from './api.tsx'
import { useSetting, useSettingReader } from './settings.ts'

export type KeyHandlers = Readonly<Partial<Record<KeyId, () => void>>>
export type Bindings = Readonly<Partial<Record<KeyId, readonly string[]>>>

const stack: { readonly current: KeyHandlers }[] = []

export function useKeys(handlers: KeyHandlers): void {
  const latest = useLatest(handlers)
  useEffect(() => {
    stack.push(latest)
    return () => void stack.splice(stack.indexOf(latest), 1)
  }, [latest])
}

const bindingsKey = 'keys.bindings'
const singlesKey = 'keys.singles'

/** Returns the user's key bindings and whether single letters are enabled. */
export function useKeyBindings() {
  const [bindings, setBindings] = useSetting<Bindings>(bindingsKey, {})
  const [singles, setSingles] = useSetting(singlesKey, true)
  return { bindings, setBindings, singles, setSingles }
}

export const keysOf = (id: KeyId, bindings: Bindings): readonly string[] => bindings[id] ?? keyTable[id].keys

const ids = Object.keys(keyTable) as KeyId[]

/** Listens for all shortcuts. Mounted once, near the root. */
export function useKeyListener(): void {
  const setting = useSettingReader()
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented && !isCheckbox(event.target)) return
      const key = keyOf(event)
      if (isSingle(key) && (!setting<boolean>(singlesKey, true) || isTaken(event) || isInDialog())) return
      const bindings = setting<Bindings>(bindingsKey, {})
      const id = ids.find((candidate) => keysOf(candidate, bindings).includes(key))
      const handlers = id && stack.findLast(({ current }) => current[id] !== undefined)
      if (id === undefined || handlers === undefined) return
      event.preventDefault()
      handlers.current[id]?.()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [setting])
}

/** True for checkboxes, which prevent the default of Enter without using it, so that shortcuts may. */
const isCheckbox = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.role === 'checkbox'

const typingInputs = /^(?:text|search|number|password|email|url|tel|date|time|)$/
const pressed = 'button, a, select, summary, [role="slider"], [role="option"], [role="tab"]'

function isTaken({ target, code }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target.isContentEditable || target instanceof HTMLTextAreaElement) return true
  if (target instanceof HTMLSelectElement) return true
  if (target instanceof HTMLInputElement) return typingInputs.test(target.getAttribute('type') ?? '')
  // Space presses the focused control.
  return code === 'Space' && target.closest(pressed) !== null
}

const isInDialog = (): boolean =>
  document.querySelector(
    '[role="dialog"][aria-modal], [role="dialog"][data-modal], [role="alertdialog"], [role="menu"]',
  ) !== null

// Notation of keys for display and events.

const isMac = navigator.platform.startsWith('Mac')

/** True for keys without a modifier, which could be pressed while typing. */
export const isSingle = (key: string): boolean => !/^(?:Mod|Alt)\+/.test(key)

const names: Readonly<Record<string, string>> = {
  Slash: '/',
  Comma: ',',
  BracketLeft: '[',
  BracketRight: ']',
  Enter: isMac ? '⏎' : 'Enter',
  Mod: isMac ? '⌘' : 'Ctrl',
  Alt: isMac ? '⌥' : 'Alt',
  Shift: isMac ? '⇧' : 'Shift',
}

/** Formats a shortcut for display: ⌘K, Ctrl K. */
export function keyWords(key: string): string {
  if (key === 'Shift+Slash') return '?'
  const parts = key.split('+').map((part) => names[part] ?? part.replace(/^(?:Key|Digit)/, ''))
  return parts.join(isMac ? '' : ' ')
}

/** Returns the key of an event in the notation of the key table. */
export function keyOf(event: KeyboardEvent): string {
  const mod = isMac ? event.metaKey : event.ctrlKey
  return [mod && 'Mod', event.altKey && 'Alt', event.shiftKey && 'Shift', event.code]
    .filter(Boolean)
    .join('+')
}
