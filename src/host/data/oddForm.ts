/** Values that stand for nothing, or that cannot be written as text. */

/** Words that programs and people write for a missing value. */
const placeholder = /^(?:nan|none|null|n\/a|#n\/a|<na>|<noinput>|<no input>|\[deleted\]|\[removed\])$/i
export const brokenCharacter = '\uFFFD'
const longestPlaceholder = 12

/** The form of a value that says nothing or cannot be written: `''`, the placeholder itself, � for half a character; null for others. */
export function oddForm(value: unknown): string | null {
  if (typeof value === 'string') {
    if (!value.isWellFormed()) return brokenCharacter
    const text = value.length > longestPlaceholder ? '' : value.trim()
    return placeholder.test(text) ? text : value.trim() === '' ? '' : null
  }
  return typeof value === 'object' && value !== null && holdsHalf(value) ? brokenCharacter : null
}

const holdsHalf = (value: unknown): boolean =>
  typeof value === 'string'
    ? !value.isWellFormed()
    : typeof value === 'object' && value !== null && Object.values(value).some(holdsHalf)
