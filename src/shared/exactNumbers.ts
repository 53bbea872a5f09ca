/** Numbers in JSON that JavaScript would write in another way: long integers, `1.0`, `1e5`. */
import { parsedJson } from './parsedJson.ts'

const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
/** Stands before the digits of such a number; JSON texts hold it only as an escape. */
const mark = '\u0000'
const marked = /"\\u0000(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"/g

/** JSON whose numbers are replaced by `written`, where that gives another text for one; texts stay. */
export const withNumbers = (text: string, written: (number: string) => string): string =>
  text.replaceAll(token, (each) => (each.startsWith('"') ? each : written(each)))

/** Parses like JSON.parse, but numbers that would be written in another way become texts with a mark. Returns null for text that is not JSON. */
export function parsedWithMarks(text: string): unknown {
  const kept = withNumbers(text, (number) =>
    String(Number(number)) === number ? number : JSON.stringify(mark + number),
  )
  return parsedJson(kept)
}

/** The value as JSON with its marked numbers as they were written; null where it holds none. */
export function exactText(value: unknown): string | null {
  const text = JSON.stringify(value)
  const exact = text.replaceAll(marked, '$1')
  return exact === text ? null : exact
}

/** The digits of a marked number; null for any other value. */
export const markedNumber = (value: unknown): string | null =>
  typeof value === 'string' && value.startsWith(mark) && value.length > 1 ? value.slice(1) : null
