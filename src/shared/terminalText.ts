/** Text on a terminal, whoever wrote it. */
import { shownText } from './shownText.ts'

/**
 * Escapes text for one line of a terminal: nothing in it moves the cursor, begins a line that would look like one of the program's,
 * turns the direction of later text or is unseen. What joins or varies the sign before it, as in emoji and Persian, stays.
 */
export const terminalText = (text: string): string =>
  text.replaceAll('\n', ' ⏎ ').replaceAll(moving, shownText)

/** Takes the beginning for such a sign: it may be in the piece before, where a text comes in pieces. */
const moving =
  /(?![\t\n]|\ufe0f\u20e3|(?<=^|[^\0-\x7f\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]\ufe0f?)[\u200c\u200d\ufe00-\ufe0f])[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu

/** Formats a value as JSON that a terminal shows as it is: what `terminalText` escapes is written as JSON writes control characters. */
export const terminalJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(moving, (character) =>
    character.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )

/** Stands before each line of a text that is not the program's. */
export const lineMark = '  │ '

/** Escapes text of several lines for a terminal; with the mark before each, none looks like one of the program's. */
export const terminalLines = (text: string, mark = lineMark): string =>
  text
    .split('\n')
    .map((line) => mark + terminalText(line))
    .join('\n')

/** Escapes a message for a terminal: its first line is the program's, and further ones, such as what Python printed, are marked. */
export function terminalMessage(text: string): string {
  const [first = '', ...others] = text.split('\n')
  return [terminalText(first), ...others.map((line) => terminalLines(line))].join('\n')
}
