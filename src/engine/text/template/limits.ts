/** Longer than any prompt a model reads; keeps a template from filling the memory. */
const maxLength = 4_000_000

/** Errors: Error when a text of so many characters is too long. */
export function boundLength(length: number): void {
  if (length > maxLength) throw new Error(`it made a text of more than ${maxLength} characters`)
}

/** The text itself. Errors: Error when it, `times` over, is too long. */
export function boundedText(text: string, times = 1): string {
  boundLength(text.length * times)
  return text
}
