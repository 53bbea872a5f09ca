/** Text on a terminal, whoever wrote it. */
import { shownText } from './shownText.ts'

/**
 * Escapes text for one line of a terminal: nothing in it moves the cursor, begins a line that would look like one of the program's, or
 * turns the direction of later text.
 */
export const terminalText = (text: string): string =>
  text.replaceAll('\n', ' ⏎ ').replaceAll(moving, shownText)

const moving = /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g

/** Formats a value as JSON that a terminal shows as it is: what `terminalText` escapes is written as JSON writes control characters. */
export const terminalJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replaceAll(
    moving,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
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
