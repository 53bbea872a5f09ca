/**
 * Limits the cost of one rendering. A template is a program that came with a model: whatever it does is paid for in
 * steps, and a rendering that has used up its steps ends with an error. A step is about the work of looking at one
 * value; native code on texts is faster and is charged by piece. Nothing here reads a clock, so the same template ends
 * at the same place on every machine.
 */

/**
 * Limit on the length of a text: longer than any prompt a model reads, but keeps a template from filling the memory.
 */
const maxLength = 4_000_000

/** Limit on the items of a list: longer than any list of messages, but far below what fills the memory. */
const maxItems = 200_000

/** A second or two. Templates in use need some thousand steps for each message. */
const maxSteps = 20_000_000

/**
 * Statements, expressions and compared values open inside one another. Half of the stack that V8 gives a thread holds them,
 * compiled or not; the templates in use have some twenty.
 */
const maxLevels = 400

/** Characters that are copied or scanned in one step. */
const perStep = 16
/** Pairs of characters that a search may have to compare in one step. */
const pairsPerStep = 128

/** Steps charged for each match that is replaced. */
const matchSteps = 8

/** Steps left to the rendering under way; a rendering is never interrupted by another one. */
let stepsLeft = Infinity

/** Levels open in that rendering. */
let levels = 0

/** Runs a rendering under the limits. */
export function metered<Result>(render: () => Result): Result {
  const outer = { stepsLeft, levels }
  stepsLeft = maxSteps
  levels = 0
  try {
    return render()
  } finally {
    ;({ stepsLeft, levels } = outer)
  }
}

/** Errors: Error when the rendering has used up its steps. */
export function charge(steps: number): void {
  stepsLeft -= steps
  if (stepsLeft < 0) throw new Error(`it needs more than ${maxSteps} steps of work`)
}

/**
 * Opens a level, and charges a step for it; `leaveLevel` closes it, unless an error ends the rendering. Errors: Error when
 * too many are open.
 */
export function enterLevel(): void {
  charge(1)
  if (++levels > maxLevels)
    throw new Error(
      `its parts are nested more than ${maxLevels} deep, or its macros call one another endlessly`,
    )
}

export function leaveLevel(): void {
  levels--
}

/** Steps for scanning or copying this many characters. */
export const chargeText = (length: number): void => charge(1 + length / perStep)

/**
 * Charges for searching a part in a text: at worst every character of one is compared with every character of the
 * other.
 */
export const chargeSearch = (text: string, part: string): void =>
  charge(1 + text.length / perStep + (text.length * part.length) / pairsPerStep)

/** Returns the letters of a text, one by one. */
export function lettersOf(text: string): string[] {
  charge(text.length)
  return Array.from(text)
}

/** Errors: Error when the text would be longer than the limit. */
export function boundLength(length: number): void {
  if (length > maxLength) throw new Error(`it produced more than ${maxLength} characters`)
}

/** Errors: Error when the list would be longer than the limit. */
export function boundItems(length: number): void {
  if (length > maxItems) throw new Error(`it made a list of more than ${maxItems} items`)
  charge(length)
}

/** The text itself. Errors: Error when it, `times` over, is too long. */
export function boundedText(text: string, times = 1): string {
  boundLength(text.length * times)
  chargeText(text.length * times)
  return text
}

/** Joins texts, measured first: the sum of many long texts may not fit into memory. */
export function joinedText(parts: readonly string[], separator: string): string {
  let length = separator.length * Math.max(0, parts.length - 1)
  for (const part of parts) length += part.length
  boundLength(length)
  charge(parts.length)
  chargeText(length)
  return parts.join(separator)
}

/** Replaces like `text.replace`, and charges for the result while it grows. */
export function replacedText(
  text: string,
  pattern: RegExp,
  put: (...found: (string | undefined)[]) => string,
): string {
  chargeText(text.length)
  let length = 0
  return text.replace(pattern, (...found: string[]) => {
    const fresh = put(...found)
    boundLength((length += fresh.length))
    charge(matchSteps)
    chargeText(fresh.length)
    return fresh
  })
}
