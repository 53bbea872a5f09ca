/** Keys as a person reads and presses them. */

const isMac = navigator.platform.startsWith('Mac')

/** Without a modifier that a person would not hold while typing. */
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

/** How a person reads it: ⌘K, Ctrl K. */
export function keyWords(key: string): string {
  if (key === 'Shift+Slash') return '?'
  const parts = key.split('+').map((part) => names[part] ?? part.replace(/^(?:Key|Digit)/, ''))
  return parts.join(isMac ? '' : ' ')
}

/** The key of an event in the words of the table. */
export function keyOf(event: KeyboardEvent): string {
  const mod = isMac ? event.metaKey : event.ctrlKey
  return [mod && 'Mod', event.altKey && 'Alt', event.shiftKey && 'Shift', event.code]
    .filter(Boolean)
    .join('+')
}
